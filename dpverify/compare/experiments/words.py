"""Format an experiment as text: its tables, and the results for the orderings that the paper claims."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from dpverify.algorithms.baselines import DP_AGD
from dpverify.compare.experiments import networks, stages
from dpverify.compare.experiments.experiment import DELTA
from dpverify.compare.experiments.records import (
    ComparedData,
    DataTable,
    MethodRow,
    NetworkResult,
    NetworkRow,
    NetworkTable,
    TableResult,
)
from dpverify.report.numbers import show_float

HEADS: Final = {
    "test_error": "test error",
    "test_loss": "test loss",
    "loss": "objective",
    "gradient_norm": "gradient norm",
    "random_loss": "objective, random iterate",
    "random_gradient_norm": "gradient norm, random iterate",
    "seconds": "CPU time (s)",
}
SUMMARY_COLUMNS: Final = (
    "test_error",
    "test_loss",
    "loss",
    "gradient_norm",
    "random_gradient_norm",
    "seconds",
)
NOISE_WORDS: Final = {
    "printed": "noise as printed",
    "needed": "noise as needed",
    "none": "no noise",
}

NOTES: Final = tuple(
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
NETWORK_NOTES: Final = tuple(
    f"""\
the setting with the least loss on one further seed was run: that choice is not private, nor are these numbers
the noise is the least that is certified for replacing one example at delta = {show_float(DELTA)}
errors during training are measured on at most 5000 images of each part
intervals cover noise, batches and starts on this data set, and are corrected for the number of orderings of a network
the digits data set is not the paper's data
""".splitlines()
)
SECTION_NOTES: Final = tuple(
    f"""\
each method tries {networks.MAX_TRIALS} random settings of its printed grid, or the whole grid if it has fewer
--settings N tries N of the whole grid, spread by their step size, which is the same for both methods
both methods evaluate the same number of example gradients; an iteration of DP-SRM takes twice as many as one of DP-SGD
iterations and seconds are counted until the method reaches the final test error of the worse method
digits are enlarged to the network's size by repeating their numbers
""".splitlines()
)
FIGURE_NOTES: Final = tuple(
    f"""\
