"""Typed records of the results of checks, derivations, controls and amendments of one statement."""

from __future__ import annotations

import builtins
from typing import Literal

from dpverify.ledger.claims import Line
from dpverify.ledger.records import Record, RelationToDerived, Status
from dpverify.ledger.statements import Reference

Method = Literal[
    "derivation", "exhaustive", "exact-law", "search", "monte-carlo", "measurement"
]
StepStatus = Literal["proved", "checked", "undecided", "fails"]


class Number(Record, frozen=True, kw_only=True):
    """A number of a report: always a float (infinities and NaN as strings), and an exact value if one is known."""

    exact: str | None = None
    # msgspec reads annotations inside the class, where the bare name is this field
    float: builtins.float | str


class Counterexample(Record, frozen=True, kw_only=True):
    """A point at which a statement is false, with both sides."""

    # practical: at sizes in common use
    kind: Literal["smallest", "practical", "interior", "largest-ratio"]
    parameters: dict[str, Number]
    lhs: Number
    rhs: Number
    note: str = ""
    # the condition `Edge.when` that it satisfies;
    # "" if none; None if none can be decided
    edge: str | None = None


class StepResult(Record, frozen=True, kw_only=True):
    """One step of a derivation with its verdict."""

    expression: str
    latex: str
    relation: str
    rule: str
    premises: list[str] = []
    status: StepStatus
    points: int = 0
    slack: Number | None = None
    note: str = ""


class DerivationResult(Record, frozen=True, kw_only=True):
    """A chain of steps: our derivation (``ours``) or the paper's (``paper``)."""

    name: str
    whose: Literal["ours", "paper"]
    steps: list[StepResult]
    complete: bool
    note: str = ""


class ControlResult(Record, frozen=True, kw_only=True):
    """A planted fault, or a similar true statement, and whether the check refuted it."""

    name: str
    fault: str  # what is changed
    at_declared_size: bool
    refuted: bool
    statistic: str = ""


class Slack(Record, frozen=True, kw_only=True):
    """The ratio of the printed bound to the exact value: the smallest found and a typical value."""

    min: Number
    typical: Number


class Vacuous(Record, frozen=True, kw_only=True):
    """Whether a bound is weaker than the trivial bound on a grid, and from which parameters on it is stronger."""

    value: bool
    grid: str
    onset: str


class CheckResult(Record, frozen=True, kw_only=True):
    """The result of one check of one statement."""

    name: str
    method: Method
    status: Status
    message: str = ""
    n: int = 0
    alpha: float = 0.0
    power: float = 0.0
    detects: str = ""
    statistic: str = ""
    region: str = ""
    # of a search: the range of its points, and what it did not evaluate
    window: str = ""
    leaves_out: str = ""
    # unproved premises; a proof with such premises is "proved given" them
    given: list[str] = []
    definitions: list[str] = []  # definitions that a proof uses
    references: list[Reference] = []  # the statements among the premises, proved or not
    # taken from the recorded run, whose proof or counterexamples were checked again
    by_certificate: bool = False
    seconds: float = 0.0
    kernel_disagrees: bool = False
    error: str = ""
    counterexamples: list[Counterexample] = []
    slack: Slack | None = None
    vacuous: Vacuous | None = None
    derivation: DerivationResult | None = None
    relation_to_derived: RelationToDerived | None = None
    controls: list[ControlResult] = []
    # true statements that a refuting check must not refute
    true_neighbours: list[ControlResult] = []
    figures: dict[str, dict[str, list[float]]] = {}


class AmendmentResult(Record, frozen=True, kw_only=True):
    """The result of an amendment or of a regime."""

    formula: str | None = None
    statement: str | None = None
    latex: str = ""
    requires: list[str] = []
    display: list[Line] = []  # the complete statement in lines
    status: Status
    given: list[str] = []
    definitions: list[str] = []
    pinned: Status = "untested"
    tight: bool = False
    # conditions under which the printed statement
    # holds, if the amendment only adds these
    holds_for: list[str] = []
    # false if it is only a general bound, because no correction is known
    corrects: bool = True
    # whether ``holds_for`` is equivalent to the claimed inequality: it corrects nothing
    only_restates: bool = False
    why: str
    slack: Slack | None = None
    checks: list[CheckResult] = []
