"""From which N on Theorems 6 and 9 beat the trivial bound G: a table, a figure, and what must be true of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import msgspec

from dpverify.harness import Budget, Context, Outcome, PaperChecks, Planted, Point
from dpverify.harness.context import as_point
from dpverify.ledger.results import CheckResult
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.checks.rule_check import RuleCheck
from dpverify.papers.tran2022.onset_accounting import (
    DELTA,
    Cell,
    Theorem,
    corrected_parts,
    needed_bound,
    onsets,
    printed_bound,
    size,
    steps_of,
)
from dpverify.symbolic.numbers import to_ball, to_value
from dpverify.symbolic.statements import evaluate_statement

CHECKS = PaperChecks("tran2022", __name__)

CELLS = tuple(Cell(d, epsilon) for d in (1, 100) for epsilon in (0.1, 1.0, 10.0))
SHOWN = Cell(1, 1.0)
"""The cell whose bounds the figure shows over N."""

DECADES = 4
"""Points of a line of the figure, per factor of ten."""

MOST_EXAMPLES = {"theorem-6": 3e4, "theorem-9": 1e7}
"""End of the line with the noise that is needed: beyond it the accountant takes long, or has no bound."""

Bound = Callable[[Theorem, int, Cell], float]


def corrected_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Right side of the corrected theorem with the printed noise, at G = L = R = 1."""
    return sum(corrected_parts(theorem, n, cell))


def _cells(_: Budget) -> Iterable[dict[str, int | Fraction | str]]:
    return ({"d": cell.d, "epsilon": Fraction(str(cell.epsilon))} for cell in CELLS)


def _holds(theorem: Theorem, needed: Bound = needed_bound) -> Callable[[Point, Statement], Outcome]:
    """Rule for a cell; ``needed`` is the bound that is held against the onset with the needed noise."""

    def holds(point: Point, statement: Statement) -> Outcome:
        cell = Cell(int(point["d"]), float(point["epsilon"]))
        found = onsets(theorem, cell)
        n = size(found.corrected)
        ours, theirs = corrected_bound(theorem, n, cell), _of_the_record(statement, n, steps_of(theorem, n, cell), cell)
        if abs(ours - theirs) > 1e-9 * theirs:
            return Outcome(False, Fraction(ours), Fraction(theirs), "the corrected bound is not the one of the record")
        for k, bound in zip(found, (printed_bound, corrected_bound, needed), strict=True):
            at, before = bound(theorem, size(k), cell), bound(theorem, size(k - 1), cell)
            if not at < 1.0 <= before:
                return Outcome(False, Fraction(at), Fraction(1), f"N = {size(k)} is not where the bound falls below G")
        ordered = found.needed <= found.corrected <= found.printed
        return Outcome(ordered, Fraction(size(found.needed)), Fraction(size(found.corrected)), "onsets out of order")

    return holds


def _of_the_record(statement: Statement, n: int, steps: int, cell: Cell) -> float:
    point = as_point({"N": n, "T": steps, "d": cell.d, "delta": Fraction(str(DELTA)), "G": 1, "L": 1, "R": 1})
    _, right = evaluate_statement(statement, point)
    return float(to_ball(to_value(right)).mid())


def onset_figure(theorem: Theorem) -> dict[str, dict[str, list[float]]]:
    """Columns of the figure "onset".

    Parameters
    ----------
    theorem : str
        ``theorem-6`` or ``theorem-9``.

    Returns
    -------
    dict
        One figure: the three bounds in units of G over N at d = epsilon = 1, and the table of all onsets.
    """
    last = round(DECADES * math.log10(10 * size(onsets(theorem, SHOWN).printed)))
    sizes = [round(10 ** (k / DECADES)) for k in range(2 * DECADES, last + 1)]
    short = [n for n in sizes if n <= 1.1 * MOST_EXAMPLES[theorem]]
    table = [onsets(theorem, cell) for cell in CELLS]
    columns = {
        "x:N": [float(n) for n in sizes],
        "printed": [printed_bound(theorem, n, SHOWN) for n in sizes],
        "corrected": [corrected_bound(theorem, n, SHOWN) for n in sizes],
        "needed-x": [float(n) for n in short],
        "needed": [needed_bound(theorem, n, SHOWN) for n in short],
        "cell-d": [float(cell.d) for cell in CELLS],
        "cell-epsilon": [cell.epsilon for cell in CELLS],
        "cell-printed": [float(size(found.printed)) for found in table],
        "cell-corrected": [float(size(found.corrected)) for found in table],
        "cell-needed": [float(size(found.needed)) for found in table],
        "at:theorem": [6.0 if theorem == "theorem-6" else 9.0],
        "at:d": [float(SHOWN.d)],
        "at:epsilon": [SHOWN.epsilon],
        "at:delta": [DELTA],
    }
    return {f"onset-{theorem}": columns}


def onset_table(theorem: Theorem) -> str:
    """All onsets in words, for the message of the check."""
    rows = []
    for cell in CELLS:
        printed, corrected, needed = (f"{size(k):.2g}" for k in onsets(theorem, cell))
        rows.append(f"d = {cell.d}, epsilon = {cell.epsilon:g}: {printed} printed, {corrected} corrected, {needed}")
    return "below G from N = " + "; ".join(f"{row} with the least certified noise" for row in rows)


@dataclass(frozen=True)
class OnsetCheck(RuleCheck):
    """A :class:`RuleCheck` whose message is the table.

    Attributes
    ----------
    theorem : str
        ``theorem-6`` or ``theorem-9``.
    """

    theorem: Theorem = field(kw_only=True)

    def cost(self, context: Context) -> float:
        """Declared core seconds; the same for every budget."""
        del context
        return self.seconds

    def run_block(self, context: Context, block: int) -> CheckResult:
        """Do what the base does, and add the table to the message."""
        result = super().run_block(context, block)
        return msgspec.structs.replace(result, message=f"{result.message}; {onset_table(self.theorem)}")


def _check(theorem: Theorem, seconds: float, noise: str, **readings: str) -> OnsetCheck:
    fault: dict[str, Any] = {"holds": _holds(theorem, needed=corrected_bound), "at_declared_size": True}
    return OnsetCheck(
        theorem,
        "onset",
        theorem=theorem,
        points=_cells,
        holds=_holds(theorem),
        readings={"ordering": "fresh", **readings},
        variants=("amended",),
        planted=[Planted("the printed noise is put in for the needed one", **fault)],
        figures=lambda: onset_figure(theorem),
        about_kernel=True,
        region=f"delta = 10^-6, G = L = R = 1, alpha = 1/N, the printed T; {noise}",
        leaves_out="sizes between those that are tried, which are 12% apart; other G, L and R",
        seconds=seconds,
    )


CHECKS.add(
    _check("theorem-6", 1.5, "the exact sigma of the accountant", depth="levels"),
    _check("theorem-9", 0.2, "the sigma that the corrected proof supports, an upper bound of the exact one"),
)
