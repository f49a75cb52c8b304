"""One game of an audit: how many rounds, who is judged on which, what is reported, and what Ctrl-C leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator

from dpverify.privacy.audit.game import play, total_rounds, training_rounds
from dpverify.privacy.audit.records import AuditError, AuditFinding, Floats, number
from dpverify.privacy.audit.sampling import MOST_FLOATS, Draws, Source
from tests.for_each import for_each

Told = list[tuple[int, int, str]]
Score = Callable[[Floats], object]


def game(
    mechanism: Callable[..., Any],
    n: int = 2000,
    told: Told | None = None,
    score: Score | None = None,
) -> AuditFinding:
    heard = [] if told is None else told
    return play(
        Draws(Source(mechanism, (0.0, 1.0)), 0),
        n,
        0.0,
        1e-3,
        score,
        lambda *said: heard.append(said),
    )


def tells(dataset: float, rng: Generator, size: int) -> Floats:
    """Which data set it is, and a number that says nothing."""
    return np.column_stack([np.full(size, dataset), rng.normal(size=size)])


@for_each(("n", "rounds"), [(20_000, 39_200), (2000, 3747), (1, 1)])
def test_rounds_stay_below_n_for_each_data_set(n: int, rounds: int) -> None:
    assert total_rounds(n) == rounds


@for_each(
    ("total", "dimension", "training"),
    [
        (3747, 2, 936),
        (99_999, 1, 24_998),
        (200_000, 1, 25_000),
        (2_000_000, 1, 200_000),
        (99_999, 2000, 16_776),
        (3, 1, 0),
    ],
)
def test_a_quarter_of_few_rounds_and_a_tenth_of_many_are_for_training(
    total: int, dimension: int, training: int
) -> None:
    assert training_rounds(total, dimension) == training


def test_all_rounds_but_a_quarter_are_judged_and_no_guess_is_wrong_where_the_output_tells() -> (
    None
):
    told: Told = []
    found = game(tells, told=told)
    assert (found.training, found.trials) == (936, 3747 - 936)
    assert (found.wrong, found.interrupted) == (0, False)
    assert told[-1] == (3747, 3747, "guessing")
    assert (936, 3747, "learning a rule") in told
    assert found.right is not None
    assert found.epsilon_at is not None
    # r guesses, all right: with e^eps/(1 + e^eps)
    # below a^(1/r) that has a chance below a
    sure = 1e-3 ** (1.0 / found.right)
    assert 4.0 < found.epsilon <= np.log(sure / (1.0 - sure))
    assert found.epsilon == found.epsilon_at(1e-3) > found.epsilon_at(1e-6)


def test_outputs_that_repeat_are_noted_with_how_many_differ() -> None:
    three = game(lambda dataset, rng, size: rng.integers(0, 3, size).astype(float))
    assert three.notes == (
        "outputs repeat: 3 different ones among the 936 of the training rounds",
    )
    assert not game(lambda dataset, rng, size: rng.random(size)).notes


def test_a_score_sees_outputs_in_their_own_shape() -> None:
    shapes = set()

    def score(y: Floats) -> Floats:
        shapes.add(y.shape[1:])
        return y[:, 0, 1]

    found = game(
        lambda dataset, rng, size: dataset + rng.normal(size=(size, 1, 2)), score=score
    )
    assert shapes == {(1, 2)}
    assert found.rule.startswith("the score that was given")


def test_ctrl_c_leaves_what_was_judged_until_then() -> None:
    calls = []

    def stopped(dataset: float, rng: Generator) -> float:
        calls.append(dataset)
        if len(calls) > 1500:
            raise KeyboardInterrupt
        return dataset

    found = game(stopped)
    assert found.interrupted
    assert 0 < found.trials < 1500 - found.training
    assert found.right == found.trials
    early = game(lambda dataset, rng: (_ for _ in ()).throw(KeyboardInterrupt))
    assert early == AuditFinding(
        rule="none yet", trials=0, right=0, wrong=0, interrupted=True
    )


def test_outputs_that_do_not_fit_in_memory_are_refused_with_the_most_that_do() -> None:
    wide = 1 << 20
    most = MOST_FLOATS // wide * 5
    with pytest.raises(
        AuditError,
        match=f"^n: 2000: must be at most {most}, so that outputs of {wide} numbers",
    ):
        game(lambda dataset, rng, size: np.zeros((size, wide)))


@for_each(
    ("value", "said"),
    [(1.5, 1.5), (-2.0, -2.0), (np.inf, "inf"), (-np.inf, "-inf"), (np.nan, "nan")],
)
def test_what_json_has_no_number_for_is_a_word(value: float, said: float | str) -> None:
    assert number(value) == said
