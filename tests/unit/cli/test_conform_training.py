"""``dpverify conform --training``: the example of the guide, mistakes in it, and what is refused."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpverify.cli import main
from tests.for_each import for_each

EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "my_training.py"


def test_the_example_conforms_and_mistakes_in_it_are_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["conform", f"{EXAMPLE}:make", "--training", "--timeout", "0"]) == 0
    assert "No fault found" in capsys.readouterr().out
    for number, (old, new, fault) in enumerate(
        [
            (
                "len(dataset)) < RATE",
                "len(dataset)) < BATCH / len(dataset)",
                "number of records and rate",
            ),
            (
                "np.linalg.norm(gradients, axis=1, keepdims=True)",
                "np.abs(gradients)",
                "sensitivity, linear model",
            ),
        ]
    ):
        text = EXAMPLE.read_text()
        assert text.count(old) == 1
        wrong = tmp_path / f"wrong_{number}.py"
        wrong.write_text(text.replace(old, new))
        assert main(["conform", f"{wrong}:make", "--training", "--timeout", "0"]) == 1
        assert capsys.readouterr().out.startswith(f"FAULT  {fault}")


@for_each(
    ("text", "options", "message"),
    [
        (
            "def make(dataset, seed): return []",
            ["--training"],
            "must be in a module with a PROMISE",
        ),
        ("make = 3", ["--training"], "must be a function"),
        ("def make(): return 1", ["--ranks", "2"], "needs --training"),
        (
            "def make(): return 1",
            ["--training", "--outputs", "2000"],
            "is tested without them",
        ),
        (
            EXAMPLE.read_text(),
            ["--training", "--ranks", "9"],
            "ranks must be 1 to 4, got ranks=9",
        ),
    ],
)
def test_what_cannot_be_tested_is_one_line(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    options: list[str],
    message: str,
) -> None:
    file = tmp_path / f"file_{abs(hash(text))}.py"
    file.write_text(text)
    assert main(["conform", f"{file}:make", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


HANGING = """
import time
from dpverify.conform import Promise
PROMISE = Promise(sigma=1.1, clip=0.7)
def make(dataset, seed):
    time.sleep(600)
"""


def test_a_training_that_hangs_is_a_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hanging.py"
    file.write_text(HANGING)
    assert main(["conform", f"{file}:make", "--training", "--timeout", "1"]) == 1
    assert "training did not return within 1 s" in capsys.readouterr().out


@pytest.mark.slow
def test_the_example_in_pytorch_conforms_on_ranks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("torch", reason="the extra `torch` is not installed")
    example = EXAMPLE.parent / "my_torch_training.py"
    assert (
        main(
            [
                "conform",
                f"{example}:make",
                "--training",
                "--ranks",
                "2",
                "--timeout",
                "300",
                "--verbose",
            ]
        )
        == 0
    )
    assert "ranks: updates of 2 ranks differ by at most 0 promised" in " ".join(
        capsys.readouterr().out.split()
    )


@pytest.mark.slow
def test_ctrl_c_ends_with_130(tmp_path: Path) -> None:
    file = tmp_path / "interrupted.py"
    file.write_text(
        HANGING.replace(
            "time.sleep(600)",
            f"open({str(tmp_path / 'begun')!r}, 'w'); time.sleep(600)",
        )
    )
    words = [sys.executable, "-m", "dpverify", "conform", f"{file}:make", "--training"]
    process = subprocess.Popen(words, start_new_session=True)
    try:
        while not (tmp_path / "begun").exists():
            assert process.poll() is None
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
    finally:
        process.kill()
        process.wait()
