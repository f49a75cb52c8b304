from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Annotated, get_args, get_origin, get_type_hints

import pytest

import dpverify
from dpverify.cli import main
from dpverify.cli.app import GENERATED, build
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]


def complaint(capsys: Capture) -> str:
    """The one line on stderr, and nothing on stdout."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dpverify: ")
    assert err.endswith("\n")
    assert err.count("\n") == 1
    return err


@for_each(
    ("words", "said"),
    [
        (["verfy"], "verify"),
        (["profile", "--n", "3"], "Unknown command"),
        (["verify", "--budget", "huge"], "smoke"),
        (["verify", "--jobs", "two"], "--jobs"),
        (["verify", "--jobs", "0"], "--jobs 0: must be at least 1"),
        (["verify", "--jobs", "-3"], "--jobs -3: must be at least 1"),
        (["verify", "--seed", "-1"], "--seed -1: must be at least 0"),
        (["verify", "--seed", "1.5"], "--seed"),
        (["verify", "--jbs", "2"], "--jobs"),
        (["verify", "--json", "--jobs"], "--json"),
        (["verify", "--json"], "--json"),
        (["verify", "--json", "/absent/run.json"], "no such file or directory"),
        (["verify", "--report", "/dev/null/out"], "--report"),
        (["verify", "--specs", "/absent"], "/absent"),
        (["list", "--specs", "/absent\n\x1b[31m"], "/absent"),
        (["list", "lema-12"], "lemma-12"),
        (["explain"], "CLAIM"),
        (["train", "--algorithm", "sgd"], "dp-nsgd"),
        (["doctor", "--fix"], "--fix"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    words: list[str], said: str, capsys: Capture
) -> None:
    assert main(words) == 2
    line = complaint(capsys)
    assert said in line
    assert line.rstrip("\n").isprintable()


@for_each("command", ["verify", "explain", "list"])
def test_an_unknown_claim_or_paper_is_met_with_near_ones(
    command: str, capsys: Capture
) -> None:
    words = (
        [command, "--paper", "tran2023"] if command == "list" else [command, "lema-12"]
    )
    assert main(words) == 2
    assert ("tran2022" if command == "list" else "lemma-12") in complaint(
        capsys
    ).replace("lema-12", "")


def test_version(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"{dpverify.__version__}\n"


@for_each("words", [[], ["--help"], ["verify", "--help"]])
def test_help_goes_to_stdout(words: list[str], capsys: Capture) -> None:
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert "Usage: dpverify" in out
    assert ("3 internal failure" in " ".join(out.split())) == (
        words != ["verify", "--help"]
    )
    assert "Exit codes: " in " ".join(out.split())
    assert err == ""


def test_each_command_of_the_help_is_there(capsys: Capture) -> None:
    main(["--help"])
    out = capsys.readouterr().out
    for command in (
        "doctor",
        "explain",
        "list",
        "prove",
        "rules",
        "train",
        "units",
        "verify",
    ):
        assert f" {command} " in out
        assert main([command, "--help"]) == 0


def test_train_hands_its_words_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from dpverify import train

    seen: dict[str, object] = {}

    def run_train(algorithm: str, **words: object) -> int:
        seen.update(words, algorithm=algorithm)
        return 130

    monkeypatch.setattr(train, "run_train", run_train)
    words = "train --data a9a --n 20 --epochs 2 --sigma 0.5 --ordering once --no-standardise --json - --figure f.svg"
    assert main(words.split()) == 130
    said = {
        "data": Path("a9a"),
        "n": 20,
        "epochs": 2,
        "sigma": 0.5,
        "ordering": "once",
        "standardise": False,
    }
    assert {
        **said,
        "json": "-",
        "figure": Path("f.svg"),
        "algorithm": "dp-nsgd",
    }.items() <= seen.items()


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = "import sys; from dpverify.cli import main; sys.exit(main(['verify', '--help']))"
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_ctrl_c_before_anything_is_decided(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    from dpverify import train

    def run_train(*_: object, **__: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(train, "run_train", run_train)
    assert main(["train"]) == 130
    assert complaint(capsys) == "dpverify: interrupted\n"


def test_a_crash_has_an_exit_code_of_its_own_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    def crash(words: list[str]) -> int:
        raise error

    monkeypatch.setattr("dpverify.cli.app._run", crash)
    for error in (
        ZeroDivisionError("one\ntwo"),
        SystemExit(0),
        SystemExit(1),
        RecursionError(),
        MemoryError(),
    ):
        assert main(["list"]) == 3
        err = capsys.readouterr().err
        assert f"internal failure: {type(error).__name__}" in err
        assert "DPVERIFY_TRACEBACK=1" in err
        assert err.count("\n") == 1
    monkeypatch.setenv("DPVERIFY_TRACEBACK", "1")
    error = ZeroDivisionError("planted")
    assert main(["list"]) == 3
    assert "in crash" in capsys.readouterr().err


def _shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which dpverify is the command, with what each word of it printed on stderr."""
    line = f'dpverify() {{ "{sys.executable}" -m dpverify "$@"; }}; {command}'
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done


