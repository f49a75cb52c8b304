"""An experiment with networks in words: for a terminal, and as a part of the page of experiments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpverify.compare.networks.figures_1_2 import BATCH, CLIP, RHO, SIZES, STAGES
from dpverify.compare.networks.records import NetworkResult, NetworkRow, NetworkTable
from dpverify.compare.networks.settings import DELTA, TRIES
from dpverify.compare.words import show_interval
from dpverify.report import markdown as md
from dpverify.report.collect import slug
from dpverify.report.numbers import show_float

NOTES = tuple(
    f"""\
the setting with the least loss on one further seed was run: that choice is not private, nor are these numbers
the noise is the least that is certified for replacing one example at delta = {show_float(DELTA)}
errors during training are measured on at most 5000 images of each part
intervals cover noise, batches and starts on this data set, and are corrected for the number of orderings of a network
the digits data set is not the paper's data
""".splitlines()
)
OWN_NOTES = {
    "wang2019:section-6-2": tuple(
        f"""\
each method tries {TRIES} random settings of its printed grid, or the whole grid if it has fewer
both methods evaluate the same number of example gradients; an iteration of DP-SRM takes twice as many as one of DP-SGD
iterations and seconds are counted until the method reaches the final test error of the worse method
digits are enlarged to the network's size by repeating their numbers
""".splitlines()
    )
}
OWN_NOTES |= dict.fromkeys(
    ("zhang2021:figure-1", "zhang2021:figure-2"),
    tuple(
        f"""\
every method has the same grid of first step sizes: {", ".join(map(show_float, SIZES))}
B = {BATCH}, gradients clipped at {show_float(CLIP)}, rho = {show_float(RHO)}, K = {STAGES}
early momentum is on in the first half of a stage
ResNet-20 has group normalization: with batch normalization one example would change all gradients without a bound
""".splitlines()
    ),
)


def summary(result: NetworkResult) -> str:
    """Tell the experiment to a person, in several lines."""
    lines = [line for table in result.tables for line in (*_table(table), "")]
    lines.append(f"{result.seeds} seeds, {result.seconds:.1f} s, calibration and tuning included")
    if result.interrupted:
        lines.append("interrupted: only methods that were finished are shown")
    return "\n".join([*lines, *(f"  {note}" for note in (*OWN_NOTES[result.experiment], *NOTES))])


def _table(table: NetworkTable) -> Iterator[str]:
    yield f"{table.network} on {table.data}: n = {table.n}, {table.tested} to test on, d = {table.d}"
    for row in table.rows:
        errors = f"train error {row.mean('train_error').mean:.4f}  test error {row.mean('test_error').mean:.4f}"
        yield f"  {row.method:<8} {asked(row)}, {row.setting}, T = {row.steps}: {errors}"
    for order in table.orderings:
        difference = show_interval(order.difference, "+")
        words = f"{order.method} minus {order.other}, {order.column.replace('_', ' ')} {difference}"
        yield f"  {order.claim}, epsilon {show_float(order.epsilon)}: {words}: {order.seen}"


def asked(row: NetworkRow) -> str:
    """Say what privacy a row has."""
    if row.epsilon is None or row.attained is None or row.certified is None:
        return "no noise"
    return f"epsilon {show_float(row.epsilon)} (true: {row.attained:.3g} to {row.certified:.3g})"


def decided(tables: Sequence[NetworkTable], claim: str) -> str:
    """Give what the user's files say of a claim; ``no data`` without them."""
    outcomes = {order.seen for table in tables if table.real for order in table.orderings if order.claim == claim}
    if not outcomes:
        return "no data"
    return "as claimed" if outcomes == {"as claimed"} else "not as claimed" if len(outcomes) == 1 else "not decided"


def figure_name(result: NetworkResult, table: NetworkTable) -> str:
    """File of a table's figure."""
    return f"{slug('experiment', result.experiment, table.network, table.data)}.svg"


def section(result: NetworkResult) -> Iterator[str]:
    """Write the part of the page that is about an experiment."""
    yield f"## {md.prose(result.experiment)}"
    claims = dict.fromkeys(order.claim for table in result.tables for order in table.orderings)
    command = f"dpverify compare --experiment {result.experiment} --data FOLDER"
    rows = [[md.code(claim), decided(result.tables, claim), md.code(command)] for claim in claims]
    yield md.table(["claim", "on the paper's data", "decided by"], rows)
    for table in result.tables:
        yield f"### {md.prose(f'{table.network} on {table.data}')}"
        yield f"n = {table.n} images to train on, {table.tested} to test on, d = {table.d}. {result.seeds} seeds."
        yield f"![Test error over iterations, {table.network}](figures/{figure_name(result, table)})"
        errors = ("train_error", "test_error")
        head = ["method", "privacy", "setting", "T", *(name.replace("_", " ") for name in errors)]
        yield md.table(
            head,
            [
                [row.method, asked(row), row.setting, str(row.steps), *(show_interval(row.mean(e)) for e in errors)]
                for row in table.rows
            ],
        )
        head = ["claim", "epsilon", "what", "of", "minus", "mean", "seen"]
        yield md.table(
            head,
            [
                [
                    md.code(order.claim),
                    show_float(order.epsilon),
                    order.column.replace("_", " "),
                    order.method,
                    order.other,
                    show_interval(order.difference, "+"),
                    order.seen,
                ]
                for order in table.orderings
            ],
        )
    yield md.bullets([*OWN_NOTES[result.experiment], *NOTES])
    yield f"Made in {result.seconds:.0f} s with:\n\n```sh\n{result.command}\n```"
    made = [("commit", result.commit), *sorted(result.versions.items()), *sorted(result.machine.items())]
    yield md.bullets([", ".join(f"{key} {md.code(value)}" for key, value in made if value)])
