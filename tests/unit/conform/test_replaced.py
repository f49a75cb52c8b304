"""Foreign code that replaces functions of the tests, or their end: a finding, with every other finding kept."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.cli import main
from dpverify.conform import (
    Conformance,
    PrivateOptimizer,
    conformance,
    neighbours,
    records,
)
from dpverify.conform import run as tests
from dpverify.conform.replay import generators
from tests.for_each import for_each
from tests.unit.conform.catalogue import promise

PROMISE = promise(steps=2, dimension=2)


def zero(*_: object, **__: object) -> Any:
    return 0.0


def nothing(*_: object, **__: object) -> Any:
    return iter(())


def with_code(function: Any, replacement: Any) -> None:
    function.__code__ = replacement.__code__


def passing(self: Any, *_: object, **__: object) -> None:
    object.__setattr__(self, "passed", True)


REPLACEMENTS: dict[str, Callable[[], object]] = {
    "numpy.linalg.norm": lambda: setattr(np.linalg, "norm", zero),
    "numpy.abs": lambda: setattr(np, "abs", zero),
    "numpy.asarray": lambda: setattr(np, "asarray", None),
    "builtins.max": lambda: setattr(builtins, "max", zero),
    "dpverify.conform.run.noise_tests": lambda: setattr(tests, "noise_tests", nothing),
    "dpverify.conform.neighbours.worst_neighbours": lambda: with_code(
        neighbours.worst_neighbours, nothing
    ),
    "dpverify.conform.records.ConformanceTest.__init__": lambda: setattr(
        records.ConformanceTest, "__init__", passing
    ),
    "dpverify.conform.replay.generators.Tape.standard_normal": lambda: delattr(
        generators.Tape, "standard_normal"
    ),
}


@for_each(("name", "replace"), list(REPLACEMENTS.items()))
def test_a_step_that_replaces_what_judges_it_is_a_finding(
    name: str, replace: Callable[[], object]
) -> None:
    is_replaced = False

    def unclipped_without_noise(state: Any, g: Any, rng: np.random.Generator) -> Any:
        nonlocal is_replaced
        total = np.add.reduce(g, axis=0)
        if not is_replaced:
            is_replaced = True
            replace()
        return state, total

    found = conformance(PrivateOptimizer(unclipped_without_noise), PROMISE)
    assert not found
    assert any(f"replaced {name}" in test.found for test in found.failed)
    assert {"sensitivity", "scale of noise, mixed gradients"} <= {
        test.name for test in found.failed
    }


def exit_code(folder: Path, source: str) -> int:
    """Run the command on a file whose ``make`` builds the optimizer."""
    file = folder / "optimizer.py"
    file.write_text(source)
    return main(["conform", f"{file}:make"])


EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "my_optimizer.py"


@for_each(
    ("line", "message"),
    [
        ("np.linalg.norm = lambda *_, **__: 0", "replaced numpy.linalg.norm"),
        (
            "import dpverify.conform.run as run; run.announced_tests = iter",
            "replaced dpverify.conform.run.announced",
        ),
        (
            "import sys; sys.modules['dpverify.conform.run'] = None",
            "replaced sys.modules",
        ),
    ],
)
def test_a_module_that_replaces_what_judges_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    assert exit_code(tmp_path, f"{EXAMPLE.read_text()}\n\n{line}\n") == 2
    text = capsys.readouterr().err
    assert text.count("\n") == 1
    assert message in text


LATE = """
import os, sys
import dpverify.apart
from tests.unit.conform.catalogue import dp_sgd, promise
from dpverify.conform import PrivateOptimizer

def leave(frame, event, _):
    if event == "call" and frame.f_code.co_filename.endswith("sensitivity.py"):
        raise SystemExit(0)

def step(state, gradients, rng):
    WHAT
    return dp_sgd(state, gradients, rng)

def make():
    return PrivateOptimizer(step), promise(steps=2, dimension=2)
"""


@for_each(
    ("line", "message"),
    [
        (
            "dpverify.apart._writer.send(('done', None)); os._exit(0)",
            "ended the tests that judge it",
        ),
        ("sys.setprofile(leave)", "raised SystemExit: 0 between its calls"),
    ],
)
def test_an_end_of_the_tests_that_is_not_theirs_is_a_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, message: str
) -> None:
    assert exit_code(tmp_path, LATE.replace("WHAT", line)) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert message in text


def test_no_tests_are_no_conformance() -> None:
    assert not Conformance([])
