"""Checks of the made-up paper: one for each thing that can happen to a check."""

from __future__ import annotations

import math
import multiprocessing
import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import sympy

from dpverify.harness import (
    Check,
    Context,
    Control,
    DerivationCheck,
    ExhaustiveCheck,
    MeanBound,
    MeanEffect,
    MonteCarloCheck,
    PaperChecks,
    Plan,
    SearchCheck,
    SubGaussian,
    TrajectoryEffect,
    TrajectoryLaw,
)
from dpverify.ledger.check_results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.steps import Derivation, Step
from dpverify.symbolic.expressions.ranges import Range
from dpverify.symbolic.expressions.translation import sympy_symbols

STEPS, COORDINATES = 5, 2
WALK = {"T": STEPS, "d": COORDINATES}
PLAN = Plan(
    TrajectoryEffect(STEPS, COORDINATES, scale=1.05, row_scale=1.1, correlation=0.1),
    block=1000,
)


def walk(context: Context, rng: np.random.Generator, size: int) -> Any:
    shape = size, int(context.point["T"]), int(context.point["d"])
    return np.cumsum(rng.standard_normal(shape), axis=1)


def forgetful_walk(context: Context, rng: np.random.Generator, size: int) -> Any:
    """Forget the first step from the third on."""
    sample = walk(context, rng, size)
    sample[:, 2:] -= sample[:, :1]
    return sample


def walk_law(context: Context) -> Any:
    t = np.arange(1.0, float(context.point["T"]) + 1.0)
    return np.minimum.outer(t, t)


def derive_decay(statement: Statement) -> Derivation:
    x = sympy_symbols(statement)["x"]
    return Derivation(
        name="convexity",
        whose="ours",
        variables={"x": Range("real", 0, 10, open_lo=True)},
        assumptions=(),
        start=1 - x,
        steps=(Step(sympy.exp(-x), "<=", "one-minus-exp", {"x": x}),),
    )


CHECKS = PaperChecks("demo", __name__)
CHECKS.add(
    ExhaustiveCheck(
        "sum",
        "all",
        points=lambda _: ({"n": n} for n in range(1, 13)),
        why_sufficient="n goes from 1 to 12, and all were tried",
    ),
    SearchCheck("sum", "search"),
    DerivationCheck("decay", "derivation", build=derive_decay),
    SearchCheck("root", "search", corners=[{"x": "739/100"}]),
    SearchCheck("bits", "search"),
    SearchCheck("empty", "search"),
    MonteCarloCheck(
        "walk",
        "law",
        point=WALK,
        plan=PLAN,
        simulate=walk,
        judge=TrajectoryLaw(
            walk_law, printed=lambda context: np.diag(walk_law(context))
        ),
        controls=[Control("forgets", "the first step is forgotten", forgetful_walk)],
        readings={"start": "zero"},
    ),
    MonteCarloCheck(
        "wrong-walk",
        "law",
        point=WALK,
        plan=PLAN,
        simulate=forgetful_walk,
        judge=TrajectoryLaw(walk_law),
    ),
    MonteCarloCheck(
        "sloppy",
        "law",
        point=WALK,
        plan=PLAN,
        simulate=walk,
        judge=TrajectoryLaw(walk_law),
        controls=[Control("no fault", "nothing is wrong with it", walk)],
    ),
    MonteCarloCheck(
        "size",
        "mean",
        point={},
        plan=Plan(MeanEffect(0.05, SubGaussian(1.0))),
        simulate=lambda _context, rng, size: np.abs(rng.standard_normal(size)),
        judge=MeanBound(SubGaussian(1.0)),
    ),
    SearchCheck("size", "blind", lhs=lambda _point, _statement: Fraction(1, 2)),
)


class BrokenCheck(Check):
    """Raises, or takes its worker down, or is interrupted."""

    method = "exhaustive"

    def blocks(self, context: Context) -> int:
        """Two where it raises, in the first of them: the second must not hide that."""
        del context
        return 2 if self.name == "raises" else 1

    def run_block(self, context: Context, block: int) -> int:
        del context
        if self.name == "raises" and block == 0:
            raise ZeroDivisionError("the author\ndivided by zero")
        if self.name == "dies" and multiprocessing.parent_process() is not None:
            os._exit(7)
        if self.name == "interrupts":
            raise KeyboardInterrupt
        return 1

    def finish(self, context: Context, total: Any) -> CheckResult:
        del context
        return CheckResult(
            name=self.name, method=self.method, status="not refuted", n=math.prod(total)
        )


class CountingCheck(Check):
    """Three blocks, each with its number and a draw of its own."""

    method = "monte-carlo"

    def blocks(self, context: Context) -> int:
        del context
        return 3

    def run_block(self, context: Context, block: int) -> tuple[int, float]:
        return block, float(context.rng(block).random())

    def finish(self, context: Context, total: Any) -> CheckResult:
        del context
        return CheckResult(
            name=self.name,
            method=self.method,
            status="not refuted",
            statistic=repr(total),
        )


BROKEN = PaperChecks("demo", __name__)
BROKEN.add(
    CountingCheck("sum", "counts"),
    BrokenCheck("root", "raises"),
    BrokenCheck("bits", "dies"),
    BrokenCheck("size", "fine"),
)
INTERRUPTED = PaperChecks("demo", __name__)
INTERRUPTED.add(
    CountingCheck("sum", "counts"),
    BrokenCheck("root", "interrupts"),
    BrokenCheck("size", "fine"),
)
PATIENT = PaperChecks("demo", __name__)
PATIENT.add(
    CountingCheck("sum", "counts", least_budget="standard"),
    BrokenCheck("root", "raises", least_budget="full"),
)


def load(key: str) -> PaperChecks | None:
    return CHECKS if key == "demo" else None


def load_broken(key: str) -> PaperChecks | None:
    return BROKEN if key == "demo" else None


def load_interrupted(key: str) -> PaperChecks | None:
    return INTERRUPTED if key == "demo" else None


def load_patient(key: str) -> PaperChecks | None:
    return PATIENT if key == "demo" else None


def load_orphan(key: str) -> PaperChecks | None:
    orphans = PaperChecks(key, __name__)
    orphans.add(CountingCheck("nowhere", "orphan"))
    return orphans


def _known(checks: PaperChecks) -> PaperChecks:
    """Only those checks whose claims the specs in the working folder still have."""
    claims = Path("specs/demo/claims.toml").read_text()
    known = PaperChecks(checks.key, checks.module)
    known.add(
        *(e.check for e in checks.entries() if f'id = "{e.check.claim}"' in claims)
    )
    return known


def load_known(key: str) -> PaperChecks | None:
    return _known(CHECKS) if key == "demo" else None


def load_known_broken(key: str) -> PaperChecks | None:
    return _known(BROKEN) if key == "demo" else None


def load_known_patient(key: str) -> PaperChecks | None:
    return _known(PATIENT) if key == "demo" else None
