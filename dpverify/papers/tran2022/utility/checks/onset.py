"""Smallest N from which Theorems 6 and 9 beat the trivial bound G: a table, a figure, and checks of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import partial
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.checks import as_point
from dpverify.harness.search.candidates import size_at
from dpverify.harness.search.derived_checks import OnsetCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.accounting.onset import (
    Cell,
    Onsets,
    Theorem,
    corrected_parts,
    least_bound,
    needed_bound,
    needed_share,
    onsets,
    printed_bound,
    steps_of,
)
from dpverify.symbolic.exact.evaluate import evaluate_statement
from dpverify.symbolic.exact.numbers import to_ball, to_value

CHECKS = PaperChecks("tran2022", __name__)

SHOWN = Cell(1, 1.0)  # The cell whose bounds the figure shows over N.

CELLS = (
    *(Cell(d, epsilon) for d in (1, 100) for epsilon in (0.1, 1.0, 10.0)),
    *(SHOWN._replace(delta=delta) for delta in (1e-3, 1e-10)),
    *(SHOWN._replace(smoothness=smoothness) for smoothness in (0.1, 10.0)),
    *(SHOWN._replace(gap=gap) for gap in (0.1, 10.0)),
)
"""d and epsilon vary together; delta, L/G and R/G vary separately."""

# The check multiplies G, L and R by this and requires that the bounds scale, so G = 1
# loses no generality.
SCALE = 3

DECADES = 4  # Points of a line of the figure, per factor of ten.

MOST_EXAMPLES = {"theorem-6": 3e4, "theorem-9": 1e7}
"""Largest N of the curve with the needed noise. Beyond it the accountant takes long or has no bound."""

FIELDS = {
    "d": "d",
    "epsilon": "epsilon",
    "delta": "delta",
    "L": "smoothness",
    "R": "gap",
}
"""Field of a cell for each symbol of the record."""

Bound = Callable[[Theorem, int, Cell], float]


def corrected_bound(theorem: Theorem, n: int, cell: Cell) -> float:
    """Return the right side of the corrected theorem with the printed noise, in units of G."""
    return sum(corrected_parts(theorem, n, cell))


def _cells(budget: Budget) -> Iterable[dict[str, int | Fraction | str]]:
    cells = (SHOWN, CELLS[-1]) if budget.name == "smoke" else CELLS
    return (
        {name: Fraction(str(getattr(cell, of))) for name, of in FIELDS.items()}
        for cell in cells
    )


def _rule(
    theorem: Theorem, needed: Bound = needed_bound
) -> Callable[[Point, Statement], Outcome]:
    """Return the rule for a cell; ``needed`` is the bound that determines the onset with the needed noise."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        cell = Cell(
            int(point["d"]),
            *(float(point[name]) for name in ("epsilon", "delta", "L", "R")),
        )
        cell_onsets = onsets(theorem, cell)
        n = size_at(cell_onsets.corrected)
        for scale in (1, SCALE):
            corrected = scale * corrected_bound(theorem, n, cell)
            recorded = _recorded_bound(statement, theorem, n, cell, scale)
            if abs(corrected - recorded) > 1e-9 * recorded:
                return Outcome(
                    False,
                    Fraction(corrected),
                    Fraction(recorded),
                    f"the record says something else at G = {scale}",
                )
        for k, bound in zip(
            cell_onsets,
            (printed_bound, corrected_bound, needed, least_bound),
            strict=True,
        ):
            value = bound(theorem, size_at(k), cell)
            previous_value = bound(theorem, size_at(k - 1), cell)
            if not value < 1.0 <= previous_value:
                return Outcome(
                    False,
                    Fraction(value),
                    Fraction(1),
                    f"N = {size_at(k)} is not where the bound falls below G",
                )
        ordered = cell_onsets.least <= cell_onsets.needed <= cell_onsets.corrected
        return Outcome(
            ordered,
            Fraction(size_at(cell_onsets.needed)),
            Fraction(size_at(cell_onsets.corrected)),
            "onsets out of order",
        )

    return is_satisfied


