"""The base class of all checks, and its input. A check judges one statement and returns a result.

A budget is the amount of work that a run may do. It is shared among the checks.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec
import numpy as np

from dpverify.harness.admissible import Property
from dpverify.harness.recorded_proof import CertificateFile, RecordedProof
from dpverify.ledger.check_results import CheckResult, ControlResult, Method
from dpverify.ledger.statements import Statement

BudgetName: TypeAlias = Literal["smoke", "standard", "full"]


@dataclass(frozen=True)
class Budget:
    """The amount of work of one run."""

    name: str  # "smoke", "standard" or "full"
    seconds: float  # core seconds for all checks of a run together
    examples: int  # largest number of points that a counterexample search draws
    points: int  # points at which a derivation step is evaluated
    # constants of a derivation that are changed by 1%, one at a time, as controls
    perturbed: int

    def reaches(self, least: BudgetName) -> bool:
        """Return whether this budget is at least as large as another."""
        names = list(BUDGETS)
        return names.index(self.name) >= names.index(least)


BUDGETS = {
    # The seconds are the sum of the declared costs. Most checks need less: on 2 cores,
    # smoke takes two to three minutes and standard about 20.
    "smoke": Budget("smoke", seconds=366.0, examples=200, points=32, perturbed=1),
    "standard": Budget(
        "standard", seconds=3_220.0, examples=3_000, points=300, perturbed=6
    ),
    "full": Budget(
        "full", seconds=46_000.0, examples=30_000, points=1_000, perturbed=40
    ),
}


def budget_named(name: str) -> Budget:
    """Return the budget with a name."""
    if name not in BUDGETS:
        raise ValueError(
            f"budget must be one of {', '.join(BUDGETS)}, got budget={name!r}."
        )
    return BUDGETS[name]


@dataclass(frozen=True)
class Shares:
    """The largest cost of one check, in core seconds, for both kinds of checks."""

    divisible: float  # for a check that can do part of its work, such as a search
    # for a check that does all of its work or none, such as a Monte Carlo plan
    whole: float


def shares(
    divisible: Sequence[float], indivisible: Sequence[float], total: float
) -> Shares:
    """Share a budget among checks. Indivisible checks come first, but a tenth is reserved for the divisible checks."""
    needed = sum(indivisible)
    of_divisible = fair_share(divisible, max(total / 10, total - needed))
    left = total - sum(min(cost, of_divisible) for cost in divisible)
    if needed <= left * (1 + 1e-9):  # all fit; rounding must not exclude the last check
        return Shares(of_divisible, float("inf"))
    return Shares(of_divisible, fair_share(indivisible, left))


def fair_share(costs: Sequence[float], total: float) -> float:
    """Return the largest share s with ``sum(min(cost, s)) <= total``, or infinity if everything fits."""
    left = total
    ordered = sorted(costs)
    for place, cost in enumerate(ordered):
        level = left / (len(ordered) - place)
        if cost > level:
            return level
        left -= cost
    return float("inf")


# values of a statement's symbols; an integer is a Fraction with denominator 1
Point = Mapping[str, Fraction]


def as_point(values: Mapping[str, int | Fraction | str]) -> dict[str, Fraction]:
    """Convert integers, Fractions and text such as "3/7" or "0.1" to exact numbers. Floats raise a TypeError."""
    for name, value in values.items():
        if isinstance(value, float):
            raise TypeError(
                f"{name} must be an int, a Fraction or text, got the float {name}={value!r}."
            )
    return {name: Fraction(values[name]) for name in sorted(values)}


@dataclass(frozen=True)
class Context:
    """The input of a check."""

    # the statement under test: one claim, one
    # choice of its readings, printed or amended
    statement: Statement
    budget: Budget  # how much work the run may do
    seed: int  # seed of the run, at least 0
    check: str = ""  # name of the check
    point: Point = field(default_factory=dict)  # parameters of a simulation
    # core seconds that this check may cost; infinite if all checks fit into the budget
    share: float = math.inf
    # for a derivation: the recorded proof, which need not be derived again
    proof: RecordedProof | None = None
    # for a derivation: a certificate that is up to date
    certificate: CertificateFile | None = None
    # for other checks: the result of the recorded run
    recorded: CheckResult | None = None

    @cached_property
    def reusable_hashes(self) -> tuple[str, ...]:
        """Hashes of the recorded results that the check may reuse.

        With other recorded results, its result may differ.
        """
        contents = [
            msgspec.json.encode(record)
            for record in (self.proof and self.proof.result, self.recorded)
            if record
        ]
        path = None if self.proof is None else self.proof.certificate.path
        contents += [path.read_bytes()] if path is not None and path.is_file() else []
        return tuple(hashlib.sha256(content).hexdigest() for content in contents)

    def entropy(self, stream: str = "") -> list[int]:
        """Return the words that seed a stream: the run's seed, then a hash of the claim, the check and the stream."""
        text = "\0".join((self.statement.key, self.check, stream))
        digest = hashlib.sha256(text.encode()).digest()
        return [
            self.seed,
            *(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 32, 4)),
        ]

    def rng(self, block: int, stream: str = "") -> np.random.Generator:
        """Return the generator of one block, independent of other claims and of the workers.

        Each control uses a different stream.
        """
        return np.random.default_rng(
            np.random.SeedSequence([*self.entropy(stream), block])
        )