every method has the same grid of first step sizes: {", ".join(map(show_float, stages.SIZES))}
--settings N tries those in the middle of N equal parts of the grid
B = {stages.BATCH}, gradients clipped at {show_float(stages.CLIP)}, rho = {show_float(stages.RHO)}, K = {stages.STAGES}
early momentum is on in the first half of a stage
ResNet-20 has group normalization: with batch normalization one example would change all gradients without a bound
""".splitlines()
)


def notes(result: NetworkResult) -> tuple[str, ...]:
    """Return notes for the reader of an experiment with networks."""
    return (
        *(FIGURE_NOTES if result.experiment in stages.FIGURES else SECTION_NOTES),
        *NETWORK_NOTES,
    )


def summary(result: TableResult | NetworkResult) -> str:
    """Return a summary of the experiment as several lines of text."""
    if isinstance(result, TableResult):
        tables = [_table(table) for table in result.tables]
        included = "calibration, tuning and first compilation included"
        complete_parts = "data sets that were"
        remarks = NOTES
    else:
        tables = [_network(table) for table in result.tables]
        included = "calibration and tuning included"
        complete_parts = "methods that were"
        remarks = notes(result)
    lines = [line for table in tables for line in (*table, "")]
    lines.append(f"{result.seeds} seeds, {result.seconds:.1f} s, {included}")
    if result.interrupted:
        lines.append(f"interrupted: only {complete_parts} finished are shown")
    return "\n".join([*lines, *(f"  {note}" for note in remarks)])


def _table(table: DataTable) -> Iterator[str]:
    yield f"{table.name}: n = {table.n}, {table.tested} to test on, d = {table.d}"
    yield f"a constant answer has test error {table.majority:.4f} and test loss {table.constant:.4f}"
    for (noise, epsilon), rows in groups(table):
        yield f"  {requested(noise, epsilon)}"
        for row in rows:
            cells = "  ".join(
                f"{HEADS[column]} {row.mean(column).mean:.4f}"
                for column in SUMMARY_COLUMNS
            )
            yield f"    {row.method:<8} {setting(row)}: {cells}"
    for claim, noise, words in seen(table):
        yield f"  {claim}, {NOISE_WORDS[noise]}: {words}"


def _network(table: NetworkTable) -> Iterator[str]:
    yield f"{table.network} on {table.data}: n = {table.n}, {table.tested} to test on, d = {table.d}"
    for row in table.rows:
        errors = f"train error {row.mean('train_error').mean:.4f}  test error {row.mean('test_error').mean:.4f}"
        yield f"  {row.method:<8} {privacy(row)}, {row.setting}, T = {row.steps}: {errors}"
    for order in table.orderings:
        words = f"{order.method} minus {order.other}, {order.column.replace('_', ' ')} {order.difference.shown('+')}"
        yield f"  {order.claim}, epsilon {show_float(order.epsilon)}: {words}: {order.seen}"


def groups(table: DataTable) -> list[tuple[tuple[str, float], list[MethodRow]]]:
    """Return the rows grouped by noise and epsilon."""
    keys = dict.fromkeys((row.noise, row.epsilon) for row in table.rows)
    return [
        (key, [row for row in table.rows if (row.noise, row.epsilon) == key])
        for key in keys
    ]


def requested(noise: str, epsilon: float) -> str:
    """Return a text with the noise and epsilon of a group of rows."""
    if noise == "none":
        return "non-private baseline"
    return f"epsilon = {show_float(epsilon)}, delta = {show_float(DELTA)}, {NOISE_WORDS[noise]}"


def setting(row: MethodRow) -> str:
    """Return a text with the setting of a row and the epsilon of its noise."""
    words = [f"{row.passes} passes, T = {row.steps}, b = {row.batch}"]
    scale = (
        f"{show_float(row.scale)} parts"
        if row.method == DP_AGD.name
        else f"{show_float(row.scale, 3)} times"
    )
    words.append(scale)
    if row.certified is not None and row.attained is not None:
        low = (
            "at most "
            if row.attained == 0.0
            else f"{row.attained:.3g} to "
            if row.attained < row.certified
            else ""
        )
        words.append(f"true epsilon {low}{row.certified:.3g}")
    if row.conditions is not None:
        words.append(f"conditions of Lemma 3.7 {'hold' if row.conditions else 'fail'}")
    return ", ".join(words)


def privacy(row: NetworkRow) -> str:
    """Return a text with the privacy of a row."""
    if row.epsilon is None or row.attained is None or row.certified is None:
        return "no noise"
    return f"epsilon {show_float(row.epsilon)} (true: {row.attained:.3g} to {row.certified:.3g})"


def seen(table: DataTable) -> list[tuple[str, str, str]]:
    """Return, for each claim and noise, a text that counts the outcomes of its orderings."""
    summaries = []
    for key in dict.fromkeys(
        (order.claim, order.column, order.noise) for order in table.orderings
    ):
        claim, column, noise = key
        orders = [
            order
            for order in table.orderings
            if (order.claim, order.column, order.noise) == key
        ]
        count = Counter(order.seen for order in orders)
        words = ", ".join(
            f"{how} in {number} of {len(orders)}"
            for how, number in sorted(count.items())
        )
        summaries.append((f"{claim} ({column.replace('_', ' ')})", noise, words))
    return summaries


def verdict(tables: Sequence[ComparedData], claim: str, noise: str = "") -> str:
    """Return the result for a claim on the paper's data, or ``no data`` if these were not given."""
    orders = [order for table in tables if table.real for order in table.orderings]
    outcomes = {
        order.seen for order in orders if (order.claim, order.noise) == (claim, noise)
    }
    if not outcomes:
        return "no data"
    if outcomes == {"as claimed"}:
        return "as claimed"
    return "not as claimed" if "the other way round" in outcomes else "not decided"
