"""The runner on a toy checkout: a fault that is noticed, one that is missed, a broken one, and a second run."""

import json
import os
import re
import shutil
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from dpverify.cli.app import main
from dpverify.foreign import interrupts_recorded
from dpverify.selftest import run as module
from dpverify.selftest.catalogue import load_faults
from dpverify.selftest.detection import Children, run_guards
from dpverify.selftest.records import FaultOutcome, Selftest
from dpverify.selftest.run import (
    FailingGuardsError,
    load_outcomes,
    selftest,
    work_folder,
)
from tests.for_each import for_each

CODE = "def area(x):\n    if x < 0:\n        raise ValueError(x)\n    return x * x\n"
TESTS = """
import runpy
area = runpy.run_path("specs/toy.py")["area"]
def test_square(): assert area(3) == 9
def test_twice(): assert area(2) == 4 and area(1) == 1
def test_zero(): assert area(0) == 0
"""
FAULTS = {
    "power": ("x * x", "x ** 3", "test_square"),
    "twice": ("x * x", "x + x", "test_zero"),
    "raises": ("x < 0", "x < 5", "test_square"),
    "name": ("x * x", "x * y", "test_square"),
    "import": (
        "def area(x):",
        "import nothing_of_the_kind\ndef area(x):",
        "test_square",
    ),
}
FAULT = """
[[fault]]
id = {!r}
kind = "constant"
what = "a fault"
module = "specs/toy.py"
old = {!r}
new = '''{}'''
noticed_by = ["tests/test_toy.py::{}"]
"""


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("dpverify.selftest.detection.LIBRARIES", ("pytest",))
    root = tmp_path / "toy"
    (root / "specs" / "faults").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (root / "specs" / "toy.py").write_text(CODE)
    (root / "tests" / "test_toy.py").write_text(TESTS)
    text = "".join(FAULT.format(name, *parts) for name, parts in FAULTS.items())
    (root / "specs" / "faults" / "toy.toml").write_text(text)
    return root


def saw(run: Selftest) -> dict[str, str]:
    return {fault.id: fault.sightings[0].saw for fault in run.faults}


