"""``dpverify compare --experiment``: the run, its words and files, and the page, a function of its recorded data."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

from dpverify.compare.networks import words as networks
from dpverify.compare.networks.figure import svg as networks_svg
from dpverify.compare.networks.records import NetworkResult
from dpverify.compare.networks.run import run_networks
from dpverify.compare.networks.settings import EXPERIMENTS, NetworkRequest
from dpverify.compare.report import check_pages
from dpverify.compare.tables.figure import svg
from dpverify.compare.tables.page import figures, page
from dpverify.compare.tables.records import Experiments, TableResult
from dpverify.compare.tables.run import run_table
from dpverify.compare.tables.settings import TableRequest
from dpverify.compare.tables.words import summary
from dpverify.harness.run.manifest import commit, machine, versions
from dpverify.harness.run.work import Means
from dpverify.kernels.check import ArgumentError
from dpverify.ledger.records import encode
from dpverify.report.files import STDOUT, answer, check_folder, deliver
from dpverify.report.pages.folder import finish, outdated, update
from dpverify.report.pages.layout import INDEX
from dpverify.report.pages.ownership import is_generated
from dpverify.report.pages.write import regenerate
from dpverify.report.terminal import rounds_on_stderr

STEM = "experiments"
PAGE = f"{STEM}.md"
DATA = f"data/{STEM}.json"


def run_experiment(
    *,
    json: str | None = None,
    figure: Path | None = None,
    report: Path | None = None,
    means: Means | None = None,
    **arguments: Any,
) -> int:
    """Make a table again as asked, and write JSON (``-``: to stdout), a figure, and a report's page; the exit code."""

    def work() -> bool:
        kind = NetworkRequest if arguments["experiment"] in EXPERIMENTS else TableRequest
        request = kind(**{name: value for name, value in arguments.items() if _taken(kind, name, value)})
        if report is not None:
            check_folder("report", report)
            read(report)
            check_pages(report, (PAGE, DATA))
        with rounds_on_stderr() as progress:
            result, text, drawn = _made(request, progress, means or Means())
        deliver(text, encode(result), json, figure, drawn)
        if report is not None and not result.interrupted:
            complete_result = msgspec.structs.replace(result, versions=versions(), machine=machine(), commit=commit())
            changed = add(report, complete_result) + (regenerate(report) if is_generated(report / INDEX) else [])
            (sys.stderr if json == STDOUT else sys.stdout).writelines(f"wrote {report / name}\n" for name in changed)
        return result.interrupted

    return answer(work, json, figure)


def _made(
    request: TableRequest | NetworkRequest, progress: Callable[[int, int, str], None], means: Means
) -> tuple[TableResult | NetworkResult, str, Callable[[], bytes]]:
    """Make the experiment, what a person reads of it, and its figure."""
    if isinstance(request, NetworkRequest):
        network_result = run_networks(request, command(request), progress, means)
        return network_result, networks.summary(network_result), lambda: networks_svg(network_result.tables[0])
    result = run_table(request, command(request), progress, means)
    return result, summary(result), lambda: svg(result.tables[0], "needed")


def _taken(kind: type[TableRequest | NetworkRequest], name: str, value: object) -> bool:
    """Refuse what the experiment itself says, such as epsilon and lam."""
    if name not in {field.name for field in fields(kind)}:
        raise ArgumentError(name, value, "must be left out: the experiment has its own")
    return True


def command(request: TableRequest | NetworkRequest) -> str:
    """Write a request as a command line, defaults left out, files without their folders."""
    words = ["dpverify", "compare", "--experiment", request.experiment]
    for field in fields(request):
        value = getattr(request, field.name)
        if value != field.default and field.name != "experiment":
            words += [f"--{field.name.replace('_', '-')}", value.name if isinstance(value, Path) else str(value)]
    return shlex.join(words)


def read(folder: Path) -> Experiments:
    """Read what is recorded; none at first."""
    finish(folder)
    path = folder / DATA
    try:
        return msgspec.json.decode(path.read_bytes(), type=Experiments)
    except FileNotFoundError:
        return Experiments(experiments=[])
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        words = " ".join(str(error).split())
        raise ArgumentError("report", str(path), f"holds experiments that cannot be read ({words})") from error


def add(folder: Path, result: TableResult | NetworkResult) -> list[str]:
    """Record an experiment, in the place of one made by the same command; the files that changed."""
    held = read(folder)
    every: list[TableResult | NetworkResult] = [*held.experiments, *held.networks, result]
    made = {one.command: one for one in every}
    experiments = Experiments(
        experiments=[one for one in made.values() if isinstance(one, TableResult)],
        networks=[one for one in made.values() if isinstance(one, NetworkResult)],
    )
    return update(folder, {DATA: encode(experiments), **render(experiments)}, STEM)


def render(experiments: Experiments) -> dict[str, bytes]:
    """Make every file but the data; nothing where nothing is recorded. Path below the folder to content."""
    if not experiments.experiments and not experiments.networks:
        return {}
    files = {PAGE: page(experiments).encode()}
    for experiment in experiments.experiments:
        for table in experiment.tables:
            files |= {f"figures/{name}": svg(table, noise) for noise, name in figures(experiment, table)}
    for network_result in experiments.networks:
        files |= {
            f"figures/{networks.figure_name(network_result, table)}": networks_svg(table)
            for table in network_result.tables
        }
    return files


def regenerate_experiments(folder: Path) -> list[str]:
    """Write page and figures anew from the data, where there are any; the files that changed, sorted."""
    return update(folder, render(read(folder)), STEM)


def check_experiments(folder: Path) -> list[str]:
    """Compare the page and the figures with what the data give; the files that differ, sorted."""
    return sorted(outdated(folder, render(read(folder)), STEM))
