"""Sparse rows: a measuring point against one fused pass, one example's gradient, and DP-NSGD's step."""

from __future__ import annotations

from typing import Any

from dpverify.bench.case import BenchCase, Forms, Target, aligned


def sparse_problem(n: int, d: int, entries: int) -> Any:
    """Return a problem on fixed random rows with ``entries`` entries in random columns, scaled to length 1."""
    import numpy as np

    from dpverify.problems.sparse.logistic import SparseLogistic
    from dpverify.problems.sparse.rows import CsrRows, scale_sparse

    rng = np.random.default_rng(0)
    # width of the column ranges, each of which
    # has one entry, so that no column is repeated
    step = d // entries
    columns = np.arange(entries) * step + rng.integers(0, step, (n, entries))
    starts = np.arange(0, n * entries + 1, entries)
    values = rng.standard_normal(n * entries)
    rows = CsrRows(starts, columns.ravel().astype(np.uint32), values, d)
    return SparseLogistic(
        scale_sparse(rows), (rng.random(n) < 0.4).astype(np.float64), radius=1.0
    )


def _point(*, seed: int, n: int, d: int, entries: int) -> Forms:
    """Compute loss and gradient with the regularizer, as ``train`` does; the limit omits the regularizer."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import fused_pass
    from dpverify.problems.regression import measured

    problem = sparse_problem(n, d, entries)
    w = np.random.default_rng(seed).standard_normal(d)
    out = aligned(d)
    return {
        "fused pass": lambda: fused_pass(problem.x.arrays, problem.y, w, out),
        "point": lambda: measured(problem, w),
    }


def _step(*, seed: int, n: int, d: int, entries: int, steps: int) -> Forms:
    """Run Algorithm 1; "parts" draws d numbers per step and then runs the same steps without noise."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import (
        common_parts,
        draw_rows,
        sparse_gradients,
    )
    from dpverify.kernels.tape import generator
    from dpverify.papers.tran2022.algorithms.dp_nsgd.sparse import SparseDpNsgd
    from dpverify.papers.tran2022.algorithms.parameters import Parameters

    problem = sparse_problem(n, d, entries)
    rng = generator(seed, 9)
    row = aligned(d)
    w = aligned(d)
    order = np.random.default_rng(seed).integers(0, n, steps)

    def run(sigma: float) -> SparseDpNsgd:
        settings = Parameters(
            steps=10**9, alpha=0.01, eta=1e-3, sigma=sigma, lipschitz=problem.lipschitz
        )
        return SparseDpNsgd(problem, settings, seed=seed)

    noisy = run(1.0)
    plain = run(0.0)

    def parts() -> None:
        draw_rows(rng, steps, row)
        plain.advance(steps)

    return {
        "parts": parts,
        "step": lambda: noisy.advance(steps),
        "step without noise": lambda: plain.advance(steps),
        "draw": lambda: draw_rows(rng, steps, row),
        "regularizer": lambda: common_parts(problem.common, problem.lam, steps, w, row),
        "gradient": lambda: sparse_gradients(
            problem.example_gradient, problem.x.arrays, problem.y, order, w, row
        ),
    }


STEP = BenchCase(
    "sparse-step",
    "DP-NSGD on rows of 50 entries, d = 50,000, against the library's draw of d numbers and the steps without noise",
    _step,
    limit_is_ours=True,
    forms=("parts", "step", "step without noise", "draw", "regularizer", "gradient"),
    parameters={"n": 20_000, "d": 50_000, "entries": 50, "steps": 200},
    work=200,
    item="step",
    targets=[Target("step", at_most=1.25), Target("gradient", at_most=0.01)],
)

CASES: tuple[BenchCase, ...] = (
    BenchCase(
        "sparse-point",
        "A measuring point, loss and gradient over rows of 20 entries, d = 1000, against one plain pass over them",
        _point,
        forms=("fused pass", "point"),
        parameters={"n": 100_000, "d": 1000, "entries": 20},
        item="point",
        targets=[Target("point", at_most=1.5)],
    ),
    BenchCase(
        "sparse-point-wide",
        "The same over rows of 50 entries, d = 50,000",
        _point,
        forms=("fused pass", "point"),
        parameters={"n": 20_000, "d": 50_000, "entries": 50},
        item="point",
        targets=[Target("point", at_most=1.5)],
    ),
    STEP,
)
