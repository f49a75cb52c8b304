from __future__ import annotations

import msgspec

from dpverify.ledger.display import Line
from dpverify.ledger.results import AmendmentResult
from dpverify.report.statements import correction_block, printed_block
from dpverify.report.typeset.quotation import quotes_formula
from tests.unit.report.sample import result

FORMULA = Line(text="x <= 4*alpha*sqrt(N)", latex=r"x \le 4 \alpha \sqrt{N}")
GIVEN = Line(word="if", text="N >= 2", latex=r"N \ge 2")
NEW = Line(word="if", text="T >= N", latex=r"T \ge N")
PRINTED = msgspec.structs.replace(
    result("lemma-1", "Lemma 1", "inequality", "refuted", quote=r"Then $x \leq 4\alpha\sqrt{N}$."),
    display=[FORMULA, GIVEN],
)


def corrected(*lines: Line, holds_for: tuple[str, ...] = ()) -> AmendmentResult:
    return AmendmentResult(status="proved", why="", corrects=True, display=[*lines], holds_for=[*holds_for])


def test_a_formula_that_is_quoted_is_not_shown_again() -> None:
    assert printed_block(PRINTED) == "If $`N \\ge 2`$."
    other = msgspec.structs.replace(PRINTED, quote=r"Then $x \leq 4\alpha\sqrt{N} + 1$.")
    assert printed_block(other).startswith("```math")


def test_only_a_whole_formula_counts_as_quoted() -> None:
    assert quotes_formula(r"$$x_{1} \leq \left(a + b\right),$$", r"x_1 \le (a + b)")
    assert not quotes_formula(r"$x_1 \leq (a + b)/2$", r"x_1 \le (a + b)")
    assert not quotes_formula(r"$x_1 \leq \frac{ab}{c}$", r"x_1 \le \frac{a}{bc}")


def test_a_correction_shows_what_is_new_and_says_that_the_others_stay() -> None:
    assert correction_block(corrected(FORMULA, GIVEN, NEW), PRINTED) == "If $`T \\ge N`$. Otherwise as printed."
    assert correction_block(corrected(FORMULA, GIVEN, NEW, holds_for=("T >= N",)), PRINTED) == "Otherwise as printed."


def test_a_correction_without_a_printed_condition_is_shown_whole() -> None:
    assert correction_block(corrected(FORMULA, NEW), PRINTED).startswith("```math")
