from __future__ import annotations

import ast
import builtins
import contextlib
import os
import warnings
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpverify.ledger.formula import (
    Bin,
    Call,
    Compare,
    FormulaError,
    Inf,
    Name,
    Neg,
    Num,
    Sum,
    check_names,
    free_names,
    latex,
    parse,
    parse_relation,
    to_text,
    with_pi,
)
from tests.for_each import for_each

a, b, c = Name("a"), Name("b"), Name("c")


def num(value: str) -> Num:
    return Num(Fraction(value))


@for_each(
    ("text", "tree"),
    [
        ("a", a),
        ("oo", Inf()),
        ("7", num("7")),
        ("a + b - c", Bin("-", Bin("+", a, b), c)),
        ("a*b/c", Bin("/", Bin("*", a, b), c)),
        ("a**b**c", Bin("**", a, Bin("**", b, c))),
        ("-a**2", Neg(Bin("**", a, num("2")))),
        ("(-a)**2", Bin("**", Neg(a), num("2"))),
        ("a**-1", Bin("**", a, Neg(num("1")))),
        ("log2(a)", Call("log2", (a,))),
        ("max(a, b, 1)", Call("max", (a, b, num("1")))),
        ("F(a, b)", Call("F", (a, b))),
        ("sum(a**i, i, 0, oo)", Sum(Bin("**", a, Name("i")), "i", num("0"), Inf())),
        ("  a\n +\tb ", Bin("+", a, b)),
    ],
)
def test_tree(text: str, tree: object) -> None:
    assert parse(text) == tree


@for_each(
    ("text", "value"),
    [
        ("0.1", Fraction(1, 10)),
        (".5", Fraction(1, 2)),
        ("2.", Fraction(2)),
        ("1e-6", Fraction(1, 10**6)),
        ("2.5E+3", Fraction(2500)),
        ("1e39", Fraction(10**39)),
        ("1e-39", Fraction(1, 10**39)),
        (
            "1234567890123456789012345678901234567890",
            Fraction(1234567890123456789012345678901234567890),
        ),
        (
            "0.1000000000000000055511151231257827",
            Fraction("0.1000000000000000055511151231257827"),
        ),
    ],
)
def test_numbers_are_exact(text: str, value: Fraction) -> None:
    assert parse(text) == Num(value)


def test_a_chain_of_comparisons() -> None:
    assert parse_relation("0 < a <= 1") == Compare(("<", "<="), (num("0"), a, num("1")))
    assert parse_relation("a == b").ops == ("==",)