@for_each(
    ("command", "code", "message"),
    [
        ("dpverify list >&-", 0, ""),
        ("dpverify --help >&- 2>&-", 0, ""),
        ("dpverify list | head -1 >/dev/null; exit ${PIPESTATUS[0]}", 141, ""),
        ("dpverify list >/dev/full", 2, "output: cannot be written"),
        ("dpverify --help >/dev/full", 2, "output: cannot be written"),
        ("dpverify list >/dev/full 2>/dev/full", 2, ""),
        ("dpverify list --nonsense 2>/dev/full", 2, ""),
        ("dpverify list 1</dev/null", 2, "output: cannot be written"),
        ('rmdir "$PWD"; dpverify list', 2, "working directory: cannot be read"),
        (
            'rmdir "$PWD"; dpverify explain lemma-12',
            2,
            "working directory: cannot be read",
        ),
    ],
)
def test_streams_and_folders_that_are_gone_give_no_traceback(
    command: str, code: int, message: str, tmp_path: Path
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    done = _shell(command, folder)
    assert done.returncode == code
    assert message in done.stderr
    assert done.stderr.count("\n") == bool(message)


@for_each(
    "word",
    [
        "1_0",
        "\u0663",
        "nan",
        "inf",
        "-infinity",
        " 1",
        "1 ",
        "0x1",
        "1e999",
        "",
        "1e1_0",
    ],
)
def test_a_number_is_read_as_it_is_written(word: str, capsys: Capture) -> None:
    for words in (
        ["audit", "a:b", "--epsilon"],
        ["train", "--eta"],
        ["conform", "a:b", "--timeout"],
    ):
        assert main([*words, word]) == 2
        assert "must be a finite number" in capsys.readouterr().err
    for words in (
        ["train", "--seed"],
        ["conform", "a:b", "--seeds"],
        ["verify", "--jobs"],
    ):
        assert main([*words, word]) == 2
        assert "must be a whole number" in capsys.readouterr().err


def test_every_number_of_a_command_is_read_so() -> None:
    commands = {
        name: app
        for name, app in build().resolved_commands().items()
        if not name.startswith("-")
    }
    assert {"verify", "train", "conform"} <= commands.keys()
    for generated in GENERATED:
        several = build([generated])[generated]
        del commands[generated]
        commands |= {
            f"{generated} {name}": app
            for name, app in several.resolved_commands().items()
            if name[0] != "-"
        }
    assert {"train dp-srm", "calibrate dp-agd"} <= commands.keys()
    for name, app in commands.items():
        for option, annotation in get_type_hints(
            app.default_command, include_extras=True
        ).items():
            if option != "return":
                kinds = (
                    {annotation, *get_args(annotation)}
                    if get_origin(annotation) is not Annotated
                    else set()
                )
                assert not kinds & {int, float}, f"{name} reads {option} as Python does"
