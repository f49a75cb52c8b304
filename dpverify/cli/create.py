"""``dpverify new-paper`` and ``dpverify site``: create a working package for a paper, or static web pages.

The pages have the reports, claims, guides and API.
"""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from dpverify.cli.output import OK, BadInput, check_folder, complain

PROJECT = """[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[project]
name = "{key}"
version = "0"
dependencies = ["dpverify"]

# Whoever installs the package has the paper by this, without [tool.dpverify].
[project.entry-points."dpverify.papers"]
{key} = "{key}"

[tool.setuptools.packages.find]
include = ["{key}*"]

[tool.setuptools.package-data]
"*" = ["*.toml"]

"""
TABLE = '[tool.dpverify]\npapers = ["{key}"]\n'
"""Table that registers the paper with the commands, pytest and programs; see dpverify.ledger.load."""


def new_paper(key: str, folder: Path, /) -> None:
    """Create a minimal working paper package to adapt.

    Parameters
    ----------
    key
        Name of the package: a word such as mine2026.
    folder
        Folder for the package. A pyproject.toml that makes dpverify find the package is
        added if there is none.
    """
    from dpverify.ledger.load import bundled_specs

    if not re.fullmatch(r"[a-z][a-z0-9_]*", key):
        raise BadInput(
            "KEY",
            repr(key),
            "must be a word of small letters, digits and _ that starts with a letter",
        )
    if (bundled_specs() / key).exists():
        raise BadInput("KEY", repr(key), "is a paper of dpverify")
    if find_spec(key) is not None and not (folder / key).exists():
        raise BadInput("KEY", repr(key), "is the name of an existing Python module")
    package = folder / key
    project = folder / "pyproject.toml"
    if os.path.lexists(package):
        raise BadInput("FOLDER", package, "must not exist yet")
    template = Path(__file__).parents[1] / "papers" / "_template"
    exists = os.path.lexists(project)
    try:
        package.mkdir(parents=True)
    except OSError as error:
        raise BadInput(
            "FOLDER", folder, f"cannot be written ({error.strerror})"
        ) from error
    try:
        shutil.copytree(
            template,
            package,
            ignore=shutil.ignore_patterns("__pycache__"),
            dirs_exist_ok=True,
        )
        (package / "specs" / "_template").rename(package / "specs" / key)
        for file in (*package.rglob("*.py"), *package.rglob("*.toml")):
            text = file.read_text(encoding="utf-8").replace(
                "dpverify.papers._template", key
            )
            file.write_text(text.replace("_template", key), encoding="utf-8")
        if not exists:
            with project.open("x", encoding="utf-8") as opened:
                opened.write((PROJECT + TABLE).format(key=key))
    except OSError as error:
        # Remove the incomplete folder, which this command created. ignore_errors: the
        # first error is the one to report.
        shutil.rmtree(package, ignore_errors=True)
        raise BadInput(
            "FOLDER", folder, f"cannot be written ({error.strerror})"
        ) from error
    if exists:
        complain(
            f"{project} is left alone; add: {' '.join(TABLE.format(key=key).split(chr(10)))}"
        )
    print(
        f"Written: {package}. In {folder}, dpverify verify --paper {key} judges it, and so does pytest {key}."
    )


FAULTY = 1  # exit code if Sphinx warns


def site(
    *,
    out: Path,
    report: Path | None = None,
    specs: Path | None = None,
    checks: str | None = None,
) -> int:
    """Build static web pages: reports, claims with their code, guides and API.

    The pages need no network. Building them needs the extra site: pip install -e
    '.[site]' in a checkout. The exit code is 1 if Sphinx warns.

    Parameters
    ----------
    out
        Folder for the pages.
    report
        Folder that holds a report. Default: the run that comes with dpverify.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    checks
        Package with the checks of the papers. Default: the checks that come with
        dpverify.
    """
    from importlib.util import find_spec

    if missing := [
        name
        for name in ("sphinx", "myst_parser", "furo", "latex2mathml")
        if find_spec(name) is None
    ]:
        raise BadInput(
            "dpverify site",
            f"without {', '.join(missing)}",
            "install the extra: pip install -e '.[site]' in a checkout",
        )
    check_folder("--out", out)
    from dpverify.cli.app import build
    from dpverify.harness.run.sources import PAPERS
    from dpverify.ledger import load_specs
    from dpverify.ledger.load import bundled
    from dpverify.site.build import build_site

    commands = build().generate_docs(output_format="markdown")
    from dpverify.report.collect import ReportError

    reports = bundled("reports") if report is None else report
    try:
        warnings = build_site(
            out, reports, load_specs(specs), commands, checks or PAPERS
        )
    except ReportError as error:
        raise BadInput("dpverify site", f"--out {out}", str(error)) from error
    for line in warnings:
        complain(line)
    print(f"wrote {out / 'README.html'}")
    return FAULTY if warnings else OK
