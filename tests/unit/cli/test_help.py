"""Help of every command: a line for every option, in plain sentences, at any width."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
from cyclopts import App

from dpverify.cli import main
from dpverify.cli.app import build, unwrapped
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]

BUILT_IN = {"--help", "-h", "--version", "--install-completion"}


def commands() -> Iterator[tuple[str, App]]:
    app = build()
    return ((name, app[name]) for name in app if name not in BUILT_IN)


COMMANDS = [name for name, _ in commands()]


def test_every_option_of_every_command_has_help() -> None:
    without = [
        f"{name} {argument.name}"
        for name, command in commands()
        for argument in command.assemble_argument_collection(parse_docstring=True)
        if not (argument.parameter.help or "").strip().endswith((".", "..."))
    ]
    assert len(COMMANDS) >= 15
    assert without == []


@for_each("name", COMMANDS)
@for_each("width", [80, 120])
def test_help_is_wrapped_between_words(name: str, width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert not any("``" in line or "ARGS" in line for line in lines[1:])
    paragraph = [line for line in lines if line and not line.startswith(("│", "╭", "╰", "Usage"))]
    short = [line for line, after in itertools.pairwise(paragraph) if _breaks_early(line, after, width)]
    assert short == []


def _breaks_early(line: str, after: str, width: int) -> bool:
    """Whether the first word of the next line would have fitted, in the middle of a sentence."""
    first = re.match(r"[a-z]\S*", after)
    return first is not None and not line.rstrip().endswith((".", ":")) and len(line) + 1 + len(first[0]) < width


def test_paragraphs_and_descriptions_are_put_on_one_line() -> None:
    text = "Say.\n\nOne\ntwo.\n\nParameters\n----------\nname\n    A\n    b.\nother\n    C.\n"
    joined = "Say.\n\nOne two.\n\nParameters\n----------\nname\n    A b.\nother\n    C."
    assert unwrapped(text) == joined
    assert unwrapped(joined) == joined
