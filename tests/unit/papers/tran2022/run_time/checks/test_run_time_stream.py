"""The stream's windows and weights."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from dpverify.ledger import load_specs
from dpverify.papers.tran2022.algorithms.composition import compose
from dpverify.papers.tran2022.run_time.checks import run_time_stream
from tests.for_each import for_each

OUTPUT = load_specs().claim("tran2022:algorithm-4-output").statement()


@given(N=st.integers(1, 300), t=st.integers(1, 3000))
def test_window_parts_are_compose(N: int, t: int) -> None:
    assert run_time_stream.window_parts(t, N) == [
        tuple(node) for node in compose(max(1, t - N + 1), t).tolist()
    ]


@for_each("place", [0, 1, 2, 3, 4])
def test_every_weight_of_the_stream_is_watched(place: int) -> None:
    point = {
        name: Fraction(value) for name, value in {"N": 6, "T": 40, "seed": 1}.items()
    }
    point |= {"alpha": Fraction(1, 4), "gamma": Fraction(1, 3)}
    assert run_time_stream._same_output(point, OUTPUT).ok
    for change in (1e-10, 1e-3):
        off = run_time_stream._weight(place, 1 + change)
        assert run_time_stream._same_output(point, OUTPUT, change=off).ok is False
