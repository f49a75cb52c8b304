"""Audits: the bound from outputs, against drawing them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dpverify.bench.case import BenchCase, Forms, Target, sweep

if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray

# delta, the probability of a bound above the
# true epsilon, and the noise of the mechanism
DELTA = 1e-5
ALPHA = 0.05
NOISE = 2.0
BLOCK = 1 << 20  # numbers per block, as in an audit


def _draw(rng: Generator, n: int, d: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Draw outputs on two data sets whose means differ by 1."""
    low, high = (NOISE * rng.standard_normal((n, d)) for _ in range(2))
    high[:, 0] += 1.0
    return low, high


def _gaussian(*, seed: int, n: int, d: int) -> Forms:
    """Sum over the outputs, test whether they contradict the law, and compute the exact bound."""
    import numpy as np

    from dpverify.privacy.audit.gaussian import ClassMoments, bound_mu, check_law
    from dpverify.privacy.gaussian import epsilon_of

    rng = np.random.default_rng(seed)
    low, high = _draw(rng, n, d)

    def bound() -> float:
        sides = (
            ClassMoments(low[:1000].mean(axis=0)),
            ClassMoments(high[:1000].mean(axis=0)),
        )
        for moments, rows in zip(sides, (low, high), strict=True):
            moments.add(rows)
        check_law(*sides)
        return epsilon_of(bound_mu(*sides, ALPHA).mu, DELTA)

    return {"draw": lambda: _draw(rng, n, d), "bound": bound}


def _without_law(*, seed: int, n: int, d: int) -> Forms:
    """Guess by a rule that was learned before, and compute the bound from the counts."""
    import numpy as np

    from dpverify.privacy.audit.learning import Bet, learn

    rng = np.random.default_rng(seed)
    low, high = _draw(rng, n, d)
    order = rng.permutation(2 * n)
    x = np.concatenate([low, high])[order]
    b = np.repeat([False, True], n)[order]
    rule = learn(x[:20_000], b[:20_000], 2 * n, DELTA, ALPHA, serial=False, user=None)[
        0
    ].guesser

    def bound() -> float:
        bet = Bet(rule, 1.0)
        for begin in range(0, 2 * n, BLOCK // d):
            bet.judge(x[begin : begin + BLOCK // d], b[begin : begin + BLOCK // d])
        return bet.epsilon(DELTA, ALPHA)

    return {"draw": lambda: _draw(rng, n, d), "bound": bound}


def _whole_audit(*, seed: int, n: int, d: int = 1) -> Forms:
    """Audit a false and a true claim, including drawing the outputs and learning a rule."""
    import numpy as np

    from dpverify.privacy.audit.audit import audit

    rng = np.random.default_rng(seed)

    def mechanism(dataset: NDArray[Any], rng: Generator, size: int) -> NDArray[Any]:
        outputs: NDArray[Any] = NOISE * rng.standard_normal((size, d))
        outputs[:, 0] += dataset.sum()
        return outputs

    audit(mechanism, epsilon=1.0, n=10_000, seed=seed)  # compile kernels
    return {
        "draw": lambda: _draw(rng, n, d),
        "law given": lambda: audit(
            mechanism, epsilon=1.0, n=n, law="gaussian", seed=seed
        ),
        "law given, claim true": lambda: audit(
            mechanism, epsilon=3.0, n=n, law="gaussian", seed=seed
        ),
        "nothing assumed": lambda: audit(mechanism, epsilon=1.0, n=n, seed=seed),
    }


def _both_dimensions(name: str, title: str, prepare: Any) -> tuple[BenchCase, ...]:
    """Return sweeps over the number of outputs, for outputs of one and of eight numbers."""
    case = BenchCase(
        name,
        title,
        prepare,
        forms=("draw", "bound"),
        item="output",
        clock="process",
        targets=[Target("bound", at_most=1.0)],
    )
    return tuple(
        replace(member, passes=3) if member.parameters["n"] > 10**6 else member
        for d, sizes in (
            (1, (100_000, 1_000_000, 10_000_000)),
            (8, (10_000, 100_000, 1_000_000)),
        )
        for member in sweep(
            replace(case, name=f"{name}-d-{d}", parameters={"d": d}),
            "n",
            sizes,
            work=lambda *, n, d: 2.0 * n,
        )
    )


def _whole_audit_sweep() -> tuple[BenchCase, ...]:
    """Return a sweep over the number of outputs; for few outputs, an audit's fixed cost exceeds that of drawing."""
    forms_with_law = ("law given", "law given, claim true")
    case = BenchCase(
        "whole-audit",
        "Whole audits of 2 n outputs, with a learned rule if nothing is assumed",
        _whole_audit,
        forms=("draw", *forms_with_law, "nothing assumed"),
        item="output",
        clock="process",
        targets=[
            *(Target(form, at_most=2.0) for form in forms_with_law),
            Target("nothing assumed", at_most=10.0, at=(100_000,)),
        ],
    )
    few, usual, many = sweep(
        case, "n", (10_000, 100_000, 1_000_000), work=lambda *, n: 2.0 * n
    )
    return few, usual, replace(many, sparse=("nothing assumed",), rounds=2)


CASES = (
    *_both_dimensions(
        "law-given", "Bound under the Gaussian law, from existing outputs", _gaussian
    ),
    *_both_dimensions(
        "nothing-assumed",
        "Bound without assumptions, from existing outputs and a given rule",
        _without_law,
    ),
    *_whole_audit_sweep(),
    BenchCase(
        "whole-audit-d-50",
        "Whole audits of 2 n outputs of 50 numbers, with a learned rule if nothing is assumed",
        _whole_audit,
        forms=("draw", "law given", "law given, claim true", "nothing assumed"),
        parameters={"n": 10_000, "d": 50},
        work=20_000,
        item="output",
        clock="process",
        targets=[Target("nothing assumed", at_most=10.0)],
    ),
)
