from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from dpverify.papers.tran2022.identities.combinations_bounds import (
    Ordering,
    in_gradients,
    literal_output,
    paper_functions,
    streaming_outputs,
)
from dpverify.papers.tran2022.noise.noise_bounds import noise_terms
from tests.for_each import for_each

WEIGHTS = st.fractions(min_value=Fraction(1, 9), max_value=1, max_denominator=9)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 7), st.integers(1, 40), WEIGHTS, WEIGHTS)
def test_recursion_has_the_boxs_coefficients(
    n: int, t: int, alpha: Fraction, gamma: Fraction
) -> None:
    streamed = streaming_outputs(t, n, alpha, gamma)[-1]
    assert (streamed - literal_output(t, n, alpha, gamma)).terms == {}


@for_each("fault", ["base-late", "gamma-swapped", "decay-off", "ring-off"])
def test_planted_recursions_differ(fault: str) -> None:
    alpha, gamma = Fraction(2, 5), Fraction(1, 3)
    wrong = streaming_outputs(14, 3, alpha, gamma, fault=fault)[-1]
    assert (wrong - literal_output(14, 3, alpha, gamma)).terms


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 5), st.integers(1, 30), WEIGHTS, WEIGHTS)
def test_one_permutation_gives_the_momentum(
    n: int, t: int, alpha: Fraction, gamma: Fraction
) -> None:
    functions = paper_functions(Ordering("once", n), alpha)
    output = in_gradients(literal_output(t, n, alpha, gamma), functions)
    assert (output - functions["momentum"](t)).terms == {}


def test_coefficients_are_those_of_the_noise_law() -> None:
    """Another file of ours has the coefficients of the nodes' noises from equation 8."""
    alpha, gamma = Fraction(1, 4), Fraction(1, 3)
    for n, t in ((1, 5), (3, 13), (4, 16), (5, 3)):
        law: dict[tuple[str, int, int], Fraction] = {}
        for part in noise_terms(t, n, alpha, gamma):
            for (y, z), value in part.nodes.items():
                law[part.family, y, z] = law.get(
                    (part.family, y, z), Fraction(0)
                ) + Fraction(value)  # type: ignore[arg-type]  # rational
        ours = literal_output(t, n, alpha, gamma)
        assert {name for name, value in law.items() if value} == set(ours.terms)
        assert all(ours.coefficient(name) == value for name, value in law.items())


def test_newest_leaf_enters_with_gamma_and_the_others() -> None:
    output = literal_output(9, 3, Fraction(1, 2), Fraction(1, 5))
    assert output.coefficient(("G", 9, 9)) == Fraction(1, 2) * Fraction(1, 5)
    assert output.coefficient(("Delta", 9, 9)) == Fraction(1, 2) * Fraction(4, 5)
    assert output.coefficient(("r", 9, 9)) == Fraction(1, 2)
    share = sum(
        (Fraction(1, 8) ** i * Fraction(4, 5) ** (2 - i) for i in range(3)), Fraction(0)
    )
    assert output.coefficient(("G", 3, 3)) == Fraction(1, 2) * share
