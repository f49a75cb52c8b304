"""The folder ``reports/``: data in, pages and figures out, and the check that they still belong together.

``data/<paper>.json`` is the one input. Every other file is a pure function of those: ``README.md``, ``<paper>.md`` and
``figures/*.svg``. Files of others in the folder are left alone.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import msgspec

from dpverify.ledger.results import Run, decode, encode
from dpverify.report.collect import ReportError, by_paper, pictures
from dpverify.report.drawings import overview
from dpverify.report.figures import svg
from dpverify.report.index import OVERVIEW, index_page, totals
from dpverify.report.manifest import GENERATED
from dpverify.report.paper import paper_page
from dpverify.report.style import to_svg

SCHEMA = 1
"""The version of the JSON that this code reads."""


def write_report(runs: Sequence[Run], directory: Path) -> list[str]:
    """Record runs and write the report on them.

    Parameters
    ----------
    runs : sequence of Run
        The runs, each of one paper or of several; no paper in two of them. They replace what is recorded of their
        papers; papers recorded earlier stay.
    directory : pathlib.Path
        The folder; it is made if need be.

    Returns
    -------
    list of str
        The files that changed, as paths below ``directory`` with forward slashes, sorted.

    Raises
    ------
    ReportError
        When a paper occurs twice, recorded data cannot be read, or a figure cannot be drawn; then nothing is written.
    """
    new = by_paper(runs)
    pages = render({**_read(directory, besides=new), **new})
    data = {f"data/{key}.json": encode(run) for key, run in new.items()}
    for name, content in data.items():
        _decode(name, content)  # what cannot be read back, such as a NaN that is no string, is not recorded
    return _update(directory, {**data, **pages})


def regenerate(directory: Path) -> list[str]:
    """Write everything but the data anew, from the data.

    Parameters
    ----------
    directory : pathlib.Path
        A folder with ``data/*.json``.

    Returns
    -------
    list of str
        The files that changed or went away, sorted.

    Raises
    ------
    ReportError
        When the data cannot be read or a figure cannot be drawn; then nothing is written.
    """
    return _update(directory, render(_read(directory)))


def check(directory: Path) -> list[str]:
    """Compare the folder with what its data give.

    Parameters
    ----------
    directory : pathlib.Path
        A folder with ``data/*.json``.

    Returns
    -------
    list of str
        The files that differ, are missing, or belong to no data, sorted; empty when all is well.

    Raises
    ------
    ReportError
        When the data cannot be read or a figure cannot be drawn.
    """
    wanted = render(_read(directory))
    differ = [name for name, content in wanted.items() if not _same(directory / name, content)]
    return sorted([*differ, *_orphans(directory, wanted)])


def render(runs: Mapping[str, Run]) -> dict[str, bytes]:
    """Every file of the report but the data.

    Parameters
    ----------
    runs : Mapping[str, Run]
        Paper key to its run.

    Returns
    -------
    dict[str, bytes]
        Path below the folder to content.

    Raises
    ------
    ReportError
        When a figure cannot be drawn, or two would share a file.
    """
    ordered = dict(sorted(runs.items()))
    files = {"README.md": index_page(ordered).encode()}
    found = totals(ordered)
    if found:
        files[f"figures/{OVERVIEW}"] = to_svg(lambda: overview.draw(found), overview.caption(found))
    for key, run in ordered.items():
        files[f"{key}.md"] = paper_page(key, run).encode()
        for picture in (picture for result in run.results for picture in pictures(result)):
            path = f"figures/{picture.file}"
            if path in files:
                raise ReportError(f"figure={picture.name!r} of {picture.about}: another figure has the file {path}")
            files[path] = svg(picture.name, picture.columns)
    return files


def _read(directory: Path, besides: Container[str] = ()) -> dict[str, Run]:
    """The recorded runs by paper, without the papers in ``besides``."""
    paths = sorted((directory / "data").glob("*.json"))
    runs = {path.stem: _decode(f"data/{path.name}", path.read_bytes()) for path in paths if path.stem not in besides}
    for stem, run in runs.items():
        if any(key != stem for key in by_paper([run])):
            raise ReportError(f"data/{stem}.json: it holds results of another paper than {stem!r}")
    return runs


def _decode(name: str, content: bytes) -> Run:
    try:
        run = decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ReportError(f"{name}: {' '.join(str(error).split())}") from error
    if run.schema != SCHEMA:
        raise ReportError(f"{name}: schema={run.schema}: this version reads schema {SCHEMA}")
    return run


def _update(directory: Path, files: Mapping[str, bytes]) -> list[str]:
    """Write the files that differ, and take away what no data give any more."""
    changed = [name for name, content in files.items() if not _same(directory / name, content)]
    for name in changed:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f".{path.name}.part")
        part.write_bytes(files[name])
        part.replace(path)
    gone = _orphans(directory, files)
    for name in gone:
        (directory / name).unlink()
    return sorted([*changed, *gone])


def _same(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _orphans(directory: Path, wanted: Mapping[str, bytes]) -> list[str]:
    """Figures that no page shows, and pages of ours whose data are gone."""
    figures = [f"figures/{path.name}" for path in (directory / "figures").glob("*.svg")]
    pages = [path.name for path in directory.glob("*.md") if path.read_bytes().startswith(GENERATED.encode())]
    return sorted(name for name in [*figures, *pages] if name not in wanted)
