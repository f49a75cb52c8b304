"""Optimizers: each step against its parts, on logistic regression with n = 32561 and d = 123."""

from __future__ import annotations

from typing import Any

from dpverify.bench.case import BenchCase, Forms, Target, aligned

# size of the data set a9a; rows have about 14 ones, as in a9a
N = 32_561
D = 123
BATCH = 256

INLINED = "our draw, then steps without noise"


def logistic_problem(n: int, d: int) -> Any:
    """Return a problem on fixed random rows of zeros and ones, scaled to length 1."""
    import numpy as np

    from dpverify.problems.logistic import LogisticRegression
    from dpverify.problems.rows import scale_rows

    rng = np.random.default_rng(0)
    x = scale_rows((rng.random((n, d)) < 0.11).astype(np.float64))
    return LogisticRegression(x, (rng.random(n) < 0.24).astype(np.float64), radius=1.0)


def _dp_nsgd(*, seed: int, n: int, d: int, steps: int) -> Forms:
    """Run Algorithm 1; "parts" draws d numbers per step and then runs the same steps without noise."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import (
        draw_rows,
        draw_rows_from,
        gradients_only,
    )
    from dpverify.kernels.normal import take_words
    from dpverify.kernels.tape import generator
    from dpverify.papers.tran2022.algorithms.dp_nsgd.optimizer import DpNsgd
    from dpverify.papers.tran2022.algorithms.parameters import Parameters

    problem = logistic_problem(n, d)
    rng = generator(seed, 9)
    row = aligned(d)
    words = take_words(generator(seed, 9))

    def run(sigma: float) -> DpNsgd:
        settings = Parameters(
            steps=10**9, alpha=0.01, eta=1e-3, sigma=sigma, lipschitz=problem.lipschitz
        )
        return DpNsgd(
            problem.example_gradient,
            problem.x,
            problem.y,
            problem.start,
            settings,
            seed=seed,
        )

    noisy = run(1.0)
    plain = run(0.0)
    order = np.random.default_rng(seed).permutation(n)[:steps]

    def parts() -> None:
        draw_rows(rng, steps, row)
        plain.advance(steps)

    def inlined_parts() -> None:
        draw_rows_from(words, steps, row)
        plain.advance(steps)

    return {
        "parts": parts,
        INLINED: inlined_parts,
        "step": lambda: noisy.advance(steps),
        "step without noise": lambda: plain.advance(steps),
        "draw": lambda: draw_rows(rng, steps, row),
        "gradient": lambda: gradients_only(
            problem.example_gradient, problem.x, problem.y, order, problem.start, row
        ),
    }


def _sr_nsgd(*, seed: int, n: int, d: int, steps: int) -> Forms:
    """Run Algorithm 2, with three gradients per step from the second epoch on; the first two epochs are not timed."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import (
        draw_rows,
        draw_rows_from,
        gradients_only,
    )
    from dpverify.kernels.normal import take_words
    from dpverify.kernels.tape import generator
    from dpverify.papers.tran2022.algorithms.parameters import SrParameters
    from dpverify.papers.tran2022.algorithms.scales import printed_scales
    from dpverify.papers.tran2022.algorithms.sr_nsgd.noise import tape_rows
    from dpverify.papers.tran2022.algorithms.sr_nsgd.optimizer import SrNsgd

    problem = logistic_problem(n, d)
    total = 1000 * n
    scales = printed_scales(n, total, eta=1e-3, lipschitz=problem.lipschitz)

    def run(sigma: float) -> SrNsgd:
        settings = SrParameters(
            steps=total,
            alpha=0.01,
            gamma=0.01,
            eta=1e-3,
            sigma=sigma,
            lipschitz=problem.lipschitz,
            scales=scales,
        )
        optimizer = SrNsgd(
            problem.example_gradient,
            problem.x,
            problem.y,
            problem.start,
            settings,
            seed=seed,
        )
        optimizer.advance(2 * n)
        return optimizer

    noisy = run(1.0)
    plain = run(0.0)
    order = np.random.default_rng(seed).integers(0, n, 3 * steps)
    row = aligned(d)
    rng = generator(seed, 9)
    drawn_rows = tape_rows(n, 2 * n + steps) - tape_rows(n, 2 * n)
    words = take_words(generator(seed, 9))

    def gradients() -> None:
        gradients_only(
            problem.example_gradient, problem.x, problem.y, order, problem.start, row
        )

    def with_draw() -> None:
        draw_rows(rng, drawn_rows, row)
        gradients()

    def inlined_parts() -> None:
        draw_rows_from(words, drawn_rows, row)
        plain.advance(steps)

    return {
        "gradients and draw": with_draw,
        INLINED: inlined_parts,
        "three gradients": gradients,
        "step": lambda: noisy.advance(steps),
        "step without noise": lambda: plain.advance(steps),
    }


