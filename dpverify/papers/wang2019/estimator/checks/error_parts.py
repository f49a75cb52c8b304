"""Check the parts of the estimate's error: their sizes on the worst known problems, and their sum in kernel runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial

import numpy as np

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point, RuleCheck
from dpverify.kernels.typing import Indices, Matrix, Vector
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.algorithms.dp_srm import DpSrm, SrmParameters
from dpverify.papers.wang2019.estimator.bounds import (
    PARTS,
    ErrorPart,
    EstimateRun,
    error_parts,
)
from dpverify.problems.example_gradients import ExampleGradients
from dpverify.symbolic.exact.evaluate import evaluate_statement

CHECKS = PaperChecks("wang2019", __name__)

STEPS = 60
TOO_SMALL = 2
OFF = 1e-12
RUN = EstimateRun(
    64,
    8,
    8,
    Fraction(1, 8),
    Fraction(1, 20),
    Fraction(1),
    3,
    Fraction(1, 1000),
    Fraction(1, 10**4),
)


# ---- sizes


def _lengths(_: Budget) -> Iterable[dict[str, int | Fraction | str]]:
    same = {"gamma": RUN.gamma, "start_error": RUN.start_error, "added": RUN.added}
    return ({**same, "T": T} for T in range(1, STEPS + 1))


def _total_bound(parts: dict[str, ErrorPart]) -> Fraction:
    """Return the bound on the whole mean square. Sampling and drift of a batch may have the same direction."""
    sampling, drift = (math.sqrt(parts[name].bound) for name in ("sampling", "drift"))
    return parts["start"].bound + Fraction(sampling + drift) ** 2 + parts["noise"].bound


def _within(
    factors: dict[str, Fraction] | None = None,
) -> Callable[[Point, Statement], Outcome]:
    """Return a rule: the bounds of T steps sum to the left side of note-error, and the last parts are within bounds."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        T = int(point["T"])
        left, _ = evaluate_statement(statement, point)
        total = (
            sum((_total_bound(error_parts(t, RUN)) for t in range(T)), Fraction(0)) / T
        )
        if not isinstance(left, Fraction) or abs(total / left - 1) > OFF:
            return Outcome(
                False, left, total, "the parts do not add up to the record's left side"
            )
        for name, (attained, bound) in error_parts(T - 1, RUN).items():
            if attained > bound * (factors or {}).get(name, Fraction(1)):
                return Outcome(False, attained, bound, f"{name} is above its bound")
        return Outcome(True)

    return is_satisfied


def error_figure() -> dict[str, dict[str, list[float]]]:
    """Return the columns of "estimate-error-parts": the root mean square of each part at each step, and its bound."""
    parts_by_step = [error_parts(t, RUN) for t in range(1, STEPS)]
    columns = {"x": [float(t) for t in range(1, STEPS)]}
    for name in PARTS:
        columns[f"attained-{name}"] = [
            math.sqrt(parts[name].attained) for parts in parts_by_step
        ]
        columns[f"corrected-{name}"] = [
            math.sqrt(parts[name].bound) for parts in parts_by_step
        ]
    letters = {
        "n": "examples",
        "b": "batch",
        "b_0": "batch_0",
        "gamma": "gamma",
        "zeta": "zeta",
    }
    columns |= {f"at:{name}": [float(getattr(RUN, of))] for name, of in letters.items()}
    return {"estimate-error-parts": columns}


# ---- the kernel

Gradients = Callable[[Vector, Indices], Matrix]
# slope of the mean loss, and largest distance of an example's slope from it
SLOPE = 0.5
TEETH = 0.5


def _alternating(w: Vector, batch: Indices) -> Matrix:
    """Return alternating gradients 1 and -1, for every w."""
    rows = np.zeros((len(batch), len(w)))
    rows[:, 0] = 1.0 - 2.0 * (batch % 2)
    return rows


def _zigzag(w: Vector, batch: Indices) -> Matrix:
    """Return gradients SLOPE + z and SLOPE - z in alternation; z is a zigzag in [-1/2, 1/2] with slopes 1 and -1."""
    rows = np.zeros((len(batch), len(w)))
    rows[:, 0] = SLOPE + (1.0 - 2.0 * (batch % 2)) * (
        abs(w[0] % (4 * TEETH) - 2 * TEETH) - TEETH
    )
    return rows


