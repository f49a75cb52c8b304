from __future__ import annotations

from fractions import Fraction

import mpmath
import pytest
from flint import arb, fmpq
from hypothesis import given
from hypothesis import strategies as st

from dpverify.ledger.formula import parse, parse_relation
from dpverify.symbolic.exact.evaluate import evaluate, holds
from dpverify.symbolic.exact.numbers import (
    DomainError,
    EvaluationError,
    Exact,
    UndecidedError,
    UnsupportedError,
    ball,
    working_precision,
)
from dpverify.symbolic.exact.series import Series
from tests.for_each import for_each

rationals = st.fractions(min_value=Fraction(1, 50), max_value=5, max_denominator=60)
unit = st.fractions(min_value=0, max_value=1, max_denominator=60)


def value(text: str, **env: Fraction | int | arb) -> Exact:
    return evaluate(parse(text), env)


@for_each(
    ("text", "exact"),
    [
        ("0.1 + 0.2", "3/10"),
        ("2/3 - 1/6*4", "0"),
        ("0**0", "1"),
        ("-2**2", "-4"),
        ("2**-3", "1/8"),
        ("(4/9)**(1/2)", "2/3"),
        ("8**(2/3)", "4"),
        ("(27/8)**(-1/3)", "2/3"),
        ("sqrt(16/25)", "4/5"),
        ("log(1)", "0"),
        ("exp(0)", "1"),
        ("log2(1/8)", "-3"),
        ("log2(1)", "0"),
        ("floor(log2(1023))", "9"),
        ("floor(log2(1024))", "10"),
        ("floor(log2(1/3))", "-2"),
        ("ceil(log2(1025))", "11"),
        ("floor(log2(7) + 1)", "3"),
        ("floor(-1/2)", "-1"),
        ("ceil(-1/2)", "0"),
        ("mod(7, 3)", "1"),
        ("mod(-7, 3)", "2"),
        ("mod(7/2, 1)", "1/2"),
        ("bit(10, 0)", "0"),
        ("bit(10, 3)", "1"),
        ("bit(10, 60)", "0"),
        ("max(1, 2/3, 5/3)", "5/3"),
        ("min(1, 2/3, 5/3)", "2/3"),
        ("max(3, exp(1))", "3"),
        ("min(3, exp(2))", "3"),
        ("abs(-2/3)", "2/3"),
        ("sum(i, i, 1, 100)", "5050"),
        ("sum(i, i, 3, 2)", "0"),
        ("sum(i, i, 5, -9)", "0"),
        ("sum(2**i, i, 0, 9)", "1023"),
        ("sum(1, i, 3, 900)", "898"),
        ("sum((1/2)**i, i, 0, oo)", "2"),
        ("sum(0**i, i, 0, oo)", "1"),
        ("sum(0**(2*i + 1), i, 0, oo)", "0"),
        ("sum((-1/2)**i, i, 0, oo)", "2/3"),
        ("sum(3*(1/2)**(2*i + 1)/5 - (1/3)**i, i, 1, oo)", "-2/5"),
        ("sum((1 - 1)**(5*i), i, 0, oo)", "1"),
        ("sum((1/2)**i*(1 + (1/3)**i), i, 0, oo)", "16/5"),
        ("sum(sum(j, j, 1, i), i, 1, 4)", "20"),
        ("sum(2**(i - i), i, 1, 7)", "7"),
    ],
)
def test_stays_exact_where_the_value_is_rational(text: str, exact: str) -> None:
    assert value(text) == Fraction(exact)


@for_each(
    "text",
    [
        "sum(2**i, i, 0, oo)",
        "sum(1, i, 0, oo)",
        "oo + 1",
        "max(1, oo)",
        "log(oo)",
        "exp(oo)",
    ],
)
def test_infinite_values_are_plus_infinity(text: str) -> None:
    assert value(text) == arb.pos_inf()


