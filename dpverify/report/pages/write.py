"""The folder ``reports/``: data in, pages and figures out, and the check that they still belong together.

Pages and figures are pure functions of ``data/<paper>.json`` and ``chapters.toml``, which may show figures of others
where the folder has them. Files of others are left alone.
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
from dpverify.report.collect import ReportError, by_paper, papers_first, pictures
from dpverify.report.drawings import overview
from dpverify.report.pages.figures import svg
from dpverify.report.pages.folder import FIGURES, finish, outdated, update
from dpverify.report.pages.index import OVERVIEW, index_page, totals
from dpverify.report.pages.layout import INDEX, OTHER_PAGES
from dpverify.report.pages.paper import paper_pages
from dpverify.report.style import to_svg

Papers = Mapping[str, PaperSpec]  # paper key to its spec

SCHEMA = 1  # the version of the JSON that this code reads


def read_runs(folder: Path, besides: Container[str] = ()) -> dict[str, Run]:
    """Read the recorded runs of a folder, by file name. Data of other pages are left out."""
    finish(folder)
    paths = sorted((folder / "data").glob("*.json"))
    run_files = [path for path in paths if path.stem not in OTHER_PAGES and path.stem not in besides]
    return {path.stem: decode_run(f"data/{path.name}", path.read_bytes()) for path in run_files}


def other_pages(folder: Path) -> list[str]:
    """Names of the pages made of other data than verdicts whose data the folder holds."""
    return [name for name in OTHER_PAGES if (folder / "data" / f"{name}.json").is_file()]


def drawn_elsewhere(folder: Path) -> frozenset[str]:
    """Files of the figures of those pages, without their folder."""
    pages = other_pages(folder)
    return frozenset(path.name for page in pages for path in folder.glob(f"figures/{FIGURES[page]}*.svg"))


def decode_run(name: str, content: bytes) -> Run:
    """Decode a run; ``name`` is that of its file, for the ReportError that damage raises."""
    try:
        run = decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{name}: {' '.join(str(error).split())}") from error
    if run.schema != SCHEMA:
        raise ReportError(f"{name}: schema={run.schema}: this version reads schema {SCHEMA}")
    return run


def write_report(
    runs: Sequence[Run],
    directory: Path,
    papers: Papers | None = None,
    elsewhere: Mapping[Path, bytes] | None = None,
) -> list[str]:
    """Record runs, no paper in two of them, and write the report; returns the files that changed, sorted.

    ``papers``: the specs that were judged, for the chapters; of a paper that is not among them, the bundled ones.
    ``elsewhere``: files outside the folder that are written with it or not at all, by their absolute paths.
    """
    new = by_paper(runs)
    pages = render({**_read(directory, besides=new), **new}, papers, other_pages(directory), drawn_elsewhere(directory))
    data = {f"data/{key}.json": encode(run) for key, run in new.items()}
    for name, content in data.items():
        decode_run(name, content)  # what cannot be read back, such as a NaN that is no string, is not recorded
    return update(directory, {**data, **pages}, elsewhere=elsewhere)


def regenerate(directory: Path, papers: Papers | None = None) -> list[str]:
    """Write everything but the data from the data. Return the changed and deleted files, sorted.

    ``papers``: specs, for the chapters; of a paper that is not among them, the bundled ones.
    """
    return update(directory, _rendered(directory, papers))


def check(directory: Path, papers: Papers | None = None) -> list[str]:
    """Compare the folder with its data. Return the files that differ, are missing, or belong to no data.

    ``papers``: as for ``regenerate``.
    """
    return sorted(outdated(directory, _rendered(directory, papers)))


def _rendered(directory: Path, papers: Papers | None) -> dict[str, bytes]:
    return render(_read(directory), papers, other_pages(directory), drawn_elsewhere(directory))


def render(
    runs: Mapping[str, Run], papers: Papers | None = None, other_pages: Sequence[str] = (), drawn: Collection[str] = ()
) -> dict[str, bytes]:
    """Return every file of the report but the data, as a map from path to content.

    ``other_pages`` and ``drawn``: pages and files of figures that the folder has of other data than verdicts.
    """
    ordered = papers_first(runs)
    papers_by_key = papers or {}
    if not ordered.keys() <= papers_by_key.keys():
        papers_by_key = {**_bundled(), **papers_by_key}
    files = {INDEX: index_page(ordered, other_pages).encode()}
    counts = totals(ordered)
    if counts:
        files[f"figures/{OVERVIEW}"] = to_svg(lambda: overview.draw(counts), overview.caption(counts))
    for key, run in ordered.items():
        files |= {
            name: text.encode()
            for name, text in paper_pages(key, run, papers_by_key.get(key), other_pages, drawn).items()
        }
        for picture in (picture for result in run.results for picture in pictures(result)):
            path = f"figures/{picture.file}"
            if path in files:
                raise ReportError(f"figure={picture.name!r} of {picture.about}: another figure has the file {path}")
            files[path] = svg(picture.name, picture.columns)
    return files


@cache
def _bundled() -> Papers:
    return load_specs().papers


def _read(directory: Path, besides: Container[str] = ()) -> dict[str, Run]:
    """The recorded runs by paper, without the papers in ``besides``."""
    runs = read_runs(directory, besides)
    for stem, run in runs.items():
        if any(key != stem for key in by_paper([run])):
            raise ReportError(f"data/{stem}.json: it holds results of another paper than {stem!r}")
    return runs
