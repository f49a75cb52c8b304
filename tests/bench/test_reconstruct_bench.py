"""Algorithm 4 at every step: as printed, as a stream, and the time of reading every node once.

Numbers of one run are compared with one another only: forms are measured in turns, and their ratio is printed with the
interval of its median. Nothing is asserted of a clock.
"""

from __future__ import annotations

from time import thread_time

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from dpverify.kernels.jit import kernel
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Matrix, Vector
from dpverify.papers.tran2022.checks.run_time_check import Plan, exponents, measure, median_interval
from dpverify.papers.tran2022.operation_counts_bounds import literal_total, stream_total
from dpverify.papers.tran2022.reconstruct import reconstruct
from dpverify.papers.tran2022.reconstruct_literal import reconstruct_literal
from dpverify.papers.tran2022.reconstruct_nodes import Nodes, node_count

SETTINGS = {"alpha": 1 / 256, "gamma": 0.05}
EPOCHS = (8, 16, 32, 64)


@kernel
def read_all(rows: Matrix, out: Vector) -> None:
    """Add every row to ``out``."""
    for i in range(rows.shape[0]):
        for j in range(out.shape[0]):
            out[j] += rows[i, j]


def nodes_of(N: int, epochs: int, d: int) -> Nodes:
    return Nodes(*generator(0).standard_normal((3, node_count(epochs * N), d)))


@pytest.fixture(scope="module")
def nodes() -> Nodes:
    """T = 64 N, N = 256, d = 8."""
    return nodes_of(256, 64, 8)


@pytest.mark.benchmark(group="reconstruction, T = 64 N, N = 256, d = 8")
@pytest.mark.parametrize("form", [reconstruct_literal, reconstruct], ids=["literal", "stream"])
def test_reconstruction(benchmark: BenchmarkFixture, nodes: Nodes, form: type) -> None:
    form(nodes, examples=256, **SETTINGS)
    out, adds = benchmark(form, nodes, examples=256, **SETTINGS)
    count = {"reconstruct_literal": literal_total, "reconstruct": stream_total}[form.__name__](64 * 256, 256)
    assert np.isfinite(out).all()
    assert adds.sum() == count.adds
    benchmark.extra_info["additions of vectors"] = count.adds


@pytest.mark.benchmark(group="reconstruction, T = 64 N, N = 256, d = 8")
def test_reading_every_node_once(benchmark: BenchmarkFixture, nodes: Nodes) -> None:
    total = np.zeros(8)

    def read() -> None:
        for family in nodes:
            read_all(family, total)

    read()
    benchmark(read)
    assert np.isfinite(total).all()


@pytest.mark.parametrize(("N", "d"), [(256, 8), (255, 8), (64, 8), (256, 64)])
def test_ratio_and_exponents_in_turns(N: int, d: int, capsys: pytest.CaptureFixture[str]) -> None:
    times = measure(N, d, Plan(EPOCHS, 12, 1e-4))
    sizes = np.array(EPOCHS, dtype=float) * N
    fits = {"literal exponent": exponents(times[0], sizes), "stream exponent": exponents(times[1], sizes)}
    fits |= {f"ratio at T = {q} N": times[0, :, place] / times[1, :, place] for place, q in enumerate(EPOCHS)}
    assert (times > 0).all()
    with capsys.disabled():
        print(f"\nN = {N}, d = {d}, 12 rounds in turns, medians with 95% intervals")  # noqa: T201 what a benchmark is for
        for name, values in fits.items():
            middle, low, high = median_interval(values, 0.05)
            print(f"  {name}: {middle:.3g} ({low:.3g} to {high:.3g})")  # noqa: T201 what a benchmark is for


def test_a_long_run_against_reading_it(capsys: pytest.CaptureFixture[str]) -> None:
    """N = 1024, T = 64 N, d = 128: 400 MB of nodes. The literal form takes seconds and is measured once."""
    N, d, total = 1024, 128, np.zeros(128)
    nodes = nodes_of(N, 64, d)
    spent = dict[str, list[float]](reading=[], stream=[], literal=[])
    for turn in range(5):
        for name, run in (
            ("reading", lambda: [read_all(family, total) for family in nodes]),
            ("stream", lambda: reconstruct(nodes, examples=N, **SETTINGS)),
            ("literal", lambda: reconstruct_literal(nodes, examples=N, **SETTINGS)),
        ):
            if name != "literal" or turn == 4:
                begin = thread_time()
                run()
                spent[name].append(thread_time() - begin)
    reading, stream, literal = (float(np.median(spent[name][1:] or spent[name])) for name in spent)
    with capsys.disabled():
        text = f"reading every node once {reading:.3g} s, stream {stream / reading:.3g} times that"
        print(f"\nN = {N}, T = {64 * N}, d = {d}: {text}, literal {literal / stream:.4g} times the stream")  # noqa: T201
