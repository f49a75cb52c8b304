from __future__ import annotations

import os
import signal
from fractions import Fraction
from pathlib import Path

import pytest

import dpverify as dv
from dpverify import papers
from dpverify.cli import main
from dpverify.harness import ExhaustiveCheck
from dpverify.ledger.results import decode
from tests.for_each import for_each

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def verify(toy: Path) -> list[str]:
    return ["verify", "--specs", str(toy), "--jobs", "1"]


def pin(toy: Path, old: str, new: str) -> None:
    file = toy / "toy" / "verdicts.toml"
    file.write_text(file.read_text().replace(old, new, 1))


def test_the_table_is_on_stdout_and_what_is_pinned_gives_0(
    verify: list[str], capsys: Capture
) -> None:
    assert main(verify) == 0
    out, err = capsys.readouterr()
    assert "not refuted   toy:lemma-1" in out
    assert "refuted       toy:lemma-2" in out
    assert "2 verdicts" in out
    assert err == ""


def test_only_the_claims_that_were_asked_for(
    verify: list[str], capsys: Capture
) -> None:
    assert main([*verify, "lemma-1"]) == 0
    out = capsys.readouterr().out
    assert "toy:lemma-1" in out
    assert "toy:lemma-2" not in out


def test_many_verdicts_are_listed_on_request_only(
    verify: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.cli.verify.DEFAULT_LISTED", 1)
    assert main(verify) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["2", "No", "More:"]
    assert main([*verify, "--refuted"]) == 0
    out = capsys.readouterr().out
    assert "refuted       toy:lemma-2" in out
    assert "toy:lemma-1" not in out
    assert main([*verify, "--verbose"]) == 0
    out = capsys.readouterr().out
    assert "not refuted   toy:lemma-1" in out
    assert "refuted       toy:lemma-2" in out
    assert "More:" not in out


@for_each(
    ("words", "expected"),
    [
        ([], (False, [])),
        (["--strict"], (True, [])),
        (["--strict-pins"], (False, ["toy"])),
    ],
)
def test_the_exit_code_is_that_of_the_run_and_knows_who_is_strict(
    verify: list[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    expected: tuple[bool, list[str]],
) -> None:
    asked = list[tuple[bool, list[str]]]()

    def exit_code(run: object, *, strict: bool, strict_pins: list[str]) -> int:
        asked.append((strict, strict_pins))
        return 7

    monkeypatch.setattr("dpverify.harness.finished.exit_code", exit_code)
    assert main([*verify, *words]) == 7
    assert asked == [expected]


def test_a_contradicted_pin_gives_1(
    toy: Path, verify: list[str], capsys: Capture
) -> None:
    pin(
        toy,
        'status = "refuted"\nseverity = "constant"\nreason = "n = 1 gives 1 > 1/2"\n\n[verdict.amendment]',
        'status = "proved"\n\n[verdict.amendment]',
    )
    assert main(verify) == 1
    assert "CONTRADICTS ITS PIN: toy:lemma-2" in capsys.readouterr().out


def test_a_check_that_breaks_is_said_to_be_ours_and_gives_1(
    verify: list[str], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.cli.conftest import toy_checks

    def broken(*_: object) -> Fraction:
        raise ZeroDivisionError("no such thing")

    checks = toy_checks()
    checks.add(
        ExhaustiveCheck("lemma-1", "broken", points=lambda _: [{"n": 1}], lhs=broken)
    )
    monkeypatch.setattr(papers, "load", lambda _: checks)
    assert main([*verify, "lemma-1"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert (
        "not the paper's: toy:lemma-1: broken: ZeroDivisionError: no such thing" in err
    )


def test_json_on_stdout_is_nothing_but_json(verify: list[str], capsys: Capture) -> None:
    assert main([*verify, "--json", "-"]) == 0
    out, err = capsys.readouterr()
    run = decode(out.encode())
    assert [result.claim for result in run.results] == ["toy:lemma-1", "toy:lemma-2"]
    assert run.run.budget == "smoke"
    assert "toy:lemma-2" in err


def test_json_and_report_are_written(
    verify: list[str], tmp_path: Path, capsys: Capture
) -> None:
    target, folder = tmp_path / "run.json", tmp_path / "out"
    assert (
        main([*verify, "--json", str(target), "--report", str(folder), "--seed", "7"])
        == 0
    )
    run = decode(target.read_bytes()).run
    assert (run.seed, run.seed_words) == (7, "7")
    assert (folder / "data" / "toy.json").is_file()
    assert "lemma-2" in (folder / "README.md").read_text()
    assert "toy:lemma-1" in capsys.readouterr().out


def test_the_report_has_the_chapters_of_the_specs_that_were_judged(
    verify: list[str], toy: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    assert main([*verify, "--report", str(folder)]) == 0
    assert "All about sums" not in (folder / "toy.md").read_text()
    text = "Lemma 2 is {{ status('lemma-2') }}."
    chapter = (
        f'[[chapter]]\ntitle = "All about sums"\n[[chapter.passage]]\ntext = "{text}"\n'
    )
    (toy / "toy" / "chapters.toml").write_text(chapter)
    assert main([*verify, "--report", str(folder)]) == 0
    page = (folder / "toy.md").read_text()
    assert "All about sums" in page
    assert "Lemma 2 is " in page


def test_a_seed_is_drawn_from_the_commit_and_the_page_says_so(
    verify: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    target, folder = tmp_path / "run.json", tmp_path / "out"
    monkeypatch.setattr(
        "dpverify.harness.run.manifest.commit",
        lambda: "00c0ffee" + "0" * 32 + "+changes",
    )
    monkeypatch.setattr(
        "dpverify.harness.run.runner.commit", lambda: "00c0ffee" + "0" * 32 + "+changes"
    )
    assert (
        main(
            [
                *verify,
                "--seed",
                "commit",
                "--json",
                str(target),
                "--report",
                str(folder),
            ]
        )
        == 0
    )
    assert decode(target.read_bytes()).run.seed == 0xC0FFEE
    assert f"{0xC0FFEE}, drawn from the commit" in (folder / "toy.md").read_text(
        encoding="utf-8"
    )
    monkeypatch.setattr("dpverify.harness.run.manifest.commit", lambda: "")
    assert main([*verify, "--seed", "commit"]) == 2
    assert "needs a checkout with a commit" in capsys.readouterr().err


@for_each("seed", ["1.5", "1e3", "head", "-1"])
def test_a_seed_is_a_whole_number_or_the_word_commit(
    verify: list[str], seed: str
) -> None:
    assert main([*verify, "--seed", seed]) == 2


def test_the_same_seed_gives_the_same_results(toy: Path) -> None:
    first, second = (dv.verify_run(specs=toy, seed=3).results for _ in range(2))
    assert [result.status for result in first] == ["not refuted", "refuted"]
    assert [(r.status, r.counterexamples, r.slack) for r in first] == [
        (r.status, r.counterexamples, r.slack) for r in second
    ]


def test_from_python(toy: Path) -> None:
    results = dv.verify("toy:lemma-2", specs=toy, budget="smoke", seed=0)
    assert [result.status for result in results] == ["refuted"]
    assert results[0].counterexamples[0].parameters["n"].exact == "1"
    assert results[0].amendment is not None
    assert results[0].amendment.status == "not refuted"
    with pytest.raises(dv.UnknownClaim, match="lemma-2"):
        dv.verify("lema-2", specs=toy)
    with pytest.raises(ValueError, match="jobs"):
        dv.verify(specs=toy, jobs=0)


def test_ctrl_c_keeps_what_was_decided(
    verify: list[str], tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.cli.conftest import toy_checks

    def interrupt(*_: object) -> Fraction:
        os.kill(os.getpid(), signal.SIGINT)
        return Fraction(0)

    checks = toy_checks()
    checks.add(
        ExhaustiveCheck("lemma-1", "slow", points=lambda _: [{"n": 1}], lhs=interrupt)
    )
    monkeypatch.setattr(papers, "load", lambda _: checks)
    target, folder = tmp_path / "run.json", tmp_path / "out"
    assert main([*verify, "--json", str(target), "--report", str(folder)]) == 130
    out = capsys.readouterr().out
    assert "Interrupted" in out
    assert "inconclusive  toy:lemma-1  slow: interrupted before it was decided" in out
    run = decode(target.read_bytes())
    assert run.run.interrupted
    assert [result.status for result in run.results] == ["inconclusive", "refuted"]
    assert (folder / "README.md").is_file()


@for_each(
    "words",
    [
        ["--report", "FILE"],
        ["--report", "DAMAGED"],
        ["--json", "absent/run.json"],
        ["lemma-9"],
    ],
)
def test_bad_input_is_found_before_any_work(
    words: list[str],
    verify: list[str],
    tmp_path: Path,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(_: object) -> None:
        raise AssertionError("the run had begun")

    monkeypatch.setattr(papers, "load", never)
    (tmp_path / "FILE").write_text("x")
    (tmp_path / "DAMAGED" / "data").mkdir(parents=True)
    (tmp_path / "DAMAGED" / "data" / "toy.json").write_text("{")
    monkeypatch.chdir(tmp_path)
    assert main([*verify, *words]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words[-1] in err


def test_specs_without_a_claim_that_a_check_judges(
    toy: Path, verify: list[str], capsys: Capture
) -> None:
    for name in ("claims.toml", "verdicts.toml"):
        file = toy / "toy" / name
        file.write_text(file.read_text().replace("lemma-2", "lemma-3"))
    assert main(verify) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "toy must have the claim 'lemma-2', which the check 'count' judges" in err


def test_a_reader_of_the_table_that_goes_away_costs_no_file(
    verify: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dpverify.report import terminal

    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr(terminal, "print_run", closed)
    monkeypatch.setattr("os.dup2", lambda *_: None)
    target = tmp_path / "run.json"
    assert main([*verify, "--json", str(target)]) == 141
    assert decode(target.read_bytes()).results


@for_each(
    "error",
    [SystemExit(0), SystemExit(), GeneratorExit(), KeyboardInterrupt()],
    ids=repr,
)
def test_a_check_that_exits_is_an_error_with_exit_code_1(
    error: BaseException,
    verify: list[str],
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from tests.unit.cli.conftest import toy_checks

    def leave(*_: object) -> Fraction:
        raise error

    checks = toy_checks()
    checks.add(
        ExhaustiveCheck("lemma-1", "leaving", points=lambda _: [{"n": 1}], lhs=leave)
    )
    monkeypatch.setattr(papers, "load", lambda _: checks)
    assert main(verify) == 1
    assert f"lemma-1: leaving: {type(error).__name__}" in capsys.readouterr().err


def test_checks_that_exit_when_they_are_imported_are_bad_input(
    toy: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    for name, text in (
        ("leaves_at_once", "raise SystemExit(0)"),
        ("cannot_go_on", "raise GeneratorExit"),
    ):
        package = tmp_path / name
        package.mkdir()
        (package / "__init__.py").touch()
        (package / "checks.py").write_text(
            f'{text}\nCHECKS = PaperChecks("toy", __name__)\n'
        )
        (tmp_path / f"{name}_module.py").write_text(text + "\n")
        for source in (f"{name}_module:load", name):
            assert main(["verify", "--specs", str(toy), "--checks", source]) == 2
            said = capsys.readouterr().err
            assert text.split()[1].partition("(")[0] in said
            assert said.count("\n") == 1
