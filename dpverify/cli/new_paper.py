"""``dpverify new-paper``: create a working package for a paper of the user."""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path

from dpverify.cli.output import BadInput, complain

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