def _recorded_bound(
    statement: Statement, theorem: Theorem, n: int, cell: Cell, scale: int
) -> float:
    steps = steps_of(theorem, n, cell)
    delta = Fraction(str(cell.delta))
    L, R = (scale * Fraction(str(value)) for value in (cell.smoothness, cell.gap))
    _, right = evaluate_statement(
        statement,
        as_point(
            {
                "N": n,
                "T": steps,
                "d": cell.d,
                "delta": delta,
                "G": scale,
                "L": L,
                "R": R,
            }
        ),
    )
    return float(to_ball(to_value(right)).mid())


def onset_figure(theorem: Theorem) -> dict[str, dict[str, list[float]]]:
    """Return the columns of "onset": bounds in units of G over N at d = epsilon = 1, and the table of all onsets."""
    last = round(DECADES * math.log10(10 * size_at(onsets(theorem, SHOWN).printed)))
    sizes = [round(10 ** (k / DECADES)) for k in range(2 * DECADES, last + 1)]
    short = [n for n in sizes if n <= 1.1 * MOST_EXAMPLES[theorem]]
    table = [onsets(theorem, cell) for cell in CELLS]
    columns = {
        "x:N": [float(n) for n in sizes],
        "printed": [printed_bound(theorem, n, SHOWN) for n in sizes],
        "corrected": [corrected_bound(theorem, n, SHOWN) for n in sizes],
        "needed-x": [float(n) for n in short],
        "needed": [needed_bound(theorem, n, SHOWN) for n in short],
        **{
            f"cell-{name}": [float(getattr(cell, of)) for cell in CELLS]
            for name, of in FIELDS.items()
        },
        **{
            f"cell-{name}": [
                float(size_at(getattr(cell_onsets, name))) for cell_onsets in table
            ]
            for name in Onsets._fields
        },
        "at:theorem": [6.0 if theorem == "theorem-6" else 9.0],
        "at:d": [float(SHOWN.d)],
        "at:epsilon": [SHOWN.epsilon],
        "at:delta": [SHOWN.delta],
    }
    return {f"onset-{theorem}": columns}


def onset_table(theorem: Theorem) -> str:
    """Return a text of all onsets, for the message of the check."""
    rows = []
    spread = 1.0
    for cell in CELLS:
        cell_onsets = onsets(theorem, cell)
        printed, corrected, needed, least = (f"{size_at(k):.2g}" for k in cell_onsets)
        needed = needed if needed == least else f"{least} to {needed}"
        rows.append(f"{_words(cell)}: {printed} / {corrected} / {needed}")
        spread = max(
            spread, needed_share(theorem, size_at(cell_onsets.needed), cell).ratio
        )
    precision = f"the needed noise is known to {100 * (spread - 1):.1g}% or better"
    return f"below G from N = printed / corrected / corrected with the noise needed, {'; '.join(rows)}; {precision}"


def _words(cell: Cell) -> str:
    """Return a name of a row: d, epsilon and the values that differ from those of the shown cell."""
    words = [f"d = {cell.d}", f"epsilon = {cell.epsilon:g}"]
    settings = (
        ("delta", cell.delta, SHOWN.delta),
        ("L/G", cell.smoothness, 1.0),
        ("R/G", cell.gap, 1.0),
    )
    return ", ".join(
        words
        + [f"{name} = {value:g}" for name, value, usual in settings if value != usual]
    )


def _check(theorem: Theorem, seconds: float, noise: str, **readings: str) -> OnsetCheck:
    fault: dict[str, Any] = {
        "is_satisfied": _rule(theorem, needed=corrected_bound),
        "at_declared_size": True,
    }
    return OnsetCheck(
        theorem,
        "onset",
        table=partial(onset_table, theorem),
        points=_cells,
        is_satisfied=_rule(theorem),
        readings={"ordering": "fresh", **readings},
        variants=("amended",),
        planted=[Planted("the printed noise is put in for the needed one", **fault)],
        figures=lambda _: onset_figure(theorem),
        about_kernel=True,
        region="d and epsilon at delta = 10^-6, G = L = R = 1; each of delta, L/G and R/G at d = epsilon = 1; "
        f"alpha = 1/N, the printed T; {noise}",
        leaves_out="sizes between those that are tried, which are 12% apart; all five varied at once; G is no further "
        "parameter, as the bounds scale with G, L and R together, which is checked",
        seconds=seconds,
    )


CHECKS.add(
    _check("theorem-6", 4.5, "sigma by the accountant", depth="levels"),
    _check(
        "theorem-9", 5.5, "sigma by the accountant, between a lower and an upper bound"
    ),
)
