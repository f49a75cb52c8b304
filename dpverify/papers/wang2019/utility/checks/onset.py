"""Check from which n the corrected Theorems 4.4 and 5.2 beat the trivial bound G: a table, a figure, their records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

from dpverify.harness import Budget, Outcome, PaperChecks, Planted, Point
from dpverify.harness.checks import as_point
from dpverify.harness.search.candidates import size_at
from dpverify.harness.search.derived_checks import OnsetCheck
from dpverify.ledger.statements import Statement
from dpverify.papers.wang2019.accounting.onset import (
    OnsetPair,
    OnsetSetting,
    best_beta,
    bound,
    needed_cost,
    onsets,
    printed_cost,
)
from dpverify.symbolic.exact.evaluate import evaluate_statement, requires_hold

CHECKS = PaperChecks("wang2019", __name__)

SHOWN = OnsetSetting(1, 1.0)  # the cell whose bounds the figure shows over n
CELLS = (
    *(OnsetSetting(d, epsilon) for d in (1, 100) for epsilon in (0.1, 1.0, 10.0)),
    *(SHOWN._replace(delta=delta) for delta in (1e-3, 1e-10)),
    *(SHOWN._replace(drop=drop) for drop in (0.1, 10.0)),
)
"""d and epsilon vary together; delta and L D_F/G^2 vary separately."""

PARTIES = 10
SCALE = 3  # factor of G in a second comparison; the factor of L D_F is its square
DECADES = 4  # points of a line of the figure, per factor of ten

Cost = Callable[[OnsetSetting], float]


def _cells(budget: Budget) -> Iterable[dict[str, int | Fraction | str]]:
    cells = (SHOWN, CELLS[-1]) if budget.name == "smoke" else CELLS
    return (
        {name: Fraction(str(value)) for name, value in cell._asdict().items()}
        for cell in cells
    )


def _allows_accuracy(
    statement: Statement, n: int, cell: OnsetSetting, scale: int
) -> bool:
    """Test whether the record allows an accuracy whose bound is below G at n, by a factor of 1 - 10^-9."""
    G = Fraction(scale)
    drop = Fraction(str(cell.drop)) * scale**2
    zeta = Fraction(3, 17) * G * (1 - Fraction(1, 10**9))
    T = math.ceil(drop / zeta**2)
    b = math.ceil(G / zeta)
    b_0 = math.ceil(G**3 / (zeta * drop))
    values: dict[str, Any] = {
        "d": cell.d,
        "epsilon": Fraction(str(cell.epsilon)),
        "delta": Fraction(str(cell.delta)),
        "G": G,
        "L": 1,
        "T": T,
        "beta": Fraction(best_beta(cell)).limit_denominator(10**9),
        "gap": drop,
        "zeta": zeta,
        "b": b,
        "b_0": b_0,
    }
    free = {name: values[name] for name in values if name in statement.free}
    if "n_party" in statement.free:
        of_parties = {"m": PARTIES, "n_party": max(1, n // PARTIES)}
        point = as_point({**free, **of_parties})
    else:
        point = as_point({**free, "n": n})
    _, right = evaluate_statement(statement, point)
    return requires_hold(statement, point) is True and Fraction(str(right)) < G


def _rule(*, needed: Cost = needed_cost) -> Callable[[Point, Statement], Outcome]:
    """Return the rule for a cell; ``needed`` is the cost that determines the onset with the needed noise."""

    def is_satisfied(point: Point, statement: Statement) -> Outcome:
        cell = OnsetSetting(
            int(point["d"]),
            *(float(point[name]) for name in ("epsilon", "delta", "drop")),
        )
        pair = onsets(cell)
        at = size_at(pair.corrected)
        for scale in (1, SCALE):
            if not _allows_accuracy(statement, at, cell, scale) or _allows_accuracy(
                statement, size_at(pair.corrected - 1), cell, scale
            ):
                return Outcome(
                    False,
                    Fraction(at),
                    note=f"the record begins elsewhere, G = {scale}",
                )
        for k, cost in zip(pair, (printed_cost, needed), strict=True):
            if (
                not bound(cost, size_at(k), cell)
                < 1.0
                <= bound(cost, size_at(k - 1), cell)
            ):
                return Outcome(
                    False,
                    Fraction(size_at(k)),
                    note="not where the bound falls below G",
                )
        ordered = pair.needed <= pair.corrected
        return Outcome(
            ordered, Fraction(size_at(pair.needed)), Fraction(at), "onsets out of order"
        )

    return is_satisfied


def onset_figure() -> dict[str, dict[str, list[float]]]:
    """Return the columns of "onset-of-drop": bounds over n at d = epsilon = 1, and the table of all onsets."""
    first = (onsets(SHOWN).needed - 10) / 20
    last = (onsets(SHOWN).corrected + 20) / 20
    sizes = [
        10 ** (k / DECADES)
        for k in range(math.ceil(DECADES * first), math.ceil(DECADES * last) + 1)
    ]
    table = [onsets(cell) for cell in CELLS]
    columns = {
        "x:n": sizes,
        "corrected": [bound(printed_cost, n, SHOWN) for n in sizes],
        "needed-x": sizes,
        "needed": [bound(needed_cost, n, SHOWN) for n in sizes],
        **{
            f"cell-{name}": [float(getattr(cell, name)) for cell in CELLS]
            for name in OnsetSetting._fields
        },
        **{
            f"cell-{name}": [float(size_at(getattr(pair, name))) for pair in table]
            for name in OnsetPair._fields
        },
        "cell-least": [float(size_at(pair.needed)) for pair in table],
        **{
            f"at:{name}": [float(getattr(SHOWN, name))]
            for name in ("d", "epsilon", "delta")
        },
    }
    return {"onset-of-drop": columns}


def onset_table() -> str:
    """Return a text of all onsets, for the message of the check."""
    rows = []
    for cell in CELLS:
        printed, needed = (f"{size_at(k):.2g}" for k in onsets(cell))
        parameters = (
            ("delta", cell.delta, SHOWN.delta),
            ("L D_F/G^2", cell.drop, SHOWN.drop),
        )
        words = [f"d = {cell.d}, epsilon = {cell.epsilon:g}"]
        words += [
            f"{name} = {value:g}" for name, value, usual in parameters if value != usual
        ]
        rows.append(f"{', '.join(words)}: {printed} / {needed}")
    return f"below G from n = printed noise / noise needed with full batches, {'; '.join(rows)}"


CHECKS.add(
    *(
        OnsetCheck(
            claim,
            "onset",
            table=onset_table,
            points=_cells,
            is_satisfied=_rule(),
            variants=("amended",),
            planted=[
                Planted(
                    "the printed noise is put in for the needed one",
                    is_satisfied=_rule(needed=printed_cost),
                    at_declared_size=True,
                )
            ],
            figures=(lambda _: onset_figure()) if claim == "theorem-4-4" else None,
            about_kernel=True,
            region="d and epsilon at delta = 10^-6, L D_F = G^2; each of delta and L D_F/G^2 at d = epsilon = 1; the "
            "best beta" + words,
            leaves_out="sizes between those that are tried, which are 12% apart; all four varied at once",
            seconds=1.0,
        )
        for claim, words in (
            ("theorem-4-4", ""),
            ("theorem-5-2", f"; {PARTIES} parties, n examples in all"),
        )
    )
)