@pytest.mark.slow
def test_faults_are_noticed_or_missed_and_not_looked_at_again(
    toy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, told, counts = toy / "state", list[str](), list[tuple[int, int]]()

    def tell(done: int, total: int, label: str) -> None:
        told.append(label)
        counts.append((done, total))

    run = selftest(toy, load_faults(toy), state, jobs=2, report=tell)
    assert counts == [(done, len(FAULTS)) for done in range(len(FAULTS) + 1)]
    assert saw(run) == {
        "power": "assertion failed",
        "twice": "nothing",
        "raises": "exception raised",
        "name": "did not run",
        "import": "did not run",
    }
    assert [fault.id for fault in run.missed] == ["twice", "name", "import"]
    assert "twice: MISSED" in told
    assert (toy / "specs" / "toy.py").read_text() == CODE
    state.write_bytes(state.read_bytes() + b'["half a line')
    monkeypatch.setattr(module, "run_guards", None)  # nothing is run again
    again = selftest(toy, load_faults(toy), state)
    assert again.faults == run.faults
    (toy / "tests" / "test_other.py").write_text("")
    assert selftest(toy, load_faults(toy), state).faults == run.faults
    for path in ("tests/test_toy.py", "specs/toy.py", "pyproject.toml"):
        before = (toy / path).read_text()
        (toy / path).write_text(before + "\n")
        with pytest.raises(TypeError):  # other code: all is looked at again
            selftest(toy, load_faults(toy), state)
        (toy / path).write_text(before)


@pytest.mark.slow
def test_the_exit_code_is_1_where_a_fault_is_missed(
    toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["selftest", "--root", str(toy), "--jobs", "1"]
    assert main([*words, "--only", "power", "--report", str(toy / "out")]) == 0
    assert "1 faults, 1 noticed, 0 missed" in capsys.readouterr().out
    assert "test_square" in (toy / "out" / "selftest.md").read_text(encoding="utf-8")
    assert main([*words, "--only", "twice"]) == 1
    assert "twice" in capsys.readouterr().out
    assert main([*words, "--only", "none"]) == 2
    assert main([*words, "--tenth", "10"]) == 2
    assert main(["selftest", "--root", str(toy / "specs")]) == 2


ENTRY = msgspec.json.encode(
    ("0" * 64, FaultOutcome(id="x", kind="k", what="w", module="m"))
)


def test_an_entry_that_was_being_written_is_none_wherever_it_ends(
    tmp_path: Path,
) -> None:
    state = tmp_path / "state"
    for end in range(len(ENTRY)):
        state.write_bytes(
            b"\n" + ENTRY[:end] + b"\n" + ENTRY.replace(b"0" * 64, b"1" * 64) + b"\n"
        )
        assert list(load_outcomes(state)) == ["1" * 64]
    # the first by another version
    state.write_bytes(b"\n" + ENTRY.replace(b'"what"', b'"why"') + b"\n\n" + ENTRY)
    assert list(load_outcomes(state)) == ["0" * 64]


@for_each(
    "content",
    [
        b"my notes\n",
        bytes(100),
        b"\x89PNG\r\n\x1a\n",
        b"[1]\n",
        ENTRY.replace(b'"id"', b'\x07id"'),
    ],
)
def test_a_state_that_is_damaged_or_another_file_is_refused_and_stays_as_it_is(
    content: bytes, toy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = toy / "state"
    state.write_bytes(content)
    for more in ([], ["--modules"]):
        assert main(["selftest", "--root", str(toy), "--state", str(state), *more]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "must be what a selftest wrote, or new (entry 1 is " in line
    assert state.read_bytes() == content
    assert main(["selftest", "--root", str(toy), "--state", str(toy)]) == 2
    assert "Is a directory" in capsys.readouterr().err


def test_a_fault_that_has_no_place_is_missed(toy: Path) -> None:
    path = toy / "specs" / "faults" / "toy.toml"
    path.write_text(FAULT.format("gone", "x / x", "x", "test_square"))
    (found,) = selftest(toy, load_faults(toy), toy / "state").faults
    assert "stands 0 times" in found.missed[0]


def test_a_copy_has_what_tests_read() -> None:
    tests = Path(__file__).parents[2]
    named = re.compile(r'\b(?:ROOT|parents\[\d\]) / "([^"]+)"')
    names = {
        name
        for path in tests.rglob("*.py")
        for name in named.findall(path.read_text("utf-8"))
    }
    # states of earlier selftests
    read = {name for name in names if not name.startswith(".selftest")}
    assert {"reports", ".ci"} <= read
    assert {name for name in read if (tests.parent / name).exists()} <= set(
        module.COPIED
    )


def test_nothing_is_planted_where_the_code_is_red(toy: Path) -> None:
    (toy / "specs" / "toy.py").write_text(CODE.replace("x * x", "x + x"))
    with pytest.raises(FailingGuardsError, match=r"test_square: assertion failed"):
        selftest(toy, load_faults(toy)[:1], toy / "state")


def test_a_time_limit_notices_nothing(toy: Path) -> None:
    (toy / "tests" / "test_toy.py").write_text(
        "import time\ndef test_square(): time.sleep(60)\n"
    )
    children = Children()
    (found,) = run_guards(children, toy, ["tests/test_toy.py::test_square"], 1.0)
    children.end()
    assert (found.saw, found.noticed) == ("time limit", False)


class Recorded(Children):
    """A run of claims that ends at once, with an exit code and results."""

    def __init__(self, code: int, *results: dict[str, Any]) -> None:
        super().__init__()
        self.code, self.results, self.words = code, results, list[str]()

    def run(self, folder: Path, words: Sequence[str], until: float) -> int | None:
        self.words = list(words)
        info = {
            "versions": {},
            "seed": 0,
            "budget": "smoke",
            "commit": "",
            "machine": {},
        }
        data = {
            "run": info,
            "results": [{**RESULT, **result} for result in self.results],
        }
        Path(words[words.index("--json") + 1]).write_text(json.dumps(data))
        return self.code


RESULT = {
    "claim": "p:c", "reading": {}, "status": "proved", "reason": "", "pinned": "proved", "contradicts": False,
    "sources_disagree": False, "record_hash": "", "evidence_hash": "", "kind": "count", "where": "", "quote": "",
    "printed": "", "latex": "",
}  # fmt: skip
CHECK = {
    "name": "law",
    "method": "monte-carlo",
    "status": "inconclusive",
    "detects": "2%",
}
OPEN = {"name": "ours", "whose": "ours", "steps": [], "complete": False}
CONTROL = {
    "name": "scale",
    "fault": "times 1.02",
    "at_declared_size": True,
    "refuted": False,
}


@for_each(
    ("code", "result", "word"),
    [
        (0, {}, "nothing"),
        (1, {}, "nothing"),
        (0, {"contradicts": True}, "nothing"),
        (1, {"contradicts": True}, "pin contradicted"),
        (
            1,
            {"sources_disagree": True, "checks": [{**CHECK, "kernel_disagrees": True}]},
            "sources disagree",
        ),
        (1, {"checks": [{**CHECK, "controls": [CONTROL]}]}, "control missed"),
        (
            1,
            {"status": "not refuted", "checks": [{**CHECK, "derivation": OPEN}]},
            "proof lost",
        ),
        (1, {"checks": [{**CHECK, "error": "ValueError: no"}]}, "exception raised"),
        (1, {"checks": [{**CHECK, "error": "NameError: no"}]}, "did not run"),
        (1, {"claim": "p:other", "contradicts": True}, "did not run"),
        (2, {"contradicts": True}, "did not run"),
    ],
)
def test_a_claim_notices_when_it_is_red(
    tmp_path: Path, code: int, result: dict[str, Any], word: str
) -> None:
    (found,) = run_guards(Recorded(code, result), tmp_path, ["p:c"], 9.0)
    assert (found.check, found.saw) == ("p:c", word)
    assert found.detects == (["2%"] if result.get("checks") else [])


@for_each("stop", [False, True])
def test_what_a_copy_finds_is_not_kept_with_what_the_checkout_found(
    tmp_path: Path, stop: bool
) -> None:
    asked = Recorded(0, {})
    run_guards(asked, tmp_path, ["p:c"], 9.0, stop=stop)
    assert "--fresh" in asked.words
    store = Path(asked.words[asked.words.index("--store") + 1])
    # which goes
    assert store.parent == Path(asked.words[asked.words.index("--json") + 1]).parent
    assert not store.parent.exists()


def test_a_copy_has_compiled_code_but_none_of_tests(tmp_path: Path) -> None:
    cache = tmp_path / "from" / "tests" / "__pycache__"
    cache.mkdir(parents=True)
    for name in (
        "kernel.nbc",
        "test_a.cpython-313.pyc",
        "test_a.cpython-313-pytest-9.0.2.pyc",
    ):
        (cache / name).write_text("")
    module.copy(tmp_path / "from", tmp_path / "to")
    names = {path.name for path in (tmp_path / "to").rglob("*") if path.is_file()}
    assert names == {"kernel.nbc", "test_a.cpython-313.pyc"}


def test_a_second_interrupt_leaves_no_copy_with_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folders: list[Path] = []
    delete = shutil.rmtree

    def interrupted(folder: Path, **options: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        delete(folder, **options)

    def work() -> None:
        with work_folder("dpverify-selftest-") as folder:
            folders.append(folder)
            (folder / "fault.py").write_text("x = 1")
            monkeypatch.setattr("dpverify.selftest.run.shutil.rmtree", interrupted)
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(10.0)

    with interrupts_recorded(), pytest.raises(KeyboardInterrupt):
        work()
    (folder,) = folders
    assert not folder.exists()
