from __future__ import annotations

from msgspec.structs import replace

from dpverify.ledger.check_results import CheckResult, Counterexample, Number
from dpverify.ledger.claims import Line
from dpverify.report.counterexamples import (
    counterexample_list,
    example_words,
    informative,
    meaning_words,
    none_at_run_line,
    side_names,
    sides,
)
from tests.unit.report.sample import about, conversion, exact, result


def refuted(*examples: Counterexample) -> str:
    return counterexample_list(
        result("lemma-1", "Lemma 1", "count", "refuted", counterexamples=[*examples])
    )


def example(
    kind: str = "smallest", lhs: object = None, rhs: object = None, **more: object
) -> Counterexample:
    fields = {
        "parameters": {"N": exact("2")},
        "lhs": lhs or about(2.0),
        "rhs": rhs or exact("1"),
        **more,
    }
    return Counterexample(kind=kind, **fields)  # type: ignore[arg-type]  # keywords of tests


def test_both_sides_stand_with_as_many_digits_as_tell_them_apart() -> None:
    assert sides(example(lhs=about(0.123456), rhs=about(0.123457))) == (
        "≈0.123456",
        "≈0.123457",
    )
    assert (
        refuted(example(lhs=about(3.0)))
        == "- Smallest counterexample, `N=2`: ≈3 against 1 (3 times)."
    )
    assert (
        refuted(example(lhs=about(1.5)))
        == "- Smallest counterexample, `N=2`: ≈1.5 against 1."
    )


def test_equal_sides_are_not_shown() -> None:
    same = example(lhs=exact("7/3"), rhs=exact("7/3"), note="a logarithm more")
    assert refuted(same) == "- Smallest counterexample, `N=2`; a logarithm more."
    assert example_words(same) == "at N=2: a logarithm more"


def test_sides_have_the_names_that_the_statement_gives_them() -> None:
    claim = result("lemma-1", "Lemma 1", "count", "refuted")
    named = replace(claim, display=[Line(text="sum(1/i, i, 1, N) <= 1")])
    assert (
        example_words(example(), side_names(named))
        == "at N=2: sum(1/i, i, 1, N) ≈ 2, right 1"
    )
    long = replace(claim, display=[Line(text=f"{' + '.join(['N'] * 30)} >= delta")])
    assert side_names(long) == ("left", "delta =")
    assert side_names(replace(claim, display=[])) == ("left", "right")


def test_a_limit_argument_is_shown_as_one() -> None:
    exponents = {"exponent_of_N": exact("1"), "exponent_of_d": exact("0")}
    limit = example(
        parameters=exponents,
        lhs=exact("3"),
        note="along N = x it grows as x^3, the claim as x^2",
    )
    assert (
        refuted(limit)
        == "- In the limit; along $`N = x`$ it grows as $`x^3`$, the claim as $`x^2`$."
    )
    far = example(
        parameters={"T": Number(float=2.1e96)}, lhs=about(0.5), rhs=about(0.1)
    )
    assert refuted(far) == "- In the limit at `T=2.1e96`: ≈0.5 against ≈0.1 (5 times)."


def test_a_ratio_that_is_large_only_where_numbers_are_absurd_is_left_out() -> None:
    absurd = example("largest-ratio", parameters={"delta": Number(float=6.3e-32)})
    assert informative(
        result("l", "L", "count", "refuted", counterexamples=[absurd, example()])
    ) == [example()]
    assert informative(
        result("l", "L", "count", "refuted", counterexamples=[absurd])
    ) == [absurd], "better than none"
    assert [one.kind for one in informative(conversion())] == ["smallest"]


def test_that_no_size_that_is_run_was_found_is_said_only_where_one_was_searched_for() -> (
    None
):
    searched = CheckResult(name="search", method="search", status="refuted")
    size, other = (
        Line(word="where", text="N integer, N >= 1"),
        Line(word="where", text="alpha real, 0 < alpha"),
    )
    measured = Line(word="measured:", text="node_count")

    def said(
        *lines: Line,
        check: CheckResult = searched,
        kind: str = "smallest",
        budget: str = "standard",
    ) -> str:
        made = result(
            "l",
            "L",
            "count",
            "refuted",
            counterexamples=[example(kind)],
            checks=[check],
        )
        return none_at_run_line(replace(made, latex="N < 1", display=[*lines]), budget)

    assert said(size) == "A search for a counterexample at practical sizes found none."
    assert said(other) == "", "no letter has a size"
    assert said(size, measured) == "", (
        "what code measures is not searched at such sizes"
    )
    assert said(size, kind="practical") == ""
    assert said(size, budget="smoke") == ""
    assert (
        said(
            size,
            check=CheckResult(name="points", method="exhaustive", status="refuted"),
        )
        == ""
    )


def test_an_example_at_a_practical_size_comes_first_and_says_what_it_means() -> None:
    both = [
        example(),
        example("practical", lhs=about(8.0), parameters={"N": exact("1000")}),
    ]
    made = result("lemma-1", "Lemma 1", "dp", "refuted", counterexamples=both)
    assert [each.kind for each in informative(made)] == ["practical", "smallest"]
    assert meaning_words(both[1], "dp") == "the true delta is 8 times the promised one"
    assert (
        meaning_words(both[1], "identity") == "the left side is 8 times the right side"
    )
    assert meaning_words(both[0], "dp") == "", "only sizes that somebody runs"
    assert meaning_words(example("practical", lhs=about(0.5)), "dp") == "", (
        "a lower bound is missed from below"
    )
    words = example_words(both[1], meaning=meaning_words(both[1], "dp"))
    assert (
        words
        == "at N=1000: left ≈8, right 1 (the true delta is 8 times the promised one)"
    )
    assert "; the true delta is 8 times the promised one." in counterexample_list(made)


def test_an_example_whose_sides_no_float_shows_gives_way_to_one_with_sides() -> None:
    huge = example("practical", lhs=Number(float="4e2567"), rhs=Number(float="3e2567"))
    assert informative(
        result("l", "L", "count", "refuted", counterexamples=[huge, example()])
    ) == [example()]
    assert informative(
        result("l", "L", "count", "refuted", counterexamples=[huge])
    ) == [huge]
