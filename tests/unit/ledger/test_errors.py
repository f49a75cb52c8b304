from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpverify.ledger.errors import (
    FormulaError,
    Place,
    Problems,
    SpecError,
    UnknownClaim,
    printable,
    shown,
    suggest,
)
from tests.for_each import for_each


@given(st.text())
def test_printable_text_is_one_line(text: str) -> None:
    assert printable(text).isprintable()


def test_printable_escapes_and_cuts() -> None:
    assert printable("a\n\x1b[31m\u202eb") == r"a\n\x1b[31m\u202eb"
    assert printable("x" * 100, 3) == "xxx..."
    assert printable("été") == "été"


@for_each(
    ("value", "text"),
    [
        ("a\tb", r"'a\tb'"),
        (True, "true"),
        (12, "12"),
        pytest.param(10**5000, "a huge integer", id="huge"),
        ({"a": 1}, "a table"),
        ([1], "an array"),
        (1.5, "1.5"),
    ],
)
def test_shown(value: object, text: str) -> None:
    assert shown(value) == text


def test_an_error_is_one_line_of_five_parts() -> None:
    error = SpecError(
        "specs/x/claims.toml", "lemma-2\n", "requires[0]", "'a'", "a rule"
    )
    assert str(error) == r"specs/x/claims.toml: lemma-2\n: requires[0]: 'a': a rule"
    assert str(SpecError("f", "", "", "", "a rule")) == "f: a rule"


def test_no_more_problems_are_made_than_fit_and_the_last_of_them_is_raised() -> None:
    errors = iter([SpecError("f", "", "", "", f"rule {n}") for n in range(5)])
    problems = Problems(3)
    with pytest.raises(SpecError, match="rule 2"):
        problems.extend(errors)
    assert len(problems) == 3
    assert str(next(errors)) == "f: rule 3"
    with pytest.raises(SpecError, match="rule 4"):
        Problems().extend(errors)


def test_each_part_of_an_error_is_cut_at_400_letters() -> None:
    assert (
        str(SpecError("f", "", "", "x" * 401, "y" * 400))
        == f"f: {'x' * 400}...: {'y' * 400}"
    )


def test_places_make_errors() -> None:
    place = Place("file").in_record("lemma-2").at("printed")
    assert (
        str(place.formula_error(FormulaError("a b", "bad")))
        == "file: lemma-2: printed: 'a b': bad"
    )
    assert place.in_record("lemma-3").field == ""


@for_each("kind", [SpecError, UnknownClaim])
def test_spec_errors_travel_between_processes(kind: type[SpecError]) -> None:
    error = pickle.loads(pickle.dumps(kind("a", "b", "c", "d", "e")))
    assert type(error) is kind
    assert str(error) == "a: b: c: d: e"


def test_formula_errors_travel_between_processes() -> None:
    error = pickle.loads(pickle.dumps(FormulaError("a", "rule")))
    assert (error.value, error.rule) == ("a", "rule")


def test_suggestions() -> None:
    assert suggest("alhpa", ["alpha", "beta"]) == "; did you mean 'alpha'?"
    assert suggest("zzz", ["alpha", "beta"]) == ""