CANNOT_FAIL = "this check cannot fail"
CANNOT_PASS = "this check cannot pass"


@dataclass(frozen=True)
class Check:
    """Base class of all checks. The parts of its blocks are joined in order, whichever process ran them."""

    claim: str  # id of the claim without its paper: "lemma-12"
    name: str  # name of the check, unique for the claim: "noise-law"
    # readings that it judges; empty: all
    readings: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    # a subset of these and "held"
    variants: tuple[str, ...] = field(default=("printed", "amended"), kw_only=True)
    # For each assumption of the statement, by name, the property of the check's
    # problems that satisfies it. A condition whose letters the points lack is declared
    # under its text.
    meets: Mapping[str, Property] = field(default_factory=dict, kw_only=True)
    # what the evidence does not cover, for the report
    leaves_out: str = field(default="", kw_only=True)
    # The smallest budget in which the check runs. In smaller budgets it costs nothing,
    # and its statement stays untested.
    least_budget: BudgetName = field(default="smoke", kw_only=True)

    method: ClassVar[Method]
    # whether the check does less work with a smaller share, instead of none
    divisible: ClassVar[bool] = False
    # types in its parts besides plain values and arrays
    parts: ClassVar[tuple[type, ...]] = (CheckResult,)

    @property
    def runs_from(self) -> str:
        """Description of the smallest budget in which the check runs, or "" if it runs in all budgets."""
        return (
            ""
            if self.least_budget == "smoke"
            else f"runs from the {self.least_budget} budget on"
        )

    def applies(self, statement: Statement) -> bool:
        """Return whether this check can judge a statement of its claim, given its variant, reading and form."""
        chosen = all(
            statement.reading.get(name) == choice
            for name, choice in self.readings.items()
        )
        return (
            chosen and statement.variant in self.variants and self.can_judge(statement)
        )

    def can_judge(self, statement: Statement) -> bool:
        """Return whether the check can judge a statement of this form; True by default."""
        return True

    def cost(self, context: Context) -> float:
        """Return the declared cost in core seconds; 1 by default."""
        return 1.0

    def beyond_share(self, context: Context) -> str:
        """Describe the cost beyond the check's share of the budget, or return "" if it fits."""
        needs = self.cost(context)
        share = context.share
        budget = context.budget.name
        if needs <= share:
            return ""
        return f"it needs {needs:.3g} core seconds, and its share of the {budget} budget is {share:.3g}"

    def blocks(self, context: Context) -> int:
        """Return the number of blocks, at least 0; 1 by default."""
        return 1

    def run_block(self, context: Context, block: int) -> Any:
        """Run one block, counted from 0, and return its part: sufficient statistics that can be pickled."""
        raise NotImplementedError(f"{type(self).__name__} must define run_block.")

    def fold(self, sofar: Any, part: Any) -> Any:
        """Add the part of the next block to the earlier parts (None at first), by default in a list."""
        return [*(sofar or []), part]

    def finish(self, context: Context, total: Any) -> CheckResult:
        """Return the result of the folded parts, None if no block fits into the budget. ``seconds`` is set later."""
        if total is None and (reason := self.beyond_share(context)):
            return self.result(status="inconclusive", message=reason)
        if total is None or len(total) != 1:
            raise NotImplementedError(
                f"{type(self).__name__} must define finish, or have one block."
            )
        result: CheckResult = total[0]
        return result

    def result(self, **fields: Any) -> CheckResult:
        """Make a result of this check, with its name, its method and what it leaves out.

        A refutation counts only if the check did not refute the true neighbours of its claim. Otherwise the check is
        wrong, and its result says nothing about the paper.
        """
        result = CheckResult(
            **{
                "name": self.name,
                "method": self.method,
                "leaves_out": self.leaves_out,
                **fields,
            }
        )
        if result.status != "refuted" or not (
            refuted := refuted_neighbours(result.true_neighbours)
        ):
            return result
        return msgspec.structs.replace(
            result, status="inconclusive", error=refuted, counterexamples=[]
        )


def refuted_neighbours(neighbours: Sequence[ControlResult]) -> str:
    """Describe the true neighbours that a check refuted or lacks, or return "" if it has some and refuted none."""
    if not neighbours:
        return f"{CANNOT_PASS}: it refuted the statement and has no true neighbour, which it must not refute"
    refuted = [
        f"{neighbour.name} ({neighbour.fault})"
        for neighbour in neighbours
        if neighbour.refuted
    ]
    return (
        f"{CANNOT_PASS}: it refuted the true neighbour {'; '.join(refuted)}"
        if refuted
        else ""
    )


def missed_controls(controls: list[ControlResult]) -> str:
    """Describe the planted faults that a check missed or lacks, or return "" if it has some and refuted all."""
    if not controls:
        return f"{CANNOT_FAIL}: it has no control"
    missed = [f"{c.name} ({c.fault})" for c in controls if not c.refuted]
    return (
        f"{CANNOT_FAIL}: it missed the planted fault {'; '.join(missed)}"
        if missed
        else ""
    )
