"""What happens between the run and the processes that measure; real processes, on a group that takes no time."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpverify.bench import children, commands
from dpverify.bench import run as running
from dpverify.bench.case import Usage
from dpverify.bench.child import Answer, Request
from dpverify.bench.children import ask
from dpverify.bench.commands import ONE_THREAD, CommandError, cold, environment_of, python, run_command
from dpverify.bench.measure import Measured, Times
from dpverify.bench.registry import Group
from dpverify.bench.run import Amount, run
from tests.unit.bench.runs import case

TOY = '''
"""Toys."""
import os
import numpy as np
from dpverify.bench.case import Case

def good(*, seed):
    print("what a case prints is no answer")
    return {"limit": lambda: None, "ours": lambda: sum(range(50))}

def wrong(*, seed):
    raise ValueError("of two\\nlines")

def dies(*, seed):
    os._exit(7)

def memory(*, seed):
    return {"one": lambda: np.ones(2**20).sum(), "two": lambda: np.ones(2**22).sum()}

CASES = (
    Case("good", "Good", good, limit="limit", counts=lambda: {"ours": {"additions": 50}}, memory=memory),
    Case("wrong", "Wrong", wrong, limit="limit"),
    Case("dies", "Dies", dies, limit="limit"),
    Case("after", "After", good, limit="limit"),
)
'''


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processes find the toys in the place of the group ``noise``."""
    (tmp_path / "toys.py").write_text(TOY)
    (tmp_path / "child.py").write_text(
        textwrap.dedent(
            """
            import sys
            import toys
            sys.modules["dpverify.bench.cases.noise"] = toys
            from dpverify.bench.child import main
            sys.exit(main())
            """
        )
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(children, "python", lambda *_: (sys.executable, str(tmp_path / "child.py")))


@pytest.mark.usefixtures("toys")
def test_a_process_that_dies_costs_one_case() -> None:
    answers = list(ask(Request(group="noise", cases=["good", "wrong", "dies", "after"], seed=1, rounds=2)))
    ended = {each.case: each for each in answers if each.error or each.measured}
    assert list(ended) == ["good", "wrong", "dies", "after"]
    assert ended["good"].counts == {"ours": {"additions": 50.0}}
    assert ended["wrong"].error == "ValueError: of two lines"
    assert "exit code 7" in ended["dies"].error
    for name in ("good", "after"):
        found = ended[name].measured
        assert found is not None
        rounds = [len(times.seconds) for times in found.times.values()]
        assert rounds in ([2, 2], [1, 1])  # one where a round took long: the machine may be busy


@pytest.mark.usefixtures("toys")
def test_memory_of_one_form() -> None:
    first, second = (
        next(answer for answer in ask(Request(group="noise", cases=["good"], seed=1, memory=place)) if answer.form)
        for place in (0, 1)
    )
    assert (first.form, second.form, first.forms) == ("one", "two", 2)
    assert first.added is not None
    assert second.added is not None
    assert 7 * 2**20 < first.added < 12 * 2**20
    assert 31 * 2**20 < second.added < 36 * 2**20


def fake(answers: list[Request]) -> object:
    def ask_(request: Request) -> Iterator[Answer]:
        answers.append(request)
        for name in request.cases:
            if request.memory is not None:
                yield Answer(case=name, form=f"form {request.memory}", added=100, forms=2)
            elif name == "broken":
                yield Answer(case=name, error="no")
            elif name == "interrupted" and request.turn == 1:
                raise KeyboardInterrupt
            else:
                yield Answer(case=name, measured=Measured({"limit": Times([1.0]), "ours": Times([2.0])}))

    return ask_


def test_passes_go_through_all_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Request] = []
    monkeypatch.setattr(running, "ask", fake(asked))
    groups = [
        Group("noise", "Noise", (case("a"), case("broken"), case("rare", passes=1))),
        Group("audit", "Audit", (case("b", memory=lambda **_: {}),)),
    ]
    told: list[tuple[int, int, str]] = []
    found = run(groups, Amount(2, 5), progress=lambda *each: told.append(each))
    assert [(each.group, each.turn, each.cases) for each in asked if each.memory is None] == [
        ("noise", 0, ["a", "broken", "rare"]),
        ("audit", 0, ["b"]),
        ("noise", 1, ["a"]),
        ("audit", 1, ["b"]),
    ]
    assert len({each.seed for each in asked}) == 1  # the input is the same in every pass
    assert [each.memory for each in asked if each.memory is not None] == [0, 1]
    assert {each.name: len(each.forms[0].samples) for each in found.cases if each.forms} == {"a": 2, "rare": 1, "b": 2}
    assert [each.error for each in found.cases if each.name == "broken"] == ["no"]
    assert found.groups == {"noise": "Noise", "audit": "Audit"}
    assert [done for done, _, _ in told] == sorted(done for done, _, _ in told)
    assert told[-1][:2] == (6, 7)


def test_an_interrupted_run_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ask", fake([]))
    found = run([Group("noise", "Noise", (case("a"), case("interrupted"), case("b")))], Amount(3, 5))
    assert found.runs[0].interrupted
    assert {each.name: len(each.forms[0].samples) for each in found.cases} == {"a": 2, "interrupted": 1, "b": 1}


def test_a_command_and_its_peak_memory() -> None:
    used = run_command(python("-c", "x = bytearray(200 * 2**20)"))
    assert 200 * 2**20 < used.peak < 300 * 2**20


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(CommandError, match=r"^python -c .*: exit code 3: no such thing"):
        run_command(python("-c", "import sys; print('no such thing', file=sys.stderr); sys.exit(3)"))
    assert isinstance(run_command(python("-c", "import sys; sys.exit(3)"), codes=(0, 3)), Usage)


def test_a_cold_command_has_an_empty_folder_of_its_own(tmp_path: Path) -> None:
    look = "import os, pathlib; f = pathlib.Path(os.environ['NUMBA_CACHE_DIR']); "
    form = cold(python("-c", look + f"open(r'{tmp_path}/seen', 'a').write(f'{{f}} {{len(list(f.iterdir()))}}\\n')"))
    form()
    form()
    seen = [line.split() for line in (tmp_path / "seen").read_text().splitlines()]
    assert [count for _, count in seen] == ["0", "0"]
    assert len({folder for folder, _ in seen}) == 2
    assert not any(Path(folder).exists() for folder, _ in seen)


def test_the_environment_finds_this_package(tmp_path: Path) -> None:
    assert environment_of(tmp_path)[commands.CACHE_VARIABLE] == str(tmp_path)


def test_linear_algebra_has_one_thread_where_we_measure_and_its_own_in_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ONE_THREAD:
        monkeypatch.setenv(name, "1")  # as in a process that measures
    run_command(python("-c", f"import json, os; json.dump(dict(os.environ), open(r'{tmp_path}/seen', 'w'))"))
    assert not set(ONE_THREAD) & set(json.loads((tmp_path / "seen").read_text()))


def test_the_seconds_of_cores_of_a_command_count_the_processes_that_it_waited_for() -> None:
    busy = "import time; end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
    used = run_command(python("-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {busy!r}])"))
    assert used.core_seconds >= 0.2
    assert used.seconds is not None
    assert used.seconds >= 0.2
