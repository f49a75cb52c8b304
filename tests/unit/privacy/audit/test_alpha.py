"""What an audit spends of its level: exactly, since a simulation would not see it doubled."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy import stats

from dpverify.kernels.tape import generator
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.privacy.audit import sampling
from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.counting import DELTA_SHARE, allowance, lower_epsilon
from dpverify.privacy.audit.gaussian import level_of_mu, mu_of_statistic
from dpverify.privacy.audit.learning import ALPHA_SHARES, Bet, learn
from dpverify.privacy.audit.sampling import COINS, OUTPUTS, PROBE
from dpverify.problems.worst_cases import ClippedQuadratic
from tests.for_each import for_each


def tail(count: int, trials: int, chance: float) -> Fraction:
    """P(Bin(trials, chance) > count), exactly."""
    p = Fraction(chance)
    return sum(
        (
            comb(trials, k) * p**k * (1 - p) ** (trials - k)
            for k in range(count + 1, trials + 1)
        ),
        Fraction(0),
    )


@for_each("alpha", [0.05, 1e-3])
@for_each(
    ("trials", "delta"),
    [(1, 0.02), (40, 1e-5), (40, 0.02), (200, 0.01), (300, 0.2), (60, 0.9)],
)
def test_what_delta_decides_and_what_is_left_add_up_to_the_level(
    trials: int, delta: float, alpha: float
) -> None:
    rounds, left = allowance(trials, delta, alpha)
    spent = tail(rounds, trials, delta)
    assert spent + Fraction(left) <= Fraction(alpha) * (1 + Fraction(1, 10**9))
    assert spent <= Fraction(DELTA_SHARE) * Fraction(alpha) * (1 + Fraction(1, 10**9))
    assert rounds == 0 or tail(rounds - 1, trials, delta) > Fraction(
        DELTA_SHARE
    ) * Fraction(alpha)
    assert left >= (1 - DELTA_SHARE) * alpha


def two_rules() -> list[Bet]:
    """The rules of rounds that a steady and a rare sign tell apart."""
    rng = np.random.default_rng(0)
    b = rng.random(6000) < 0.5
    x = rng.normal(size=(6000, 2)) + 0.3 * b[:, None]
    x[(rng.random(6000) < 0.1) & b, 1] = 0.0
    return learn(x, b, 20_000, 0.0, 0.05, serial=False, user=None)


def test_two_rules_share_the_level() -> None:
    bets = two_rules()
    assert len(bets) == 2
    assert (
        sum(bet.share for bet in bets)
        == pytest.approx(1.0)
        == pytest.approx(sum(ALPHA_SHARES.values()))
    )


@for_each("share", [1.0, 0.8, 0.2])
@for_each("delta", [0.0, 0.01])
def test_a_rule_spends_its_share_and_no_more(share: float, delta: float) -> None:
    bet = Bet(two_rules()[0].guesser, share)
    bet.right, bet.wrong, bet.trials = 300, 100, 1000
    want = lower_epsilon(np.array(300.0), np.array(100.0), 1000, delta, 0.05 * share)
    assert bet.epsilon(delta, 0.05) == float(want)
    assert share == 1.0 or float(want) < float(
        lower_epsilon(np.array(300.0), np.array(100.0), 1000, delta, 0.05)
    )


def test_permutations_noise_and_other_streams_of_one_seed_share_no_number() -> None:
    def raw(*stream: int) -> set[int]:
        return {
            int(word) for word in generator(7, *stream).bit_generator.random_raw(2000)
        }

    streams = [raw(), raw(0), raw(1), raw(2), raw(0, 1)]
    assert len(set.union(*streams)) == sum(map(len, streams))


def test_a_run_draws_its_noise_and_its_orders_from_different_streams() -> None:
    problem = ClippedQuadratic(np.zeros((4, 2)), 1.0, 1.0, 1.0)
    parameters = Parameters(steps=8, alpha=0.5, eta=0.1, sigma=1.0, lipschitz=1.0)
    run = DpNsgd(
        problem.example_gradient,
        problem.x,
        problem.y,
        problem.start,
        parameters,
        seed=3,
    )
    noise, orders = (
        rng.bit_generator.random_raw(1000) for rng in (run._noise_rng, run._order.rng)
    )
    assert not set(noise) & set(orders)


@for_each(("right", "wrong"), [(3, 0), (9, 1), (40, 25), (500, 420), (300, 2)])
def test_the_bound_is_where_so_many_right_guesses_have_the_chance_alpha(
    right: int, wrong: int
) -> None:
    """Exactly: at e^epsilon odds, at least so many of all guesses are right with chance alpha."""
    epsilon = float(
        lower_epsilon(np.array(float(right)), np.array(float(wrong)), 1000, 0.0, 0.05)
    )
    share = 1.0 / (1.0 + np.exp(-epsilon))
    assert epsilon == 0.0 or stats.binom.sf(
        right - 1, right + wrong, share
    ) == pytest.approx(0.05, rel=1e-9)
    assert epsilon > 0.0 or stats.binom.sf(right - 1, right + wrong, 0.5) >= 0.05


@for_each(("rank", "n", "statistic"), [(1, 5, 400.0), (3, 20, 40.0), (2, 400, 30.0)])
def test_a_gaussian_audits_p_value_is_the_level_of_its_bound(
    rank: int, n: int, statistic: float
) -> None:
    """Of n outputs on each side, 2n - 1 - d degrees of freedom are left for the covariance."""
    for alpha in (0.05, 1e-4):
        mu = mu_of_statistic(statistic, rank, n, n, alpha)
        assert mu > 0.0
        assert level_of_mu(mu, statistic, rank, n) == pytest.approx(alpha, rel=1e-6)
        exact = stats.ncf.sf(statistic, rank, 2 * n - 1 - rank, n * mu**2 / 2)
        assert exact == pytest.approx(alpha, rel=1e-6)


def test_the_noise_and_the_choice_of_data_set_have_streams_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = list[tuple[int, ...]]()

    def recorded(seed: np.random.SeedSequence) -> np.random.PCG64:
        keys.append(tuple(seed.spawn_key))
        return np.random.PCG64(seed)

    monkeypatch.setattr(sampling, "PCG64", recorded)
    audit(lambda dataset, rng, size: dataset[0] + rng.normal(size=size), n=50, seed=3)
    noise, coins, probe = (
        [key for key in keys if key[0] == stream] for stream in (OUTPUTS, COINS, PROBE)
    )
    assert len(noise) == len(set(noise)) > 1
    assert {block for _, block in noise} == {block for _, block in coins}
    assert len(probe) == 1
    assert len(keys) == len(noise) + len(coins) + 1


def test_a_bound_that_only_reaches_the_claim_refutes_nothing() -> None:
    result = audit(lambda dataset, rng, size: rng.normal(size=size), epsilon=0.0, n=20)
    assert result.bound.epsilon == 0.0
    assert result.verdict == "not refuted"