@for_each(
    "text",
    [
        "1/(1 - 1**2)",
        "0**-1",
        "log(0)",
        "log(-1)",
        "log2(0)",
        "floor(log2(0))",
        "sqrt(-1)",
        "(-2)**(1/2)",
        "mod(1, 1 - 1**2)",
        "bit(1/2, 0)",
        "bit(5, -1)",
        "sum(i, i, 0, 1/2)",
        "sum((-2)**i, i, 0, oo)",
        "sum(0**-i, i, 1, oo)",
    ],
)
def test_outside_the_domain_is_an_error_that_says_so(text: str) -> None:
    with pytest.raises(DomainError):
        value(text)


def test_division_by_zero_is_infinite_only_on_request() -> None:
    formula = parse("max(1, 1/(x - 1/2))")
    with pytest.raises(DomainError, match="division by zero"):
        evaluate(formula, {"x": Fraction(1, 2)})
    assert evaluate(formula, {"x": Fraction(1, 2)}, extended=True) == arb.pos_inf()
    with pytest.raises(DomainError):
        evaluate(parse("0/x"), {"x": 0}, extended=True)


def test_indeterminate_forms_are_never_a_number() -> None:
    for text in ("oo - oo", "0*oo"):
        with pytest.raises(UndecidedError, match="indeterminate"):
            value(text)


def test_sums_that_are_not_enclosed_are_refused() -> None:
    many = "*".join(f"(1/{k} + (1/{k})**i)" for k in range(2, 30))
    for body, reason in (
        (many, "how its terms shrink"),
        ("1/log(i + 2)", "how its terms shrink"),
        ("1/(i + 1) - 1/(i + 2)", "diverge"),
        ("exp(i**2 - i)", "grow"),
        ("gamma(i + 1)/3**i", "grow"),
        ("(-1)**i/(i + 1)", "ratios"),
        ("i**-1.5", "zero to the negative power"),
    ):
        with pytest.raises(EvaluationError, match=reason):
            value(f"sum({body}, i, 0, oo)")
    with pytest.raises(UnsupportedError, match="terms"):
        value("sum(1/i, i, 1, 10**9)")


SERIES = [
    ("1/i**2", 1, "pi()**2/6"),
    ("1/(i*(i + 1))", 1, "1"),
    ("(2*i + 1)/(i**2*(i + 1)**2)", 1000, "1/1000**2"),
    ("i*(9/10)**i", 0, "90"),
    ("i**2/2**i", 0, "6"),
    ("1/gamma(i + 1)", 0, "exp(1)"),
    ("(-2)**i/gamma(i + 1)", 0, "exp(-2)"),
    ("4**i/gamma(2*i + 1)", 0, "(exp(2) + exp(-2))/2"),
    ("i*exp(-i/10)", 0, "exp(-1/10)/(1 - exp(-1/10))**2"),
    ("exp(-pi()*i**2)", 1, "(pi()**(1/4)/gamma(3/4) - 1)/2"),  # a theta function
    ("sqrt(i)*i/(i**2*sqrt(i))", 5, "oo"),
    ("-1/sqrt(i)", 1, "-oo"),
]


@for_each(("body", "first", "expected"), SERIES)
def test_the_bound_of_an_infinite_sum_holds_its_value(
    body: str, first: int, expected: str
) -> None:
    found = value(f"sum({body}, i, {first}, oo)")
    assert isinstance(found, arb)
    assert found.overlaps(ball(value(expected)))
    assert found.rel_accuracy_bits() >= 40 or not found.is_finite()


def test_an_infinite_sum_that_forgets_its_last_terms_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Series, "_tail", lambda *_: arb(0))
    # another sum: values are kept
    assert not ball(value("sum(1/(i*(i + 1)), i, 2, oo)")).overlaps(arb(fmpq(1, 2)))


def test_errors_name_the_symbol() -> None:
    with pytest.raises(EvaluationError, match="alpha"):
        value("alpha + 1")
    with pytest.raises(EvaluationError, match="F"):
        value("F(2) + 1")
    with pytest.raises(TypeError, match=r"0\.5"):
        evaluate(parse("x"), {"x": 0.5})


def test_declared_functions_come_from_the_point() -> None:
    assert evaluate(parse("F(3)/2"), {"F": lambda k: k * k}) == Fraction(9, 2)


