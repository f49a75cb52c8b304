"""Write the folder ``reports/``: pages and figures from data, and the check that they agree with the data.

Pages and figures are pure functions of ``data/<paper>.json`` and ``chapters.toml``. Chapters may also show other
figures in the folder. Files that dpverify did not write are not changed. The first page, ``README.md``, summarizes the
verdicts of all papers.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from functools import cache
from pathlib import Path

import msgspec

from dpverify.ledger.load import load_specs
from dpverify.ledger.records import encode
from dpverify.ledger.results import Run, decode
from dpverify.ledger.specs import PaperSpec
from dpverify.report import markdown as md
from dpverify.report.collect import (
    ReportError,
    by_paper,
    claim_id,
    ordered_runs,
    paper_runs,
    pictures,
    run_false_alarm,
)
from dpverify.report.drawings import overview
from dpverify.report.folder import FIGURES, finish, outdated, update
from dpverify.report.pages.appendices import QUESTIONS_PAGE, has_questions
from dpverify.report.pages.figures import svg
from dpverify.report.pages.layout import INDEX, OTHER_PAGES, lay_out, other_links, title
from dpverify.report.pages.paper import paper_pages
from dpverify.report.pages.summary import summary
from dpverify.report.pages.templates import render
from dpverify.report.style import to_svg
from dpverify.report.words import (
    OUTCOMES,
    Outcome,
    false_alarm_line,
    outcome_label,
    outcomes,
)

OVERVIEW = "overview.svg"  # the figure of all verdicts, in ``figures/``


def index_page(runs: Mapping[str, Run], other_pages: Sequence[str] = ()) -> str:
    """Return the first page."""
    return render(
        "index",
        caption=overview.caption(totals(runs)),
        overview=OVERVIEW,
        totals=_totals(runs),
        chance=false_alarm_line(
            min(1.0, sum(run_false_alarm(run) for run in runs.values())), "these runs"
        ),
        others=other_links(other_pages),
        tools=[
            md.link(title(key, run), f"{key}.md")
            for key, run in runs.items()
            if key not in paper_runs(runs)
        ],
        papers=[_paper(key, run) for key, run in runs.items()],
    )


def _paper(key: str, run: Run) -> dict[str, object]:
    layout = lay_out(key, run)
    places = layout.places(run).on(INDEX)
    has_page = layout.parts and has_questions(
        key, {claim_id(result) for result in run.results}
    )
    return {
        "key": key,
        "title": title(key, run),
        "front": layout.front,
        "claims": layout.claims,
        "questions": f"{key}/{QUESTIONS_PAGE}" if has_page else "",
        "summary": summary(run.results, places, layout.claims, explain=False),
    }


def totals(runs: Mapping[str, Run]) -> dict[str, dict[Outcome, int]]:
    """Return the number of distinct claims with each outcome by paper key, without our notes and our tools."""
    papers = paper_runs(runs).items()
    return {
        key: outcomes(result for result in run.results if not result.is_note)
        for key, run in papers
    }


def _totals(runs: Mapping[str, Run]) -> str:
    """Return a table with a column for each paper and a column for the total. The worst outcome is last."""
    counts = totals(runs)
    numbers = {"claims": [sum(count.values()) for count in counts.values()]}
    numbers |= {
        outcome_label(outcome): [count[outcome] for count in counts.values()]
        for outcome in OUTCOMES
    }
    notes = [
        {result.claim for result in runs[key].results if result.is_note}
        for key in counts
    ]
    rows_by_label = {label: row for label, row in numbers.items() if any(row)} | {
        "our notes": [*map(len, notes)]
    }
    has_sum = len(counts) > 1
    header = [
        "",
        *(md.link(md.code(key), f"{key}.md") for key in counts),
        *(["all"] if has_sum else []),
    ]
    rows = [
        [label, *map(str, row), *([str(sum(row))] if has_sum else [])]
        for label, row in rows_by_label.items()
    ]
    return md.table(header, rows, right=range(1, len(header)))


Papers = Mapping[str, PaperSpec]  # paper key to its spec

SCHEMA = 1  # the version of the JSON that this code reads


def read_runs(folder: Path, besides: Container[str] = ()) -> dict[str, Run]:
    """Read the recorded runs of a folder, by file name, without ``besides`` and the data of other pages."""
    finish(folder)
    paths = sorted((folder / "data").glob("*.json"))
    run_files = [
        path
        for path in paths
        if path.stem not in OTHER_PAGES and path.stem not in besides
    ]
    return {
        path.stem: decode_run(f"data/{path.name}", path.read_bytes())
        for path in run_files
    }


def other_pages(folder: Path) -> list[str]:
    """Return the names of the pages that are not made from verdicts and whose data are in the folder."""
    return [
        name for name in OTHER_PAGES if (folder / "data" / f"{name}.json").is_file()
    ]


def drawn_elsewhere(folder: Path) -> frozenset[str]:
    """Return the names of the figure files of these other pages, without their folder."""
    pages = other_pages(folder)
    return frozenset(
        path.name
        for page in pages
        for path in folder.glob(f"figures/{FIGURES[page]}*.svg")
    )


def decode_run(name: str, content: bytes) -> Run:
    """Decode a run; raise a ReportError with the file's ``name`` if the content is damaged."""
    try:
        run = decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{name}: {' '.join(str(error).split())}") from error
    if run.schema != SCHEMA:
        raise ReportError(
            f"{name}: schema={run.schema}: this version reads schema {SCHEMA}"
        )
    return run


