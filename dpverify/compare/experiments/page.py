"""Generate the page of experiments: the result for each claim, the paper's tables, our tables and figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from dpverify.compare.experiments.records import (
    ComparedData,
    DataTable,
    Experiments,
    NetworkResult,
    NetworkTable,
    TableResult,
)
from dpverify.compare.experiments.tables import CLAIMS, NOISES, PAPER, table_of
from dpverify.compare.experiments.words import (
    HEADS,
    NOISE_WORDS,
    NOTES,
    SUMMARY_COLUMNS,
    groups,
    notes,
    privacy,
    requested,
    seen,
    setting,
    verdict,
)
from dpverify.compare.figure import network_svg, table_svg
from dpverify.compare.page import made_with
from dpverify.papers.wang2019.experiments.printed_results import TABLES, PaperTable
from dpverify.report import markdown as md
from dpverify.report.collect import slug
from dpverify.report.folder import RecordedPage
from dpverify.report.numbers import show_float
from dpverify.report.words import GENERATED

INTRODUCTION: Final = (
    "Section 6.1 of [wang2019](wang2019.md) compares DP-SRM with three private methods, on logistic regression with a"
    " nonconvex regularizer. This page repeats its Tables 2 and 3: with its settings, every method tuned over a "
    "stated grid, once with the noise as printed and once with the least that is certified for the same epsilon. Only "
    "the paper's own data sets can show what it claims about them. What is not printed was chosen here. Without data "
    "the result is *no data*."
)

PRINTED: Final = (
    "The test error of the paper is not the fraction of misclassified examples: 24% of a9a and 10% of ijcnn1 are in "
    "the rarer class, so a constant answer would have a smaller error than every method of both tables, the "
    "non-private one included. The numbers look like losses; a constant answer has the losses 0.55 and 0.32. Both are "
    "measured here, and on the paper's data the test losses without privacy are 0.325 and 0.218, where 0.335 and 0.210 "
    "are printed. In Table 2 the gradient norm of DP-AGD (0.0431 and 0.0405) is below that of DP-SRM (0.0534 and "
    "0.0504), although the text says that DP-SRM is better by a large margin."
)


def page(experiments: Experiments) -> str:
    """Return the text of ``experiments.md``; equal results give equal text."""
    blocks = [block for result in experiments.experiments for block in _section(result)]
    networks = [
        block for result in experiments.networks for block in _network_section(result)
    ]
    head = [GENERATED, "# Experiments of papers, repeated", INTRODUCTION, PRINTED]
    return md.document(
        [
            *head,
            _verdicts(experiments.experiments),
            *blocks,
            "What to know:",
            md.bullets(NOTES),
            *networks,
        ]
    )


def _verdicts(results: Sequence[TableResult]) -> str:
    """Return a table with one row per claim: the result on the paper's data, and the command that computes it."""
    rows = []
    for name, paper in TABLES.items():
        tables = [
            table
            for result in results
            if result.experiment.endswith(name)
            for table in result.tables
        ]
        files = f"--data {paper.data} --test-data {paper.data}.t"
        command = md.code(f"dpverify compare --experiment {PAPER}{name} {files}")
        for claim in CLAIMS:
            cells = [verdict(tables, claim, noise) for noise in NOISES]
            rows.append([md.code(claim), paper.data, *cells, command])
    return md.table(
        ["claim", "data", *(NOISE_WORDS[noise] for noise in NOISES), "decided by"], rows
    )


def _section(result: TableResult) -> Iterator[str]:
    yield f"## {md.prose(result.experiment)}"
    yield _as_printed(table_of(result.experiment))
    for table in result.tables:
        yield f"### {md.prose(table.name)}"
        yield (
            f"n = {table.n} examples to train on, {table.tested} to test on, d = {table.d}. A constant answer has test "
            f"error {table.majority:.4f} and test loss {table.constant:.4f}. {result.seeds} seeds."
        )
        for noise in NOISES:
            name = table_figure(result, table, noise)
            yield f"![Objective and gradient norm over passes, {NOISE_WORDS[noise]}](figures/{name})"
        yield _rows(table)
        yield md.table(
            [
                "DP-SRM is better than DP-GD, DP-AGD and RRPSGD",
                "noise",
                "seen on these data",
            ],
            [[md.prose(claim), noise, words] for claim, noise, words in seen(table)],
        )
        yield md.details_block("Every ordering with its interval", _orderings(table))
    yield made_with(f"Made in {result.seconds:.0f} s with", result)


