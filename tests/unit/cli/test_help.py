"""Help of every command: a line for every option, in plain sentences, at any width."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import pytest
from cyclopts import App

from dpverify.cli import main
from dpverify.cli.app import GENERATED, build, unwrapped
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]

BUILT_IN = {"--help", "-h", "--version", "--install-completion"}


def commands() -> Iterator[tuple[str, App]]:
    app = build()
    for name in app:
        if name in GENERATED:
            several = build([name])[name]
            yield from (
                (f"{name} {algorithm}", several[algorithm])
                for algorithm in several
                if algorithm not in BUILT_IN
            )
        elif name not in BUILT_IN:
            yield name, app[name]


COMMANDS = [name for name, _ in commands()]
SHOWN = [
    *(name for name in COMMANDS if " " not in name),
    *GENERATED,
    "train dpageem",
    "calibrate sr-nsgd",
]


def test_every_option_of_every_command_has_help() -> None:
    without = [
        f"{name} {argument.name}"
        for name, command in commands()
        for argument in command.assemble_argument_collection(parse_docstring=True)
        if not (argument.parameter.help or "").strip().endswith((".", "..."))
    ]
    assert len(COMMANDS) >= 15
    assert without == []


@for_each("name", SHOWN)
@for_each("width", [80, 120])
def test_help_is_wrapped_between_words(
    name: str, width: int, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([*name.split(), "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert not any("``" in line or "ARGS" in line for line in lines[1:])
    paragraph = [
        line for line in lines if line and not line.startswith(("│", "╭", "╰", "Usage"))
    ]
    short = [
        line
        for line, after in itertools.pairwise(paragraph)
        if _breaks_early(line, after, width)
    ]
    assert short == []


def _breaks_early(line: str, after: str, width: int) -> bool:
    """Whether the first word of the next line would have fitted, in the middle of a sentence."""
    first = re.match(r"[a-z]\S*", after)
    return (
        first is not None
        and not line.rstrip().endswith((".", ":"))
        and len(line) + 1 + len(first[0]) < width
    )


def test_paragraphs_and_descriptions_are_put_on_one_line() -> None:
    text = "Say.\n\nOne\ntwo.\n\nParameters\n----------\nname\n    A\n    b.\nother\n    C.\n"
    joined = "Say.\n\nOne two.\n\nParameters\n----------\nname\n    A b.\nother\n    C."
    assert unwrapped(text) == joined
    assert unwrapped(joined) == joined


@pytest.mark.parametrize(
    "words",
    [
        "train --algorithm dp-srm --help",
        "train dp-srm --help",
        "train --algorithm=dp-srm -h",
    ],
)
def test_an_algorithm_has_the_options_of_its_settings_and_no_others(
    words: str, capsys: Capture
) -> None:
    assert main(words.split()) == 0
    help_text = capsys.readouterr().out
    assert {"--gamma", "--change-clip", "--batch"} <= {
        *re.findall(r"--[a-z-]+", help_text)
    }
    assert not {"--alpha", "--parties", "--stages", "--ordering"} & {
        *re.findall(r"--[a-z-]+", help_text)
    }


def test_what_has_no_noise_has_no_options_for_it(capsys: Capture) -> None:
    assert main(["train", "sgd-stages", "--help"]) == 0
    assert not {"--sigma", "--epsilon", "--delta"} & {
        *re.findall(r"--[a-z-]+", capsys.readouterr().out)
    }


def test_all_missing_options_are_named_at_once(capsys: Capture) -> None:
    assert main(["calibrate", "dp-srm", "--n", "100"]) == 2
    assert capsys.readouterr().err == (
        "dpverify: --epsilon, --delta, --batch, --gamma, --zeta left out: must be given for dp-srm\n"
    )


def test_the_first_algorithm_is_the_default(capsys: Capture) -> None:
    assert main(["calibrate", "--n", "100"]) == 2
    assert "must be given for dp-nsgd" in capsys.readouterr().err
    assert main(["calibrate", "--algorithm"]) == 2
    assert "must be followed by the name" in capsys.readouterr().err
