from __future__ import annotations

import msgspec

from dpverify.ledger.check_results import AmendmentResult
from dpverify.ledger.claims import Line
from dpverify.report.markdown import quotes_formula
from dpverify.report.statements import (
    correction_block,
    letters_line,
    letters_of_page,
    printed_block,
    shared_letters,
)
from tests.unit.report.sample import result

FORMULA = Line(text="x <= 4*alpha*sqrt(N)", latex=r"x \le 4 \alpha \sqrt{N}")
GIVEN = Line(word="if", text="N >= 2", latex=r"N \ge 2")
NEW = Line(word="if", text="T >= N", latex=r"T \ge N")
PRINTED = msgspec.structs.replace(
    result(
        "lemma-1",
        "Lemma 1",
        "inequality",
        "refuted",
        quote=r"Then $x \leq 4\alpha\sqrt{N}$.",
    ),
    display=[FORMULA, GIVEN],
)


def corrected(*lines: Line, holds_for: tuple[str, ...] = ()) -> AmendmentResult:
    return AmendmentResult(
        status="proved", why="", corrects=True, display=[*lines], holds_for=[*holds_for]
    )


def test_a_formula_that_is_quoted_is_not_shown_again() -> None:
    assert printed_block(PRINTED) == "If $`N \\ge 2`$."
    other = msgspec.structs.replace(
        PRINTED, quote=r"Then $x \leq 4\alpha\sqrt{N} + 1$."
    )
    assert printed_block(other).startswith("```math")


def test_only_a_whole_formula_counts_as_quoted() -> None:
    assert quotes_formula(r"$$x_{1} \leq \left(a + b\right),$$", r"x_1 \le (a + b)")
    assert not quotes_formula(r"$x_1 \leq (a + b)/2$", r"x_1 \le (a + b)")
    assert not quotes_formula(r"$x_1 \leq \frac{ab}{c}$", r"x_1 \le \frac{a}{bc}")


def test_a_correction_shows_what_is_new_and_says_that_the_others_stay() -> None:
    assert (
        correction_block(corrected(FORMULA, GIVEN, NEW), PRINTED)
        == "If $`T \\ge N`$. Otherwise as printed."
    )
    assert (
        correction_block(corrected(FORMULA, GIVEN, NEW, holds_for=("T >= N",)), PRINTED)
        == "Otherwise as printed."
    )


def test_a_correction_without_a_printed_condition_shows_all_its_conditions() -> None:
    assert correction_block(corrected(FORMULA, NEW), PRINTED) == (
        "If $`T \\ge N`$. These conditions replace the printed ones."
    )
    assert (
        correction_block(corrected(FORMULA), PRINTED)
        == "The printed conditions are left out."
    )


def test_a_chapter_shows_the_formula_and_all_conditions_of_a_correction() -> None:
    block = correction_block(
        corrected(FORMULA, GIVEN, NEW, holds_for=("T >= N",)), PRINTED, in_chapter=True
    )
    assert block.startswith("```math")
    assert block.endswith("If $`N \\ge 2`$, $`T \\ge N`$.")


def test_a_letter_of_several_claims_is_explained_once_for_the_page() -> None:
    whole = Line(word="where", text="N integer, N >= 1", latex=r"N \ge 1")
    real = Line(word="where", text="N real, N >= 1", latex=r"N \ge 1")
    first = msgspec.structs.replace(PRINTED, display=[FORMULA, whole])
    third = msgspec.structs.replace(PRINTED, display=[FORMULA, real])
    groups = [[first], [first], [third]]
    shared = shared_letters(groups)
    assert (
        letters_of_page(groups, shared)
        == "Letters, where a claim does not say otherwise: whole $`N \\ge 1`$."
    )
    assert letters_line([first], shared) == ""
    assert letters_line([third], shared) == "Letters: real $`N \\ge 1`$."
    assert letters_line([first]) == "Letters: whole $`N \\ge 1`$."


def test_a_letter_with_two_meanings_on_a_page_is_explained_with_each_claim() -> None:
    order = Line(word="where", text="order real, order > 1", latex="z > 1")
    end = Line(word="where", text="end integer, end >= 1", latex=r"z \ge 1")
    groups = [
        [msgspec.structs.replace(PRINTED, display=[FORMULA, line])]
        for line in (order, order, end, end)
    ]
    assert not shared_letters(groups)


def test_a_quoted_fraction_or_logarithm_counts_as_the_formula() -> None:
    assert quotes_formula(
        r"$x_1 \leq \log_2 T \sqrt{\log(1/\delta)}$",
        r"x_1 \le \log_2(T) \sqrt{\log\left(\frac{1}{\delta}\right)}",
    )
    assert not quotes_formula(r"$x_1 \leq \log_2 T d$", r"x_1 \le \log_2(T) d")


def test_a_letter_whose_domain_has_no_bounds_has_its_own_name_even_inside_the_word_integer() -> (
    None
):
    line = Line(word="where", text="n integer", latex="n")
    shown = msgspec.structs.replace(PRINTED, display=[FORMULA, line])
    assert letters_line([shown]) == "Letters: whole $`n`$."