def _split(
    point: Point,
    statement: Statement,
    *,
    gradients: Gradients,
    size: str,
    fault: str = "",
) -> Outcome:
    """Test whether the parts, computed from batches and noise, add up to the error of the kernel's estimate.

    The gradients of the examples (or their changes, by ``size``) must also have the stated distance from their mean.
    """
    del statement
    steps = int(point["T"])
    p = RUN
    quiet = 0.0 if size == "changes" else 1.0  # noise could shorten a step
    std_0, std = (quiet * math.sqrt(value) for value in (p.variance_0, p.variance))
    gamma = float(p.gamma)
    zeta = float(p.zeta)
    everyone = np.arange(p.examples)
    batches = list[Indices]()

    def watched(w: Vector, batch: Indices) -> Matrix:
        batches.append(batch.copy())
        return gradients(w, batch)

    d = 1 if size == "changes" else p.dimension
    tape = np.random.default_rng(steps).standard_normal((steps, d))
    numbers = SrmParameters(steps, p.batch_0, p.batch, gamma, zeta, 1.0, std_0, std)
    run = DpSrm(
        ExampleGradients(watched),
        p.examples,
        np.zeros(d),
        numbers,
        seed=steps,
        tape=tape,
        keep=True,
    )
    parts = {name: np.zeros(d) for name in PARTS}
    keep = 1.0 - gamma
    for t in range(steps):
        batches.clear()
        run.advance(1)
        batch = next(
            candidate
            for candidate in batches
            if len(candidate) == (p.batch if t else p.batch_0)
        )
        w, old = run.iterates[t], run.iterates[max(t - 1, 0)]
        now = gradients(w, everyone)
        change = gradients(w, everyone) - gradients(old, everyone)
        parts = {
            name: (1.0 if name == fault else keep) * part
            for name, part in parts.items()
        }
        drawn = gradients(w, batch).mean(axis=0) - now.mean(axis=0)
        moved = drawn - (
            gradients(old, batch).mean(axis=0) - gradients(old, everyone).mean(axis=0)
        )
        parts["noise"] += (std if t else std_0) * tape[t]
        if t == 0:
            parts["start"] += drawn
        else:
            parts["sampling"] += gamma * drawn
            parts["drift"] += keep * moved
        off = run.v - now.mean(axis=0) - sum(parts.values())
        if not np.abs(off).max() < OFF:
            return Outcome(
                False,
                note=f"at step {t} the parts miss the error by {np.abs(off).max():.3g}",
            )
        deviations = (
            now - now.mean(axis=0)
            if size == "gradients"
            else change - change.mean(axis=0)
        )
        length = 1.0 if size == "gradients" else zeta
        if (t or size == "gradients") and not np.allclose(
            np.linalg.norm(deviations, axis=1), length, rtol=0, atol=1e-9
        ):
            return Outcome(
                False, note=f"at step {t} {size} are not {length:g} off their mean"
            )
    return Outcome(True)


CHECKS.add(
    RuleCheck(
        "note-error",
        "error-parts",
        points=_lengths,
        is_satisfied=_within(),
        planted=[
            Planted(
                f"the bound of {name} {TOO_SMALL} times too small",
                is_satisfied=_within({name: Fraction(1, TOO_SMALL)}),
            )
            for name in PARTS
        ],
        figures=lambda _: error_figure(),
        about_kernel=True,
        region=f"n = 64, b = b_0 = 8, gamma = 1/8, zeta = 1/20, G = 1, d = 3, {STEPS} steps; the worst problem known "
        "for each part",
        leaves_out="how the parts add up on one problem",
        seconds=0.1,
    ),
    *(
        RuleCheck(
            "note-error",
            f"error-split-{size}",
            points=lambda _: ({"T": T} for T in (1, 2, 40)),
            is_satisfied=partial(_split, gradients=gradients, size=size),
            planted=[
                Planted(
                    f"{name} is never forgotten",
                    is_satisfied=partial(
                        _split, gradients=gradients, size=size, fault=name
                    ),
                )
                for name in faults
            ],
            about_kernel=True,
            region=f"whole runs of Algorithm 1 on the problem that makes the part of {part} largest",
            leaves_out="floats: to 1e-12",
            seconds=0.1,
        )
        for size, gradients, part, faults in (
            (
                "gradients",
                _alternating,
                "start and sampling",
                ("start", "sampling", "noise"),
            ),
            ("changes", _zigzag, "drift", ("start", "drift")),
        )
    ),
)