def _orderings(table: ComparedData) -> str:
    """Return a table of all orderings; networks have the needed noise."""
    rows = [
        [
            md.code(order.claim),
            order.column.replace("_", " "),
            show_float(order.epsilon),
            order.noise or "needed",
            order.method,
            order.other,
            order.difference.shown("+"),
            order.seen,
        ]
        for order in table.orderings
    ]
    return md.table(
        ["claim", "measure", "epsilon", "noise", "method", "minus", "mean", "seen"],
        rows,
    )


def _as_printed(paper: PaperTable) -> str:
    rows = [
        [
            show_float(epsilon),
            method,
            *(
                f"{mean:.4f} ({spread:.4f})"
                for mean, spread in (row.test_error, row.gradient_norm)
            ),
            str(row.passes),
            show_float(row.seconds),
        ]
        for (epsilon, method), row in paper.rows.items()
    ]
    head = [
        "epsilon",
        "method",
        "test error",
        "gradient norm",
        "passes",
        "CPU time (s)",
    ]
    mean, spread = paper.baseline
    return f"As printed, on {paper.data}; without privacy {mean} ({spread}):\n\n{md.table(head, rows)}"


def _rows(table: DataTable) -> str:
    rows = [
        [
            requested(*key),
            row.method,
            md.prose(setting(row)),
            *(row.mean(column).shown() for column in SUMMARY_COLUMNS),
        ]
        for key, rows in groups(table)
        for row in rows
    ]
    return md.table(
        ["asked", "method", "setting", *(HEADS[column] for column in SUMMARY_COLUMNS)],
        rows,
    )


def _network_section(result: NetworkResult) -> Iterator[str]:
    yield f"## {md.prose(result.experiment)}"
    claims = dict.fromkeys(
        order.claim for table in result.tables for order in table.orderings
    )
    command = md.code(
        f"dpverify compare --experiment {result.experiment} --data FOLDER"
    )
    decided = [
        [md.code(claim), verdict(result.tables, claim), command] for claim in claims
    ]
    yield md.table(["claim", "on the paper's data", "decided by"], decided)
    for table in result.tables:
        yield f"### {md.prose(f'{table.network} on {table.data}')}"
        yield f"n = {table.n} images to train on, {table.tested} to test on, d = {table.d}. {result.seeds} seeds."
        yield f"![Test error over iterations, {table.network}](figures/{network_figure(result, table)})"
        errors = ("train_error", "test_error")
        head = [
            "method",
            "privacy",
            "setting",
            "T",
            *(name.replace("_", " ") for name in errors),
        ]
        rows = [
            [
                row.method,
                privacy(row),
                row.setting,
                str(row.steps),
                *(row.mean(error).shown() for error in errors),
            ]
            for row in table.rows
        ]
        yield md.table(head, rows)
        yield _orderings(table)
    yield md.bullets(notes(result))
    yield made_with(f"Made in {result.seconds:.0f} s with", result)


def table_figure(result: TableResult, table: DataTable, noise: str) -> str:
    """Return the file name of a table's figure."""
    return f"{slug('experiment', result.experiment, table.name, noise)}.svg"


def network_figure(result: NetworkResult, table: NetworkTable) -> str:
    """Return the file name of a network's figure."""
    return f"{slug('experiment', result.experiment, table.network, table.data)}.svg"


def figures(experiments: Experiments) -> dict[str, bytes]:
    """Return the figures of all tables as a dict from file name to content."""
    svgs: dict[str, bytes] = {}
    for result in experiments.experiments:
        for table in result.tables:
            svgs |= {
                table_figure(result, table, noise): table_svg(table, noise)
                for noise in NOISES
            }
    for network_result in experiments.networks:
        svgs |= {
            network_figure(network_result, table): network_svg(table)
            for table in network_result.tables
        }
    return svgs


EXPERIMENTS_PAGE: Final = RecordedPage("experiments", Experiments, page, figures)


def with_result(
    stored: Experiments | None, result: TableResult | NetworkResult
) -> Experiments:
    """Add an experiment to those of a page; it replaces one with the same command."""
    every = [] if stored is None else [*stored.experiments, *stored.networks]
    results = {run.command: run for run in [*every, result]}
    return Experiments(
        experiments=[run for run in results.values() if isinstance(run, TableResult)],
        networks=[run for run in results.values() if isinstance(run, NetworkResult)],
    )