@for_each(
    ("text", "rule"),
    [
        ("", "must not be empty"),
        (" \n", "must not be empty"),
        ("a b", "an operator is missing"),
        ("2x", "an operator is missing"),
        ("0x10", "an operator is missing"),
        ("1j", "an operator is missing"),
        ("1_000", "'_'"),
        ("a.b", "attributes"),
        ("__import__('os').system('true')", "a name begins with a letter"),
        ("f('x')", "strings"),
        ('f("x")', "strings"),
        ("a[0]", "subscripts"),
        ("{a}", "sets"),
        ("lambda x", "a word of Python"),
        ("a if b else c", "a word of Python"),
        ("a and b", "a word of Python"),
        ("None", "a word of Python"),
        ("f(*a)", "one by one"),
        ("f(**a)", "+ - * / **"),
        ("f(x=1)", "equality is written =="),
        ("f(a)(b)", "+ - * / **"),
        ("(a, b)", "+ - * / **"),
        ("a, b", "+ - * / **"),
        ("()", "+ - * / **"),
        ("*a", "not a formula"),
        ("a +", "not a formula"),
        ("007", "not a formula"),
        ("(a", "not closed"),
        ("a)", "never opened"),
        (")(", "never opened"),
        ("+a", "a plus sign stands between"),
        ("a ^ b", "a power is written **"),
        ("a // b", "floor(a/b)"),
        ("a % b", "mod(a, b)"),
        ("a @ b", "not part of the language"),
        ("a := 1", "not part of the language"),
        ("a \N{LESS-THAN OR EQUAL TO} b", "it is written <="),
        ("\\frac", "not LaTeX"),
        ("\x00", "not part of the language"),
        ("é", "not part of the language"),
        ("\N{MATHEMATICAL BOLD SMALL A}", "not part of the language"),
        ("a < b", "a comparison stands alone"),
        ("f(a < b)", "a comparison stands alone"),
        ("log", "needs its arguments"),
        ("sum", "needs its arguments"),
        ("log(a, b)", "takes 1 argument(s), got 2"),
        ("max(a)", "takes 2 to 20 argument(s), got 1"),
        ("f()", "takes 1 to 20 argument(s), got 0"),
        ("oo(1)", "a number, not a function"),
        ("sum(a, 1, 2, 3)", "a plain name as its index"),
        ("sum(a, i, 0)", "sum(body, i, lo, hi)"),
        ("sum(a, oo, 0, 1)", "a word of the language"),
        ("sum(i, i, 0, i)", "cannot use its own index"),
        ("sum(sum(i, i, 0, 1), i, 0, 1)", "belongs to an outer sum"),
        ("1e400", "40 digits"),
        ("1e40", "40 digits"),
        ("1e-40", "40 digits"),
        ("1e99999", "40 digits"),
        ("1" * 41, "40 digits"),
        ("9**9**9**9", "an exponent without names"),
        ("a**10001", "at most 10000"),
        ("a**(N*10001)", "at most 10000"),
        ("a**(5000*3)", "up to 10000"),
        ("a**-(5000*3)", "up to 10000"),
        ("a**(1/0)", "must not divide by 0"),
        ("1/0", "must not divide by 0"),
        ("mod(k, 0)", "must not divide by 0"),
        ("mod(k, 2 - 2)", "must not divide by 0"),
        ("((2**9999)**9999)**9999", "at most 4000000 bits"),
        ("((2**9999)**9999)**9999 * 0", "at most 4000000 bits"),
        ("(a**9999)**9999", "at most 4000000 bits"),
        ("1/(3**9999)**999 + a", "at most 4000000 bits"),
        ("(1/3)**(9999*9999*a)", "at most 4000000 bits"),
        ("2**(9999*9999)", "up to 10000"),
        ("2**(9999*9999*a)", "at most 4000000 bits"),
        ("2**-(9999/0.0001*a)", "at most 4000000 bits"),
        ("2**(2**(9999*a))", "at most 4000000 bits"),
        ("2**exp(9999*a)", "at most 4000000 bits"),
        ("binomial(10**30, 10**29)", "at most 4000000 bits"),
        ("2**binomial(9999, 9*a)", "at most 4000000 bits"),
        ("sum((i**9999)**9999, i, 1, 3)", "at most 4000000 bits"),
        ("max((2**9999)**999, (2**9999)**999)", "at most 4000000 bits"),
        ("a/(2 - 4*0.5)", "must not divide by 0"),
        ("a**exp(9)", "without names"),
        (
            "integral(a, x, 0)",
            "an integral is written integral(body, x, lo, hi) or integral(body, x)",
        ),
        ("infimum(a, z)", "an infimum is written infimum(body, x, lo, hi)"),
        (
            "integral(integral(x, x), x)",
            "index x already belongs to an outer sum, integral or extremum",
        ),
        (
            "integral(x, x, 0, x)",
            "the limits of an integral cannot use its own index x",
        ),
        ("a" * 2001, "at most 2000 characters, this one has 2001"),
        ("(" * 100_000 + "a" + ")" * 100_000, "at most 2000 characters"),
        ("(" * 41 + "a" + ")" * 41, "brackets nest at most 40 deep"),
        ("f(" * 40 + "a" + ")" * 40, "at most 40 deep"),
        ("-" * 1999 + "a", "at most 40 deep"),
        ("a**" * 600 + "a", "at most 40 deep"),
        ("+".join("a" * 1000), "at most 40 deep"),
        ("-" * 40 + "a", "at most 40 deep"),
    ],
)
def test_refused(text: str, rule: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse(text)
    assert rule in caught.value.rule
    assert "\n" not in str(caught.value)
    assert caught.value.value == text


def test_limits_are_inclusive() -> None:
    parse("-" * 39 + "a")
    parse("(" * 40 + "a" + ")" * 40)
    parse("a" * 2000)
    parse("a**10000")
    parse("a**-(3/4)")


@for_each("text", ["a", "a != b", "a in b", "a < b < ", "a < (b < c)", "a == 1e99"])
def test_no_relation(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_relation(text)


def test_free_names() -> None:
    assert free_names(parse("sum(a**i*b, i, lo, hi) + exp(c)")) == {
        "a",
        "b",
        "c",
        "lo",
        "hi",
    }
    assert free_names(parse("i + sum(i, i, 0, 1)")) == {"i"}
    assert free_names(parse_relation("a < b < 1")) == {"a", "b"}


@for_each(
    ("text", "rule"),
    [
        ("alhpa", "unknown symbol 'alhpa'; did you mean 'alpha'?"),
        ("F(alpha, 1) + i", "unknown symbol 'i'"),
        ("F(alpha)", "F takes 2 argument(s), got 1"),
        ("sqr(alpha)", "unknown function 'sqr'; did you mean 'sqrt'?"),
        ("eval(alpha)", "unknown function 'eval'"),
        ("alpha(alpha)", "unknown function 'alpha'"),
        ("F", "unknown symbol 'F'"),
        ("ln(alpha)", "unknown function 'ln'; use log(x)"),
        ("e**alpha", "unknown symbol 'e'; use exp(1)"),
        ("gamma", "unknown symbol 'gamma'"),
        ("sum(alpha, alpha, 0, 1)", "index 'alpha' of a sum is a symbol"),
        ("integral(1, N, 0, 1)", "index 'N' of an integral is a symbol"),
        ("supremum(1, N, 0, 1)", "index 'N' of a supremum is a symbol"),
        ("exp(sum(1, N, 0, 1))", "index 'N' of a sum is a symbol"),
    ],
)
def test_undeclared_names(text: str, rule: str) -> None:
    with pytest.raises(FormulaError) as caught:
        check_names(text, parse(text), frozenset({"alpha", "N"}), {"F": 2})
    assert rule in caught.value.rule


def test_declared_names_pass() -> None:
    text = "sum(F(i, N), i, 0, N) + min(alpha, 1)"
    check_names(text, parse(text), frozenset({"alpha", "N"}), {"F": 2})


def test_a_product_with_a_symbol_is_not_read_as_a_function() -> None:
    check_names("gamma(N)", parse("gamma(N)"), frozenset({"N"}), {})
    with pytest.raises(
        FormulaError,
        match=r"gamma is a symbol of the paper; a product is written gamma\*",
    ):
        check_names("gamma(N)", parse("gamma(N)"), frozenset({"N", "gamma"}), {})


def test_pi_is_the_number_unless_the_paper_has_a_symbol_of_this_name() -> None:
    text = "sum(exp(-pi*i), i, 0, oo) + integral(exp(-pi*x**2), x)"
    number = with_pi(parse(text), {"N"})
    assert free_names(number) == frozenset()
    assert parse(to_text(number)) == number
    assert with_pi(parse(text), {"pi"}) is parse(text)
    assert with_pi(parse("sum(pi, pi, 1, 3)"), {}) == parse("sum(pi, pi, 1, 3)"), (
        "the index of a sum"
    )
    assert latex(number, {}).count(r"\pi") == 2
    assert r"\int" in latex(number, {})


def test_too_deep_for_the_stack_at_hand_is_an_error_of_ours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def overflow(*_args: object, **_kwargs: object) -> ast.AST:
        raise RecursionError

    monkeypatch.setattr(ast, "parse", overflow)
    with pytest.raises(FormulaError, match="at most 40 deep"):
        parse("read_nowhere_else")


PIECES = [
    *(
        "a",
        "N",
        "i",
        "oo",
        "0",
        "1",
        "0.1",
        "1e5",
        "9",
        "sum(",
        "log(",
        "f(",
        "(",
        ")",
        ",",
        " ",
        "\n",
        "+",
        "-",
        "*",
    ),
    *(
        "/",
        "**",
        "<",
        "<=",
        "==",
        "=",
        ".",
        "[",
        "]",
        "'",
        '"',
        "\\",
        "lambda ",
        " if ",
        " for ",
        ":",
        "@",
        "é",
        "\0",
    ),
    *(
        "__import__",
        "eval(",
        "open(",
        "#",
        ";",
        "`",
        "$",
        "~",
        "not ",
        "await ",
        "f'{1}'",
        "0b1",
        "1if",
        "0x1for x in",
    ),
]


@given(
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join) | st.text(max_size=60)
)
@example("0x1for x in y")
@example("1if 2else 3")
def test_any_text_parses_or_is_refused_in_our_words(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for read in (parse, parse_relation):
            refused = None
            try:
                read(text)
            except FormulaError as error:
                refused = error
            assert refused is None or (
                str(refused).isprintable() and refused.value == text
            )


def test_nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    for owner, name in (
        (builtins, "eval"),
        (builtins, "exec"),
        (builtins, "open"),
        (os, "system"),
    ):
        monkeypatch.setattr(
            owner, name, lambda *_args, _name=name, **_kwargs: ran.append(_name)
        )
    for text in (
        "__import__('os').system('true')",
        "exec(a)",
        "9**9**9**9",
        "open(a)",
        "eval(open(a))",
    ):
        with contextlib.suppress(FormulaError):
            parse(text)
    monkeypatch.undo()
    assert ran == []
