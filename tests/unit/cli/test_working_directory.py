"""Files of the working directory are never imported in place of a library, by a command or by its children."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverify.selftest.detection import _close, _launcher

NAMES = """
asyncio concurrent flint hashlib hypothesis json logging matplotlib mpmath mpyc msgspec
multiprocessing numba numpy pickle pytest random rich runpy scipy selectors sklearn socket struct
subprocess sympy tempfile threading tomllib warnings
"""
TRACE = """
import os
with open({trace!r}, "a") as file:
    file.write(__name__ + " ")
raise ImportError("hostile " + __name__)
"""
COMMANDS = {
    "list": ["list"],
    "doctor": ["doctor"],
    "explain": ["explain", "tran2022:lemma-12"],
    "verify": [
        "verify",
        "tran2022:proposition-13",
        "tran2022:lemma-12-count",
        "--jobs",
        "2",
        "--report",
        "report",
    ],
    "verify early": ["verify", "tran2022:proposition-13"],
    "certify": [
        "certify",
        "tran2022:lemma-12-count",
        "tran2022:proposition-13",
        "--jobs",
        "2",
        "--out",
        "certificates",
    ],
    "train": ["train", "--sigma", "1", "--steps", "2", "--points", "2"],
    "parties": [
        "train",
        "--algorithm",
        "ddp-srm",
        "--parties",
        "3",
        "--sigma",
        "1",
        "--steps",
        "2",
        "--batch",
        "3",
    ],
    "calibrate": [
        "calibrate",
        "--n",
        "100",
        "--d",
        "2",
        "--epochs",
        "1",
        "--epsilon",
        "1",
        "--delta",
        "1e-5",
    ],
    "prove": ["prove", "tran2022:lemma-12-count"],
    "rules": ["rules", "popcount"],
    "new-paper": ["new-paper", "mine2026", "."],
    "bench": ["bench", "monte-carlo", "--list"],
}


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder with a file under the name of each library that the commands load."""
    for name in NAMES.split():
        (tmp_path / f"{name}.py").write_text(
            TRACE.format(trace=str(tmp_path / "trace"))
        )
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    apart = {"PYTHONPATH", "PYTHONSAFEPATH"}
    kept = {name: value for name, value in os.environ.items() if name not in apart}
    return kept | {"DPVERIFY_STORE": str(folder / "store.sqlite")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "as_module"),
    [*((name, False) for name in COMMANDS), ("list", True), ("verify", True)],
)
def test_no_file_of_the_working_directory_is_executed(
    name: str, as_module: bool, hostile: Path
) -> None:
    if name == "parties":
        pytest.importorskip("mpyc", reason="the extra mpc is not installed")
    start = [str(Path(sys.executable).with_name("dpverify"))]
    if as_module:
        start = [sys.executable, "-m", "dpverify"]
        for own in ("runpy", "warnings"):  # Python loads these itself, before dpverify
            (hostile / f"{own}.py").unlink()
    command = [*start, *COMMANDS[name]]
    done = subprocess.run(
        command,
        cwd=hostile,
        env=environment(hostile),
        capture_output=True,
        text=True,
        check=False,
    )
    trace = hostile / "trace"
    assert not trace.exists(), trace.read_text()
    assert done.returncode == 0, done.stderr


def test_a_launcher_of_the_selftest_executes_none(
    hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile)
    launcher = _launcher()
    assert launcher.stdin is not None
    launcher.stdin.close()
    assert launcher.wait() == 0
    _close(launcher)
    assert not (hostile / "trace").exists()


def test_the_test_sees_a_file_that_is_executed(hostile: Path) -> None:
    """The planted fault: a child without -P."""
    command = [sys.executable, "-c", "import numpy"]
    subprocess.run(
        command, cwd=hostile, env=environment(hostile), capture_output=True, check=False
    )
    assert (hostile / "trace").read_text() == "numpy "
