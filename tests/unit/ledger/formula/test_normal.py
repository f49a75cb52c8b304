from __future__ import annotations

from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.formula.normal import arrangement, is_same_inequality
from tests.for_each import for_each


@for_each(
    ("one", "two"),
    [
        ("x + y", "y + x"),
        ("(x + y) + z", "x + (z + y)"),
        ("2*N", "N*2"),
        ("a*b/c", "b*a/c"),
        ("-a + b", "b - a"),
        ("max(x, y)", "max(y, x)"),
        ("sum(i*x, i, 1, N)", "sum(x*j, j, 1, N)"),
        ("sum(sum(i*j, i, 1, j), j, 1, N)", "sum(sum(k*i, k, 1, i), i, 1, N)"),
    ],
)
def test_the_order_of_operands_and_the_names_of_indices_do_not_count(
    one: str, two: str
) -> None:
    assert arrangement(parse(one)) == arrangement(parse(two))


@for_each(
    ("one", "two"),
    [
        ("(a + b)**2", "a**2 + 2*a*b + b**2"),
        ("2*3*N", "6*N"),
        ("a - (b - c)", "a - b + c"),
        ("a/(b/c)", "a*c/b"),
        ("a - b", "b - a"),
        ("a/b", "b/a"),
        ("a**b", "b**a"),
        ("log(x)", "log2(x)"),
        ("sum(i, i, 1, N)", "N*(N + 1)/2"),
        ("sum(sum(i*x**j, i, 1, j), j, 1, N)", "sum(sum(j*x**i, i, 1, j), j, 1, N)"),
        ("mod(a, b)", "mod(b, a)"),
    ],
)
def test_algebra_counts_as_a_difference(one: str, two: str) -> None:
    assert arrangement(parse(one)) != arrangement(parse(two))


@for_each(
    ("one", "two"),
    [
        (
            "d**(1/3)/(epsilon*N)**(2/3) <= d**(1/4)/sqrt(epsilon*N)",
            "epsilon*N >= sqrt(d)",
        ),
        ("t - (k - 1)*N <= t", "k >= 1"),
        ("N/sqrt(N*T) <= 1/2", "T >= 4*N"),
        ("(N*x)**(3/2) + N*x <= N**2*x", "sqrt(N*x) + 1 <= N"),
        ("(d + T)**2/x**2 <= (d + T)**2/x", "x >= 1"),
        ("sqrt(log(N*d)) <= d**(1/4)", "log(N*d)**2 <= d"),
        ("log(N*N) >= x", "2*log(N) >= x"),
    ],
)
def test_an_inequality_is_recognized_when_it_is_rearranged(one: str, two: str) -> None:
    letters = frozenset({"N", "T", "d", "epsilon", "x"})
    assert is_same_inequality(parse_relation(one), parse_relation(two), letters)
    assert is_same_inequality(parse_relation(two), parse_relation(one), letters)


@for_each(
    ("one", "two"),
    [
        ("a*N <= N", "a <= 2"),
        ("a*N <= N", "a >= 1"),
        ("a*N <= N", "a == 1"),
        ("N**2 <= T**3", "N <= T"),
        ("N*k <= T*k", "N <= T"),  # k may be below 0
        ("N <= T <= d", "N <= T"),
        ("mod(t, N) + N <= t", "t >= N"),
        ("N + T <= d", "N <= d"),
    ],
)
def test_other_inequalities_are_not(one: str, two: str) -> None:
    assert not is_same_inequality(
        parse_relation(one), parse_relation(two), frozenset({"N", "T", "d", "a"})
    )


def test_nested_powers_are_not_carried_out() -> None:
    tower = parse_relation("((2**100)**100)**100 <= x")
    assert not is_same_inequality(tower, parse_relation("x >= 1"), frozenset({"x"}))
