"""Checks of vector identities: equations 1 to 3, 8 and 9, Lemma 17 and its proof, and the recursions.

``IdentityCheck`` compares the coefficients of every gradient on both sides of a vector identity, exactly, under each
ordering, for runs of many sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from typing import ClassVar

from dpverify.harness import (
    Budget,
    Check,
    Context,
    Outcome,
    PaperChecks,
    Planted,
    Point,
)
from dpverify.harness.checks import as_point, missed_controls
from dpverify.harness.exact_results import CounterexampleKind, counterexample
from dpverify.harness.neighbours import MOST_POINTS, neighbour_result
from dpverify.harness.search.exhaustive_check import as_probe, compare_coefficients
from dpverify.ledger.formula import parse, to_text
from dpverify.ledger.records import Status
from dpverify.ledger.results import CheckResult, ControlResult, Counterexample, Method
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.identities.combinations_bounds import (
    Function,
    Ordering,
    in_words,
    paper_functions,
)
from dpverify.symbolic.exact.combinations import Combination, kronecker_point
from dpverify.symbolic.exact.evaluate import (
    domains_hold,
    evaluate_statement,
    requires_hold,
)
from dpverify.symbolic.exact.numbers import to_value

Size = Mapping[str, int]  # Values of the integer symbols: N, T or t, window

Functions = Callable[[Statement, Size, Fraction], Sequence[Mapping[str, Function]]]
"""Maps a statement, a size and alpha to the paper's functions, once for each convention that the paper leaves open."""

# Readable points (alpha, gamma)
PLAIN = (Fraction(1, 2), Fraction(1, 2)), (Fraction(2, 5), Fraction(1, 3))

# Larger than all integer coefficients of identities of up to MOST_EPOCHS epochs:
# NOTES_identities.md
HEIGHT = 4095

MOST_EPOCHS = 16  # Longer runs are compared at the points PLAIN only

_Seen = tuple[dict[str, Fraction], Outcome]  # A point, and the outcome there


@dataclass(frozen=True)
class IdentityFault:
    """A planted fault in a vector identity."""

    name: str  # short name
    text: str  # description
    # wrong right side, in which ``printed`` means the printed one; empty if the fault
    # is elsewhere
    rhs: str = ""
    # a part of the right side, in the formula language, and its wrong replacement
    change: tuple[str, str] = ("", "")
    functions: Functions | None = None  # functions with a fault
    # whether it is the smallest fault that the check claims to detect
    at_declared_size: bool = False
    # the only ordering under which it is a fault; empty if it is one under all
    # orderings
    ordering: str = ""

    def applies(self, statement: Statement) -> bool:
        """Return whether it is a fault under the statement's reading, and a corrected side has the text to change."""
        absent = (
            statement.variant == "amended"
            and statement.rhs is not None
            and self.change[0] not in to_text(statement.rhs)
        )
        return (
            self.ordering in {"", statement.reading.get("ordering", "")} and not absent
        )

    def statement(self, statement: Statement) -> Statement:
        """Return the statement with the wrong right side."""
        if self.rhs:
            return Planted(self.name, rhs=self.rhs).statement(statement)
        old, new = self.change
        if not old or statement.rhs is None:
            return statement
        text = to_text(statement.rhs)
        if old not in text:
            raise ValueError(
                f"planted fault {self.name!r}: {old!r} does not occur in {text!r}."
            )
        return replace(statement, rhs=parse(text.replace(old, new)))