def write_report(
    runs: Sequence[Run],
    directory: Path,
    papers: Papers | None = None,
    elsewhere: Mapping[Path, bytes] | None = None,
) -> list[str]:
    """Record runs of different papers and write the report; return the changed files, sorted.

    ``papers`` has the judged specs, whose chapters are shown. For other papers the bundled specs are used.
    ``elsewhere`` has files outside the folder, by absolute path, which are written if and only if the report is.
    """
    new = by_paper(runs)
    pages = render_report(
        {**_read(directory, besides=new), **new},
        papers,
        other_pages(directory),
        drawn_elsewhere(directory),
    )
    data = {f"data/{key}.json": encode(run) for key, run in new.items()}
    for name, content in data.items():
        # refuse data that cannot be read back, such as a NaN that is not a string
        decode_run(name, content)
    return update(directory, {**data, **pages}, elsewhere=elsewhere)


def regenerate(directory: Path, papers: Papers | None = None) -> list[str]:
    """Write all pages and figures from the data; return the changed and deleted files, sorted.

    ``papers`` has the specs whose chapters are shown. For other papers the bundled specs are used.
    """
    return update(directory, _rendered(directory, papers))


def check(directory: Path, papers: Papers | None = None) -> list[str]:
    """Compare the folder with its data; return the files that differ, are missing, or have no data.

    ``papers`` is the same as for ``regenerate``.
    """
    return sorted(outdated(directory, _rendered(directory, papers)))


def _rendered(directory: Path, papers: Papers | None) -> dict[str, bytes]:
    return render_report(
        _read(directory), papers, other_pages(directory), drawn_elsewhere(directory)
    )


def render_report(
    runs: Mapping[str, Run],
    papers: Papers | None = None,
    other_pages: Sequence[str] = (),
    figure_files: Collection[str] = (),
) -> dict[str, bytes]:
    """Return all files of the report except the data, as a map from path to content.

    ``other_pages`` and ``figure_files`` are the pages and figure files in the folder that are not made from verdicts.
    """
    ordered = ordered_runs(runs)
    papers_by_key = papers or {}
    if not ordered.keys() <= papers_by_key.keys():
        papers_by_key = {**_bundled(), **papers_by_key}
    files = {INDEX: index_page(ordered, other_pages).encode()}
    counts = totals(ordered)
    if counts:
        files[f"figures/{OVERVIEW}"] = to_svg(
            lambda: overview.draw(counts), overview.caption(counts)
        )
    for key, run in ordered.items():
        files |= {
            name: text.encode()
            for name, text in paper_pages(
                key, run, papers_by_key.get(key), other_pages, figure_files
            ).items()
        }
        for picture in (
            picture for result in run.results for picture in pictures(result)
        ):
            path = f"figures/{picture.file}"
            if path in files:
                raise ReportError(
                    f"figure={picture.name!r} of {picture.about}: another figure has the file {path}"
                )
            files[path] = svg(picture.name, picture.columns)
    return files


@cache
def _bundled() -> Papers:
    return load_specs().papers


def _read(directory: Path, besides: Container[str] = ()) -> dict[str, Run]:
    """Return the recorded runs by paper, without the papers in ``besides``."""
    runs = read_runs(directory, besides)
    for stem, run in runs.items():
        if any(key != stem for key in by_paper([run])):
            raise ReportError(
                f"data/{stem}.json: it holds results of another paper than {stem!r}"
            )
    return runs
