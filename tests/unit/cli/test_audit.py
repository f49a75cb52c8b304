"""``dpverify audit`` on modules of a user's: answers, exit codes, and one line for whatever is wrong."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

from dpverify.cli import main
from tests.for_each import for_each

MODULE = """
import ctypes
import os
import signal

import numpy as np

SIGMA = 3.7306316348

def good(dataset, rng, size):
    return dataset.sum() + SIGMA * rng.normal(size=size)

def short(dataset, rng):
    return dataset.sum() + 0.85 * SIGMA * rng.normal()

def outright(dataset, rng):
    return dataset

def raises(dataset, rng):
    raise RuntimeError("line one\\nline two")

def undefined(dataset, rng):
    return float("nan")

def stopped(dataset, rng):
    stopped.calls = getattr(stopped, "calls", 0) + 1
    if stopped.calls > 3000:
        os.kill(os.getpid(), signal.SIGINT)
    return dataset.sum() + rng.normal()

def leaving(dataset, rng):
    os._exit(0)

def hanging(dataset, rng):
    ctypes.PyDLL(None).sleep(600)  # in C, with the interpreter's lock

def exiting(dataset, rng):
    raise SystemExit(0)

def closing(dataset, rng):
    raise GeneratorExit

def interrupting(dataset, rng):
    raise KeyboardInterrupt

def pair():
    return np.zeros(3), np.array([0.0, 1.0, 0.0])

def no_pair():
    return 1 / 0

def first(outputs):
    return outputs

number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))  # and taken off again after the test
    path = tmp_path / "mechanisms_of_a_user.py"
    path.write_text(MODULE)
    return path


def test_a_claim_that_holds_is_never_called_private(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["audit", "mechanisms_of_a_user:good", "--epsilon", "1", "--n", "20000"])
        == 0
    )
    out = capsys.readouterr().out
    assert "not refuted at this power" in out
    assert "short is refuted with chance 90%" in out
    assert "private" not in out


def test_sigma_too_small_is_refuted_with_exit_code_1(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [
        "audit",
        f"{module}:short",
        "--datasets",
        f"{module}:pair",
        "--epsilon",
        "1",
        "--law",
        "gaussian",
    ]
    assert main([*words, "--n", "40000"]) == 1
    assert "refuted at 95% confidence" in capsys.readouterr().out


def test_json_goes_to_stdout_and_words_to_stderr(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(
            [
                "audit",
                f"{module.name}:outright",
                "--epsilon",
                "3",
                "--n",
                "2000",
                "--json",
                "-",
            ]
        )
        == 1
    )
    out, err = capsys.readouterr()
    result = json.loads(out)
    assert result["verdict"] == "refuted"
    assert result["p_value"] < 1e-6
    assert result["bound"]["epsilon"] > 3.0
    assert result["evidence"]["wrong"] == 0
    assert "refuted" in err


def test_without_a_claim_there_is_a_bound_and_no_verdict(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", f"{module}:good", "--n", "5000"]) == 0
    out = capsys.readouterr().out
    assert "epsilon >= " in out
    assert "no claim to refute" in out


def test_ctrl_c_ends_with_what_was_drawn(
    module: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = tmp_path / "audit.json"
    assert (
        main(
            [
                "audit",
                f"{module}:stopped",
                "--epsilon",
                "1",
                "--n",
                "3000",
                "--json",
                str(target),
            ]
        )
        == 130
    )
    out, err = capsys.readouterr()
    assert "epsilon >= " in out
    assert "interrupted" in err
    result = json.loads(target.read_text())
    assert result["interrupted"]
    assert 0 < result["evidence"]["trials"] < 3000


@for_each(("words", "message"), [
    (["{m}:raises"], "mechanism: raised RuntimeError: line one line two (call 1, data set 0)"),
    (["{m}:undefined"], "mechanism: returned nan (call 1, data set 0): must be finite"),
    (["{m}:god"], "did you mean 'good'?"),
    (["{m}:number"], "must be a function, is int"),
    (["nowhere_at_all:good"], "cannot be imported: ModuleNotFoundError"),
    (["nowhere.py:good"], "there is no such file"),
    (["good"], "must be module:function, or file.py:function"),
    (["{m}:good", "--datasets", "{m}:no_pair"], "raised ZeroDivisionError"),
    (["{m}:good", "--datasets", "{m}:number"], "must be a pair"),
    (["{m}:good", "--score", "{m}:raises", "--n", "500"], "score: raised TypeError"),
    (["{m}:good", "--n", "0"], "n: 0: must be between"),
    (["{m}:good", "--epsilon", "nan"], "'nan' must be a finite number"),
    (["{m}:good", "--delta", "1"], "delta: 1.0"),
    (["{m}:good", "--confidence", "95"], "confidence: 95.0"),
    (["{m}:good", "--json", ""], "--json"),
    (["dp-nsgd", "--datasets", "{m}:pair"], "brings its own"),
    (["dp-nsgd", "--delta", "-1"], "delta: -1.0"),
])  # fmt: skip
def test_bad_input_gets_one_line_and_exit_code_2(
    module: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["audit", *(word.format(m=module) for word in words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert message in err


@for_each(
    ("kernel", "n"),
    [("dp-nsgd", 20_000), ("sr-nsgd", 500), ("dp-srm", 4000), ("dpageem", 4000)],
)
def test_kernels_are_audited_against_the_accountant(
    kernel: str, n: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", kernel, "--n", str(n)]) == 0
    assert re.search(
        r"the accountant says ([\d.]+ <= )?epsilon <= ", capsys.readouterr().out
    )


@for_each("kernel", ["dp-srm", "dpageem"])
def test_batches_reach_what_less_noise_would_be_blamed_for(
    kernel: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The score is the likelihood ratio: a third of the certified epsilon is refuted by few outputs."""
    assert (
        main(["audit", kernel, "--n", "4000", "--delta", "0.01", "--epsilon", "1.2"])
        == 1
    )
    assert "refuted at 95% confidence" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("leaving", "mechanism ended its process with exit code 0"),
        ("hanging", "mechanism did not return within 10 s"),
        ("exiting", "mechanism: raised SystemExit: 0"),
        ("closing", "mechanism: raised GeneratorExit"),
        ("interrupting", "mechanism: raised KeyboardInterrupt"),
    ],
)
def test_a_mechanism_that_does_not_return_is_a_named_failure(
    name: str, message: str, module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", f"{module}:{name}", "--n", "100", "--timeout", "10"]) == 2
    assert message in capsys.readouterr().err


def test_a_report_has_the_audit_and_json_on_stdout_stays_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "reported.py"
    file.write_text(
        "import os\n"
        f"open({str(tmp_path / 'loaded')!r}, 'a').write(f'{{os.getpid()}}\\n')\n"
        "def gauss(data, rng, size=1):\n"
        "    '''Noise on a sum.'''\n"
        "    return sum(data) + rng.standard_normal((size, 1))\n"
    )
    report = tmp_path / "report"
    assert (
        main(
            [
                "audit",
                f"{file}:gauss",
                "--n",
                "400",
                "--report",
                str(report),
                "--json",
                "-",
            ]
        )
        == 0
    )
    said = capsys.readouterr()
    assert json.loads(said.out)["n"] == 400
    assert f"wrote {report / 'peers.md'}" in " ".join(said.err.split())
    assert "| Noise on a sum. |" in (report / "peers.md").read_text("utf-8")
    assert str(os.getpid()) not in (tmp_path / "loaded").read_text().split(), (
        "foreign code runs in its own process"
    )