@dataclass(frozen=True)
class IdentityCheck(Check):
    """Decide a vector identity at every size of a finite set, for all alpha and gamma at once."""

    # sizes for a budget, small ones first; sizes outside the statement's domain are
    # skipped
    sizes: Callable[[Budget], Iterable[Size]] = field(kw_only=True)
    # the paper's functions under each convention that the paper leaves open. The
    # statement holds if it holds under all of them, and fails if it fails under all of
    # them.
    functions: Functions = field(kw_only=True)
    # faults that the check must refute
    faults: Sequence[IdentityFault] = field(kw_only=True)
    region: str = field(default="", kw_only=True)  # the sizes in words

    method: ClassVar[Method] = "exhaustive"

    def can_judge(self, statement: Statement) -> bool:
        """Return whether both sides are formulas."""
        return statement.lhs is not None and statement.rhs is not None

    def cost(self, context: Context) -> float:
        """Return the declared cost in core seconds."""
        return {"smoke": 0.15, "standard": 3.0}.get(context.budget.name, 20.0)

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Compare coefficients at every point, and again for each fault until it is refuted."""
        statement = context.statement
        outcomes = list(self._go_through(context, statement, self.functions))
        if not outcomes:
            raise ValueError(f"sizes of check {self.name!r} must not be empty.")
        violations = [
            (point, outcome) for point, outcome in outcomes if outcome.ok is False
        ]
        undecided = sum(outcome.ok is None for _, outcome in outcomes)
        controls = (
            []
            if violations
            else [
                self._control(context, f) for f in self.faults if f.applies(statement)
            ]
        )
        missed = "" if violations else missed_controls(controls)
        status: Status = "not refuted"
        if violations:
            status = "refuted"
        elif missed or undecided:
            status = "inconclusive"
        message = f"{len(outcomes)} points, {len(violations)} violations" + (
            f", {undecided} open" if undecided else ""
        )
        return self.result(
            status=status,
            message="; ".join(filter(None, [message, missed])),
            n=len(outcomes),
            detects="any difference between two coefficients of a gradient",
            region=self.region,
            counterexamples=_counterexamples(violations),
            controls=controls,
            true_neighbours=[self._neighbour(context)] if violations else [],
        )

    def _neighbour(self, context: Context) -> ControlResult:
        """Compare the left side with itself at the first points, as a true statement that must not be refuted."""
        same = replace(context.statement, rhs=context.statement.lhs)
        compared = list(
            islice(self._go_through(context, same, self.functions), MOST_POINTS)
        )
        refuted = not all(outcome.ok is True for _, outcome in compared)
        statistic = f"{len(compared)} points"
        return neighbour_result(
            "left for right",
            "the left side on both sides",
            refuted=refuted,
            statistic=statistic,
        )

    def _control(self, context: Context, fault: IdentityFault) -> ControlResult:
        statement = fault.statement(context.statement)
        functions = fault.functions or self.functions
        count = 0
        refuted = False
        for _, outcome in self._go_through(context, statement, functions):
            count += 1
            if refuted := outcome.ok is False:
                break
        return ControlResult(
            name=fault.name,
            fault=fault.text,
            at_declared_size=fault.at_declared_size,
            refuted=refuted,
            statistic=f"{count} points",
        )

    def _go_through(
        self, context: Context, statement: Statement, functions: Functions
    ) -> Iterator[_Seen]:
        for size in self.sizes(context.budget):
            for alpha, gamma in _weights(size):
                point = as_point({**size, "alpha": alpha, "gamma": gamma})
                inside = (
                    domains_hold(statement.domains, point),
                    requires_hold(statement, point),
                )
                if all(answer is True for answer in inside):
                    yield (
                        point,
                        _compare(statement, point, functions(statement, size, alpha)),
                    )


def _weights(size: Size) -> Iterator[tuple[Fraction, Fraction]]:
    """Yield the points PLAIN (alpha, gamma), and for short runs a Kronecker point, which decides for all values."""
    yield from PLAIN
    steps = max(size.get("T", 1), size.get("t", 1))
    epochs = -(-steps // size.get("N", steps))
    if epochs <= MOST_EPOCHS and steps <= 4 * MOST_EPOCHS:
        yield kronecker_point(steps + 1, epochs + 1, HEIGHT)


def _compare(
    statement: Statement, point: Point, conventions: Sequence[Mapping[str, Function]]
) -> Outcome:
    """Compare both sides under each convention; the outcome is undecided unless all conventions agree."""
    outcomes = [_compare_once(statement, point, functions) for functions in conventions]
    if all(outcome.ok for outcome in outcomes):
        return outcomes[0]
    if all(outcome.ok is False for outcome in outcomes):
        return outcomes[-1]
    return Outcome(None, note="it depends on a convention")


def _compare_once(
    statement: Statement, point: Point, functions: Mapping[str, Function]
) -> Outcome:
    sides = evaluate_statement(statement, {**point, **functions})
    left, right = (
        side if isinstance(side, Combination) else Combination({}) + to_value(side or 0)
        for side in sides
    )
    return compare_coefficients(left, right, in_words)


def _counterexamples(violations: list[_Seen]) -> list[Counterexample]:
    """Return the first violation, and the first one that is not a boundary case."""
    chosen: list[tuple[CounterexampleKind, _Seen]] = [
        ("smallest", violation) for violation in violations[:1]
    ]
    chosen += [
        ("interior", violation) for violation in violations if _inside(violation[0])
    ][:1]
    return [
        counterexample(kind, as_probe(point, violation))
        for kind, (point, violation) in chosen
    ]


def _inside(point: Point) -> bool:
    """Test for an interior point: at least 3 examples, at least 2 epochs and a part of one, and alpha != gamma."""
    steps = point.get("T", point.get("t", Fraction(0)))
    n = point.get("N")
    cut = steps >= 3 if n is None else n >= 3 and steps >= 2 * n and steps % n != 0
    return cut and point.get("alpha", Fraction(0)) != point.get("gamma", Fraction(1))


CHECKS = PaperChecks("tran2022", __name__)

# All runs of up to this length, for every N up to MOST_EXAMPLES
LONGEST = {"smoke": 9, "standard": 12, "full": 18}

LONGEST_TEXT = "{smoke} (smoke), {standard} (standard) or {full} (full budget)".format(
    **LONGEST
)

MOST_EXAMPLES = 4

LARGE = {  # Larger sizes (N, T); T is not a multiple of N, and N is not a power of two
    "smoke": ((7, 60),),
    "standard": ((7, 60), (12, 131)),
    "full": ((7, 60), (12, 131), (100, 1023)),
}


def _runs(letter: str) -> Callable[[Budget], Iterable[Size]]:
    """Return a function that yields sizes of N and of the last step, which the statement calls t or T."""

    def sizes(budget: Budget) -> Iterable[Size]:
        for steps in range(1, LONGEST[budget.name] + 1):
            for n in range(1, MOST_EXAMPLES + 1):
                yield {"N": n, letter: steps}
        for n, steps in LARGE[budget.name]:
            yield {"N": n, letter: steps}

    return sizes


def _windows(budget: Budget) -> Iterable[Size]:
    """Yield the sizes of ``_runs`` with window numbers."""
    for size in _runs("T")(budget):
        for window in sorted({1, 2, 3, size["T"] // size["N"]}):
            yield {**size, "window": window}


def _steps(budget: Budget) -> Iterable[Size]:
    """Yield sizes for a statement without epochs."""
    yield from ({"t": t} for t in range(1, 3 * LONGEST[budget.name]))
    yield {"t": 255}


def _functions(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return the functions under the statement's ordering, for epochs qN + 1 .. (q+1)N and qN .. qN + N - 1."""
    n = size.get("N", 3)
    ordering = statement.reading.get("ordering", "fresh")
    if ordering == "once" or n == 1:  # with one example all orders are the same
        orders = [Ordering("once", n, 1), Ordering("once", n, 0)]
    else:  # "free" proves a statement for every order, and "reversed" is one order that can give a counterexample
        orders = [
            Ordering("free", n, 1),
            Ordering("free", n, 0),
            Ordering("reversed", n, 1),
        ]
    return [paper_functions(order, alpha) for order in orders]


