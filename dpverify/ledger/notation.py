"""The table ``specs/notation.md``, which maps the long names of dpverify's API to the letters of each paper."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from dpverify.ledger.load import load_specs
from dpverify.ledger.specs import Specs

_HEAD = """\
# Notation

Generated from the symbols in `specs/*/claims.toml`; change those, then run
`python -c "from dpverify.ledger import write_notation; write_notation()"`. The long names are those of dpverify's API,
the letters those of each paper; domains are written in the paper's own names.
"""


def write_notation(directory: Path | str | None = None) -> Path:
    """Write the table to ``notation.md`` of a specs folder, by default dpverify's own, and return its path."""
    specs = load_specs(directory)
    path = specs.directory / "notation.md"
    path.write_text(notation_markdown(specs), encoding="utf-8", newline="\n")
    return path


def notation_markdown(specs: Specs) -> str:
    """Return the Markdown table of all papers' symbols: a row per API name, then a row per symbol without one."""
    papers = list(specs.papers)
    rows = [("API name", *(f"{key}" for key in papers), "meaning", "domain")]
    rows.append(tuple("---" for _ in rows[0]))
    rows.extend(_rows(specs, papers))
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    titles = "\n".join(
        f"- **{key}**: {_cell(spec.info.title)} ({_cell(spec.info.venue)})"
        for key, spec in specs.papers.items()
    )
    return f"{_HEAD}\n{titles}\n\n{table}\n"


def _rows(specs: Specs, papers: list[str]) -> Iterator[tuple[str, ...]]:
    """Yield the rows, in order."""
    groups: dict[tuple[bool, str, str], list[tuple[str, str]]] = {}
    for key, spec in specs.papers.items():
        for name, symbol in spec.vocabulary.symbols.items():
            group = (False, symbol.api, "") if symbol.api else (True, key, name)
            groups.setdefault(group, []).append((key, name))
    for (nameless, api, _), members in sorted(groups.items()):
        symbols = [
            (key, name, specs.papers[key].vocabulary.symbols[name])
            for key, name in members
        ]
        letters = [
            _once(
                f"${_math(s.latex)}$ `{name}`"
                for key, name, s in symbols
                if key == paper
            )
            for paper in papers
        ]
        meaning = _once(_cell(symbol.meaning) for _, _, symbol in symbols)
        domain = _once(
            f"`{specs.papers[key].vocabulary.domains[name]}`"
            for key, name, _ in symbols
        )
        yield ("" if nameless else f"`{api}`", *letters, meaning, domain)


def _once(cells: Iterable[str]) -> str:
    """Join the different texts among some cells."""
    return "; ".join(dict.fromkeys(cells))


def _cell(text: str) -> str:
    """Return text for a cell of a Markdown table: on one line, with special characters escaped."""
    return re.sub(r"([\\|*<`])", r"\\\1", " ".join(text.split()))


def _math(latex: str) -> str:
    """Return LaTeX for a cell of a Markdown table: on one line, with bars written as commands."""
    return (
        " ".join(latex.split())
        .replace(r"\|", r"\Vert ")
        .replace("|", r"\vert ")
        .strip()
    )
