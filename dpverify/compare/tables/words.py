"""An experiment in words: its tables, and what is seen of the orderings that the paper claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from dpverify.compare.tables.records import DataTable, MethodRow, TableResult
from dpverify.compare.tables.settings import DELTA
from dpverify.report.numbers import show_float

HEADS = {
    "test_error": "test error",
    "test_loss": "test loss",
    "loss": "objective",
    "gradient_norm": "gradient norm",
    "random_loss": "objective, random iterate",
    "random_gradient_norm": "gradient norm, random iterate",
    "seconds": "CPU time (s)",
}
SHOWN = ("test_error", "test_loss", "loss", "gradient_norm", "random_gradient_norm", "seconds")

NOISE_WORDS = {"printed": "noise as printed", "needed": "noise as needed", "none": "no noise"}

NOTES = tuple(
    """\
every method tries the same multiples of its theoretical step length, and b = 50, 100, 200 if it has batches
the setting with the least objective on one further seed was run: that choice is not private, nor are these numbers
rows are not scaled, and bundled data are standardised, which no guarantee covers; L is that of the longest row
ddp-srm draws a tenth of each batch from each tenth of the data; nothing is computed by several parties here
passes are as printed; a step of dp-agd counts 22: its gradient, and the losses at the lengths it chooses from
not printed, and chosen here: the order in DP-SRM's noise (the best), b_0 = b, C_1 = 1 for baselines, STORM's 20 passes
intervals cover noise and batches on this data set only; those of orderings are corrected for their number
""".splitlines()
)


def summary(result: TableResult) -> str:
    """Tell the experiment to a person, in several lines."""
    return "\n".join(line for table in result.tables for line in (*_table(table), "")) + "\n".join(_ending(result))


def _table(table: DataTable) -> Iterator[str]:
    yield f"{table.name}: n = {table.n}, {table.tested} to test on, d = {table.d}"
    yield f"a constant answer has test error {table.majority:.4f} and test loss {table.constant:.4f}"
    for (noise, epsilon), rows in groups(table):
        yield f"  {asked(noise, epsilon)}"
        for row in rows:
            cells = "  ".join(f"{HEADS[column]} {row.mean(column).mean:.4f}" for column in SHOWN)
            yield f"    {row.method:<8} {told(row)}: {cells}"
    for claim, noise, words in seen(table):
        yield f"  {claim}, {NOISE_WORDS[noise]}: {words}"


def groups(table: DataTable) -> list[tuple[tuple[str, float], list[MethodRow]]]:
    """Rows with the same noise and epsilon."""
    keys = dict.fromkeys((row.noise, row.epsilon) for row in table.rows)
    return [(key, [row for row in table.rows if (row.noise, row.epsilon) == key]) for key in keys]


def asked(noise: str, epsilon: float) -> str:
    """Say what a group of rows has in common."""
    if noise == "none":
        return "non-private baseline"
    return f"epsilon = {show_float(epsilon)}, delta = {show_float(DELTA)}, {NOISE_WORDS[noise]}"


def told(row: MethodRow) -> str:
    """Say which setting a row is of, and what its noise buys."""
    words = [f"{row.passes} passes, T = {row.steps}, b = {row.batch}"]
    words.append(f"{show_float(row.scale)} parts" if row.method == "dp-agd" else f"{show_float(row.scale, 3)} times")
    if row.certified is not None and row.attained is not None:
        low = "at most " if row.attained == 0.0 else f"{row.attained:.3g} to " if row.attained < row.certified else ""
        words.append(f"true epsilon {low}{row.certified:.3g}")
    if row.conditions is not None:
        words.append(f"conditions of Lemma 3.7 {'hold' if row.conditions else 'fail'}")
    return ", ".join(words)


def seen(table: DataTable) -> list[tuple[str, str, str]]:
    """What is seen of each claim with each noise: how many of its orderings are as claimed."""
    keys = dict.fromkeys((order.claim, order.column, order.noise) for order in table.orderings)
    summaries = []
    for claim, column, noise in keys:
        mine = [
            order for order in table.orderings if (order.claim, order.column, order.noise) == (claim, column, noise)
        ]
        count = Counter(order.seen for order in mine)
        words = ", ".join(f"{how} in {number} of {len(mine)}" for how, number in sorted(count.items()))
        summaries.append((f"{claim} ({column.replace('_', ' ')})", noise, words))
    return summaries


def verdict(tables: Sequence[DataTable], claim: str, noise: str) -> str:
    """Give what the user's files say of a claim; ``no data`` without them."""
    mine = [
        order.seen for t in tables if t.real for order in t.orderings if (order.claim, order.noise) == (claim, noise)
    ]
    if not mine:
        return "no data"
    if set(mine) == {"as claimed"}:
        return "as claimed"
    return "not as claimed" if "the other way round" in mine else "not decided"


def _ending(result: TableResult) -> Iterator[str]:
    yield f"{result.seeds} seeds, {result.seconds:.1f} s, calibration, tuning and first compilation included"
    if result.interrupted:
        yield "interrupted: only data sets that were finished are shown"
    yield from (f"  {note}" for note in NOTES)
