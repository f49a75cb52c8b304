"""The page of experiments: what is seen of each ordering, then the paper's tables beside ours, with their figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dpverify.compare.networks.words import section
from dpverify.compare.tables.orderings import CLAIMS
from dpverify.compare.tables.records import DataTable, Experiments, TableResult
from dpverify.compare.tables.settings import NOISES
from dpverify.compare.tables.words import HEADS, NOISE_WORDS, NOTES, SHOWN, asked, groups, seen, told, verdict
from dpverify.compare.words import show_interval
from dpverify.papers.wang2019.experiments.tables import TABLES, PaperTable
from dpverify.report import markdown as md
from dpverify.report.collect import slug
from dpverify.report.numbers import show_float
from dpverify.report.words import GENERATED

WHAT = (
    "Section 6.1 of [wang2019](wang2019.md) compares DP-SRM with three private methods, on logistic regression with a"
    " nonconvex regularizer. This page repeats its Tables 2 and 3: with its settings, every method tuned over a "
    "stated grid, once with the noise as printed and once with the least that is certified for the same epsilon. Only "
    "the paper's own data sets can decide what it claims about them. If they were not available, the verdict is *no "
    "data*, and the page shows the command that would decide."
)

PRINTED = (
    "The test error of the paper is not the fraction of misclassified examples: 24% of a9a and 10% of ijcnn1 are in "
    "the rarer class, so a constant answer would have a smaller error than every method of both tables, the "
    "non-private one included. The numbers look like losses; a constant answer has the losses 0.55 and 0.32. Both are "
    "measured here. In Table 2 the gradient norm of DP-AGD (0.0431 and 0.0405) is below that of DP-SRM (0.0534 and "
    "0.0504), although the text says that DP-SRM is better by a large margin."
)


def page(experiments: Experiments) -> str:
    """Write ``experiments.md``, the same text for the same numbers."""
    blocks = [block for result in experiments.experiments for block in _section(result)]
    networks = [block for network_result in experiments.networks for block in section(network_result)]
    head = [GENERATED, "# Experiments of papers, repeated", WHAT, PRINTED]
    return md.document(
        [*head, _verdicts(experiments.experiments), *blocks, "What to know:", md.bullets(NOTES), *networks]
    )


def command_for(name: str) -> str:
    """Write the command that decides on the paper's data."""
    data = TABLES[name].data
    return f"dpverify compare --experiment wang2019:{name} --data {data} --test-data {data}.t"


def _verdicts(results: Sequence[TableResult]) -> str:
    """One row for each claim: what the paper's own data say, and the command."""
    rows = []
    for name in TABLES:
        tables = [t for result in results if result.experiment.endswith(name) for t in result.tables]
        for claim in CLAIMS:
            cells = [verdict(tables, claim, noise) for noise in NOISES]
            rows.append([md.code(claim), TABLES[name].data, *cells, md.code(command_for(name))])
    return md.table(["claim", "data", *(NOISE_WORDS[noise] for noise in NOISES), "decided by"], rows)


def _section(result: TableResult) -> Iterator[str]:
    paper = TABLES[result.experiment.partition(":")[2]]
    yield f"## {md.prose(result.experiment)}"
    yield _as_printed(paper)
    for table in result.tables:
        yield f"### {md.prose(table.name)}"
        yield (
            f"n = {table.n} examples to train on, {table.tested} to test on, d = {table.d}. A constant answer has test "
            f"error {table.majority:.4f} and test loss {table.constant:.4f}. {result.seeds} seeds."
        )
        for noise, name in figures(result, table):
            yield f"![Objective and gradient norm over passes, {NOISE_WORDS[noise]}](figures/{name})"
        yield _rows(table)
        yield md.table(
            ["DP-SRM is better than DP-GD, DP-AGD and RRPSGD", "noise", "seen on these data"],
            [[md.prose(claim), noise, words] for claim, noise, words in seen(table)],
        )
        yield md.folded("Every ordering with its interval", _orderings(table))
    yield f"Made in {result.seconds:.0f} s with:\n\n```sh\n{result.command}\n```"
    made = [("commit", result.commit), *sorted(result.versions.items()), *sorted(result.machine.items())]
    yield md.bullets([", ".join(f"{key} {md.code(value)}" for key, value in made if value)])


def figures(result: TableResult, table: DataTable) -> list[tuple[str, str]]:
    """Noise and file of each figure."""
    return [(noise, f"{slug('experiment', result.experiment, table.name, noise)}.svg") for noise in NOISES]


def _as_printed(paper: PaperTable) -> str:
    rows = [
        [
            show_float(epsilon),
            method,
            *(f"{mean:.4f} ({spread:.4f})" for mean, spread in (row.test_error, row.gradient_norm)),
            str(row.passes),
            show_float(row.seconds),
        ]
        for (epsilon, method), row in paper.rows.items()
    ]
    head = ["epsilon", "method", "test error", "gradient norm", "passes", "CPU time (s)"]
    mean, spread = paper.baseline
    return f"As printed, on {paper.data}; without privacy {mean} ({spread}):\n\n{md.table(head, rows)}"


def _rows(table: DataTable) -> str:
    rows = [
        [asked(*key), row.method, md.prose(told(row)), *(show_interval(row.mean(column)) for column in SHOWN)]
        for key, rows in groups(table)
        for row in rows
    ]
    return md.table(["asked", "method", "setting", *(HEADS[column] for column in SHOWN)], rows)


def _orderings(table: DataTable) -> str:
    rows = [
        [
            md.code(order.claim),
            order.column.replace("_", " "),
            show_float(order.epsilon),
            order.noise,
            order.other,
            show_interval(order.difference, "+"),
            order.seen,
        ]
        for order in table.orderings
    ]
    return md.table(["claim", "measure", "epsilon", "noise", "dp-srm minus", "mean", "seen"], rows)