def _swapped(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return functions with a planted fault: one epoch exchanges two examples."""
    return [paper_functions(Ordering("swapped", size.get("N", 3)), alpha)]


def _anchor_off(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return functions with a planted fault: Delta subtracts the gradient at the anchor of two epochs before."""
    once = _functions(statement, size, alpha)[0]
    n = size.get("N", 3)
    return [
        {
            **once,
            "Delta_win": lambda a, b: (
                once["G_win"](a, b) - once["G_win"](a - 2 * n, b - 2 * n)
            ),
        }
    ]


def _full_functions(
    statement: Statement, size: Size, alpha: Fraction
) -> Sequence[Mapping[str, Function]]:
    """Return the functions of Lemma 11's proof, for both possible readings of g_1 and both of w_0."""
    order = Ordering("free", 3)
    return [
        paper_functions(order, alpha, full_start=start, before_first=before)
        for start in ("gradient", "zero")
        for before in (0, 1)
    ]


def _coefficient_off(gradient: str) -> IdentityFault:
    return IdentityFault(
        "coefficient-off",
        f"one billionth of {gradient} added to the right side",
        rhs=f"printed + 1e-9*{gradient}",
        at_declared_size=True,
    )


SWAPPED = IdentityFault(
    "two-examples-swapped",
    "epoch 1 exchanges its first two examples",
    functions=_swapped,
    ordering="once",
)
ANCHOR_OFF = IdentityFault(
    "anchor-off",
    "Delta subtracts at the anchor of two epochs before",
    functions=_anchor_off,
    ordering="once",
)
WEIGHT_OFF = IdentityFault(
    "weight-off",
    "gamma Delta for (1 - gamma) Delta",
    change=("(1 - gamma)*Delta", "gamma*Delta"),
)
POWER_OFF = IdentityFault(
    "power-off",
    "the power of 1 - gamma off by one",
    change=("(1 - gamma)**j", "(1 - gamma)**(j + 1)"),
)
LAST_LEFT_OUT = IdentityFault(
    "window-left-out",
    "the sum over i stops at q - 2",
    change=("i, 1, q - 1", "i, 1, q - 2"),
)


def _windows_identity(claim: str, letter: str, *faults: IdentityFault) -> IdentityCheck:
    """Return the check of a statement about windows."""
    return IdentityCheck(
        claim,
        "coefficients",
        sizes=_windows if claim == "lemma-17-unrolled" else _runs(letter),
        functions=_functions,
        faults=[_coefficient_off("anchor_grad(1)"), *faults],
        region=f"N up to {MOST_EXAMPLES} and {letter} up to {LONGEST_TEXT}; fixed values of alpha and gamma at sizes "
        f"(N, {letter}) = {', '.join(map(str, LARGE['full']))}",
    )


def _step_identity(claim: str, gradient: str, *faults: IdentityFault) -> IdentityCheck:
    """Return the check of a statement about steps, without windows."""
    full = claim.startswith("lemma-11")
    return IdentityCheck(
        claim,
        "coefficients",
        sizes=_steps,
        functions=_full_functions if full else _functions,
        faults=[_coefficient_off(gradient), *faults],
        region=f"t below 3 times {LONGEST_TEXT}; fixed values of alpha at t = 255",
    )


DECAY_OFF = IdentityFault(
    "decay-off", "the power of 1 - alpha off by one", change=("(t - i)", "(t - i + 1)")
)

CHECKS.add(
    _step_identity("section-3-momentum-unrolled", "grad(1)", DECAY_OFF),
    _step_identity("equation-1", "anchor_grad(1)", DECAY_OFF),
    _step_identity(
        "equation-2",
        "anchor_grad(1)",
        IdentityFault(
            "r-short", "r begins at 2", change=("r_win(1, t)", "r_win(2, t)")
        ),
    ),
    _step_identity(
        "section-4-full-batch-recursion",
        "full_grad(1)",
        IdentityFault(
            "weight-off",
            "2 gamma for gamma",
            change=("gamma*full_grad", "2*gamma*full_grad"),
        ),
    ),
    _step_identity(
        "lemma-11-unrolled",
        "full_grad(1)",
        IdentityFault("decay-off", "t - i", change=("(t - i + 1)", "(t - i)")),
    ),
    _windows_identity(
        "equation-9",
        "T",
        IdentityFault(
            "window-long",
            "it begins at T - N",
            change=("G_win(T - N + 1", "G_win(T - N"),
        ),
    ),
    _windows_identity(
        "equation-3", "t", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF, LAST_LEFT_OUT
    ),
    _windows_identity(
        "equation-8", "t", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF, LAST_LEFT_OUT
    ),
    _windows_identity(
        "lemma-17", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF, LAST_LEFT_OUT
    ),
    _windows_identity("lemma-17-window", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF),
    _windows_identity("lemma-17-q2", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF),
    _windows_identity(
        "lemma-17-hypothesis", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF
    ),
    _windows_identity(
        "lemma-17-unrolled", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF
    ),
    _windows_identity("lemma-17-step", "T", SWAPPED, ANCHOR_OFF, WEIGHT_OFF, POWER_OFF),
    _windows_identity(
        "lemma-17-last-line",
        "T",
        SWAPPED,
        ANCHOR_OFF,
        WEIGHT_OFF,
        POWER_OFF,
        LAST_LEFT_OUT,
    ),
)