def test_floor_near_an_integer_asks_for_more_bits() -> None:
    tiny = Fraction(1, 2**500)
    assert value("floor(log(x))", x=1 - tiny) == -1
    assert value("floor(log2(8*x))", x=1 - tiny) == 2
    assert value("ceil(exp(x))", x=tiny) == 2
    assert value("floor(sqrt(2)*sqrt(2) + 1/2)") == 2


def test_undecidable_floor_keeps_every_candidate() -> None:
    result = value("floor(sqrt(2)*sqrt(2))")
    assert isinstance(result, arb)
    assert result.contains(1)
    assert result.contains(2)


def test_max_of_overlapping_balls_contains_both() -> None:
    result = value("max(sqrt(2), exp(log(2)/2))")
    assert isinstance(result, arb)
    with working_precision(256):
        assert abs(result - arb(2).sqrt()) < arb("1e-60")


def test_rationals_too_large_become_balls() -> None:
    result = value("(1 - 1/1000003)**(10**4*N)", N=10**6)
    assert isinstance(result, arb)
    assert result.rel_accuracy_bits() > 200


def test_the_caller_s_point_is_left_alone() -> None:
    env = {"i": Fraction(7), "n": Fraction(3)}
    assert evaluate(parse("sum(i, i, 1, n) + i"), env) == 13
    assert env == {"i": 7, "n": 3}


def test_long_geometric_sums_agree_with_term_by_term() -> None:
    for x in (
        Fraction(1),
        Fraction(1, 3),
        Fraction(-2, 3),
        Fraction(3, 2),
        Fraction(0),
    ):
        want = sum(x ** (2 * k + 1) for k in range(3, 60))
        assert value("sum(x**(2*i + 1), i, 3, 59)", x=x) == want


def test_a_zero_base_with_a_falling_exponent_keeps_its_last_term() -> None:
    assert (
        value("sum(2**j*(1 - alpha)**((q - j)*N), j, 0, q)", alpha=1, q=40, N=3)
        == 2**40
    )


@given(a=rationals, b=rationals, n=st.integers(1, 9))
def test_balls_contain_the_truth(a: Fraction, b: Fraction, n: int) -> None:
    ball = value("exp(-a*n)*log(1 + b)**a/sqrt(b + n) + log2(a + n)", a=a, b=b, n=n)
    assert isinstance(ball, arb)
    assert ball.rel_accuracy_bits() > 200
    with mpmath.workdps(120), working_precision(400):
        x, y = (
            mpmath.mpf(a.numerator) / a.denominator,
            mpmath.mpf(b.numerator) / b.denominator,
        )
        truth = mpmath.exp(-x * n) * mpmath.log(1 + y) ** x / mpmath.sqrt(
            y + n
        ) + mpmath.log(x + n, 2)
        error = abs(arb(mpmath.nstr(truth, 110)) - ball)
    assert error < arb("1e-60")
    assert error.contains(0)


@given(alpha=unit, N=st.integers(1, 40))
def test_geometric_series_at_every_ratio(alpha: Fraction, N: int) -> None:
    got = value("sum((1 - alpha)**(N*i), i, 0, oo)", alpha=alpha, N=N)
    if alpha == 0:
        assert got == arb.pos_inf()
    elif isinstance(got, Fraction):
        assert got == 1 / (1 - (1 - alpha) ** N)
    else:
        pytest.fail(f"not exact at alpha={alpha}, N={N}")


@given(s=st.integers(0, 2**70), i=st.integers(0, 80))
def test_bits_and_remainders(s: int, i: int) -> None:
    assert value("bit(s, i)", s=s, i=i) == (s >> i) & 1
    assert value("mod(s, 2**i)", s=s, i=i) == s % 2**i
    if s:
        assert value("floor(log2(s))", s=s) == s.bit_length() - 1


def test_chained_comparisons() -> None:
    chain = parse_relation("0 < alpha <= 1")
    assert holds(chain, {"alpha": Fraction(1)}) is True
    assert holds(chain, {"alpha": Fraction(0)}) is False
    assert holds(parse_relation("sqrt(2)**2 <= 2"), {}) is None
    assert holds(parse_relation("1/x >= 0"), {"x": 0}) is False
    assert holds(parse_relation("exp(x) > 1"), {"x": Fraction(1, 10**100)}) is True
