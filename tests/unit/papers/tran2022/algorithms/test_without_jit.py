"""The whole stack as plain Python: no kernel compiled, and the same numbers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import fill_normal

PROGRAM = """
import numpy as np
from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import generator
from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
from dpverify.papers.tran2022.algorithms.parameters import Parameters
from dpverify.papers.tran2022.algorithms.tree_noise.stream import noise_from_generator

@kernel
def gradient(w, x_row, y, out):
    out[:] = w - y * x_row

rng = np.random.default_rng(0)
run = DpNsgd(gradient, rng.standard_normal((9, 5)), np.ones(9), np.ones(5), Parameters(40, 0.25, 0.1, 1.0, 2.0), seed=3)
run.advance()
print([value.hex() for value in run.w.tolist()])
print([value.hex() for value in noise_from_generator(generator(1), 21, 2, alpha=0.25, scale=1.5).ravel().tolist()])
"""


@pytest.mark.slow
@pytest.mark.skipif(
    python_of(fill_normal) is fill_normal,
    reason="the jit is switched off: nothing to compare with",
)
def test_the_same_program_gives_the_same_bits_without_the_jit(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    printed = []
    for disabled in ("0", "1"):
        environment = {
            **os.environ,
            "NUMBA_DISABLE_JIT": disabled,
            "PYTHONPATH": str(Path(__file__).parents[5]),
        }
        printed.append(
            subprocess.check_output(
                [sys.executable, str(program)], env=environment, text=True
            )
        )
    assert len(printed[0].split()) == 5 + 42
    assert printed[0] == printed[1]