def _clipped(
    *, seed: int, n: int, d: int, batch: int, batches: int, part: float
) -> Forms:
    """Sum the clipped gradients of each batch; a fraction ``part`` of all gradients is longer than the clip length."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import clip_batches, read_twice
    from dpverify.kernels.clipping import pad_rows

    problem = logistic_problem(n, d)
    rng = np.random.default_rng(seed)
    rows = pad_rows(problem.x, problem.y)
    order = rng.permutation(n)[: batch * batches]
    w, out, total = (aligned(rows.shape[1]) for _ in range(3))
    w[:d] = rng.standard_normal(d)
    s = 1 - 2 * problem.y
    slopes = s / (1 + np.exp(-s * (problem.x @ w[:d])))
    lengths = np.abs(slopes) * np.linalg.norm(problem.x, axis=1)
    clip = (
        float(np.quantile(lengths, 1 - part)) if part < 1 else float(lengths.min()) / 2
    )
    last = order[-batch:]
    clip_batches(rows, order, batch, w, clip, out)
    expected = (slopes * np.minimum(1, clip / lengths))[last] @ problem.x[last]
    if not np.allclose(out[:d], expected, rtol=0, atol=1e-10):
        raise ValueError("the sum is not that of the gradients written out")
    return {
        "read twice": lambda: read_twice(rows, order, batch, total),
        "clipped sum": lambda: clip_batches(rows, order, batch, w, clip, out),
    }


def _explicit_gradients(*, seed: int, n: int, d: int, batch: int) -> Forms:
    """Sum clipped gradients; the peer computes them in numpy as an explicit matrix, as most libraries do."""
    import numpy as np

    from dpverify.bench.cases.kernel_limits import clipped_logistic
    from dpverify.kernels.clipping import pad_rows

    problem = logistic_problem(n, d)
    rng = np.random.default_rng(seed)
    rows = pad_rows(problem.x, problem.y)
    order = rng.permutation(n)[:batch]
    w, out = (aligned(rows.shape[1]) for _ in range(2))
    w[:d] = rng.standard_normal(d)

    def in_numpy() -> Any:
        x = problem.x[order]
        s = 1 - 2 * problem.y[order]
        g = (s / (1 + np.exp(-s * (x @ w[:d]))))[:, np.newaxis] * x
        return (g * np.minimum(1, 0.5 / np.linalg.norm(g, axis=1, keepdims=True))).sum(
            axis=0
        )

    return {
        "clipped sum": lambda: clipped_logistic(rows, order, w, 0.5, out),
        "written out in numpy": in_numpy,
    }


CASES: tuple[BenchCase, ...] = (
    BenchCase(
        "dp-nsgd",
        "DP-NSGD, one example per step, against the library's draw of d numbers and the same steps without noise",
        _dp_nsgd,
        limit_is_ours=True,
        forms=("parts", INLINED, "step", "step without noise", "draw", "gradient"),
        parameters={"n": N, "d": D, "steps": 20_000},
        work=20_000,
        item="step",
        targets=[Target("step", at_most=1.25), Target("step", at_most=1.3, to=INLINED)],
    ),
    BenchCase(
        "sr-nsgd",
        "SR-NSGD, one example per step, against its three gradients and the library's draw of up to five vectors",
        _sr_nsgd,
        limit_is_ours=True,
        forms=(
            "gradients and draw",
            INLINED,
            "three gradients",
            "step",
            "step without noise",
        ),
        parameters={"n": 4096, "d": D, "steps": 4096},
        work=3 * 4096,
        item="gradient",
        targets=[Target("step", at_most=1.3, to=INLINED)],
    ),
    *(
        BenchCase(
            f"clipped-batch-{name}",
            f"Clipped gradients of a batch of {BATCH}, {name} of them clipped, against two plain passes over its rows",
            _clipped,
            forms=("read twice", "clipped sum"),
            parameters={"n": N, "d": D, "batch": BATCH, "batches": 127, "part": part},
            work=127,
            item="batch",
            targets=[Target("clipped sum", at_most=1.2)],
        )
        for name, part in (("none", 0.0), ("half", 0.5), ("all", 1.0))
    ),
    BenchCase(
        "clipped-batch-in-numpy",
        f"The same batch of {BATCH}, one call, against numpy with explicit gradients",
        _explicit_gradients,
        limit_is_ours=True,
        forms=("clipped sum", "written out in numpy"),
        parameters={"n": N, "d": D, "batch": BATCH},
        item="batch",
        peers=("written out in numpy",),
    ),
)
