"""An optimizer in one user file is trained, calibrated, compared, audited and tested without any other change."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import dpverify as dv
from dpverify.algorithms import registry
from dpverify.cli import main
from dpverify.compare.records import CompareRequest
from dpverify.compare.run import compare
from dpverify.kernels.check import ArgumentError
from dpverify.train import Request, train

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "my_algorithm.py"
TARGET = f"{EXAMPLE}:DESCENT"

Capture = pytest.CaptureFixture[str]


def test_its_file_is_short() -> None:
    assert len(EXAMPLE.read_text().splitlines()) <= 80


def test_it_is_trained_with_the_noise_that_its_accountant_asks_for(
    tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "run.json"
    words = [
        "--steps",
        "20",
        "--epsilon",
        "2",
        "--delta",
        "1e-5",
        "--no-figure",
        "--json",
        str(file),
    ]
    assert main(["train", TARGET, *words]) == 0
    run = json.loads(file.read_text())
    assert run["algorithm"] == "my-descent"
    assert dv.epsilon(run["settings"]["sigma"], 1e-5, steps=20).upper <= 2.0
    assert "eta = 1" in capsys.readouterr().out
    assert (
        train(Request(TARGET, steps=20, sigma=run["settings"]["sigma"])).w == run["w"]
    )
    assert main(["train", TARGET, "--gamma", "0.5"]) == 2
    assert "Unknown option" in capsys.readouterr().err


def test_it_is_calibrated(tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    words = [
        "--n",
        "1000",
        "--steps",
        "20",
        "--epsilon",
        "2",
        "--delta",
        "1e-5",
        "--json",
        str(file),
    ]
    assert main(["calibrate", TARGET, *words]) == 0
    assert json.loads(file.read_text())["sigma"] == dv.sigma(2.0, 1e-5, steps=20)


def test_it_is_compared_after_the_usual_methods() -> None:
    asked: dict[str, Any] = {
        "epsilon": 2.0,
        "delta": 1e-4,
        "n": 60,
        "epochs": 2,
        "seeds": 2,
        "standardise": False,
    }
    result = compare(CompareRequest(**asked, also=(TARGET,)))
    usual = compare(CompareRequest(**asked))
    assert result.methods[:-1] == usual.methods
    assert result.methods[-1].name == "my-descent"
    assert result.methods[-1].epsilon == 2.0
    assert len(result.methods[-1].outcomes) == 2


def test_it_is_audited_and_tested(capsys: Capture) -> None:
    assert main(["audit", TARGET, "--n", "4000"]) == 0
    assert "not refuted" in capsys.readouterr().out
    assert main(["conform", TARGET]) == 0


def test_a_claim_that_its_noise_does_not_keep_is_refuted(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    copy = folder / "quiet.py"
    shutil.copy(EXAMPLE, copy)
    copy.write_text(copy.read_text().replace("moved + 2.0 *", "moved + 0.5 *"))
    assert main(["audit", f"{copy}:DESCENT", "--n", "4000"]) == 1


@pytest.mark.parametrize(
    ("target", "rule"),
    [
        (f"{EXAMPLE}:CLIP", "must be an Algorithm of dpverify.algorithms"),
        (f"{EXAMPLE}:NOTHING", "has no 'NOTHING'"),
        ("nowhere.py:X", "there is no such file nowhere.py"),
    ],
)
def test_what_is_no_algorithm_is_refused_in_one_line(
    target: str, rule: str, capsys: Capture
) -> None:
    assert main(["train", target]) == 2
    message = capsys.readouterr().err
    assert rule in message
    assert message.count("\n") == 1


class Entry:
    """An entry point of another package."""

    def __init__(self, name: str, loaded: object) -> None:
        self.name = name
        self.value = f"package:{name}"
        self.loaded = loaded

    def load(self) -> object:
        if isinstance(self.loaded, BaseException):
            raise self.loaded
        return self.loaded


def test_another_package_registers_algorithms(monkeypatch: pytest.MonkeyPatch) -> None:
    own = registry.algorithm_named(TARGET)
    entries = [Entry("own", own), Entry("broken", SystemExit(3)), Entry("number", 7)]
    monkeypatch.setattr(
        registry,
        "entry_points",
        lambda group: entries if group == registry.GROUP else [],
    )
    monkeypatch.setattr(registry, "UNUSABLE", {})
    assert [*registry.all_algorithms()][-1] is own
    for name in ("broken", "number"):
        with pytest.raises(ArgumentError, match="cannot be loaded"):
            registry.algorithm_named(name)
