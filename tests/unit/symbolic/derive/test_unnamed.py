"""Names of what cited derivations start from, and what they stand for in their place."""

from sympy import Integer, Symbol

from dpverify.symbolic.certify.certificates import CertificateBook
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.derive.steps import Derivation, Premise, Step
from dpverify.symbolic.derive.unnamed import renamed_letter, without_local_names
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import FromPremises, Variable, real

x, cut, part, mean, other = (
    Symbol(name, nonnegative=True) for name in ("x", "cut", "part", "mean", "other")
)
RANGES: dict[str, Variable] = {"x": real(0, 3), "cut": real(0, 1)}
GIVEN, FACTOR = "what the mean is at most", "one factor"


def factor() -> Derivation:
    """``x cut <= x``, with a letter of its own."""
    return Derivation(
        FACTOR,
        "ours",
        RANGES,
        (cut <= 1,),
        x * cut,
        (Step.order(x * HOLE, cut, Integer(1)),),
        local=("cut",),
    )


def means(**more: Variable) -> Derivation:
    """``mean <= 2 part <= 2 x``, where part is a name for ``x cut``."""
    steps = (
        Step(2 * part, "<=", "premise", {}, (GIVEN,)),
        Step.within(2 * HOLE, x, "premise", {}, (FACTOR,)),
    )
    variables = {
        "x": RANGES["x"],
        "part": FromPremises(),
        "mean": FromPremises(),
        **more,
    }
    premises = {GIVEN: Premise(mean, "<=", 2 * part), FACTOR: cite(factor(), part)}
    return Derivation(
        "a mean",
        "ours",
        variables,
        (),
        mean,
        steps,
        premises,
        local=("part", "mean", *more),
    )


def test_a_name_becomes_what_it_stands_for_with_what_is_assumed_of_its_letters() -> (
    None
):
    opened = without_local_names(means())
    assert opened.steps[0].expr == 2 * x * cut
    assert opened.premises[GIVEN].rhs == 2 * x * cut
    assert opened.premises[FACTOR].lhs == x * cut
    assert (opened.assumptions, opened.local) == ((cut <= 1,), ("part", "mean", "cut"))
    assert "part" not in opened.variables
    assert without_local_names(opened) is opened


def test_such_a_name_is_no_obstacle_to_a_certificate() -> None:
    book = CertificateBook()
    book.lemma(means())
    outer = book.lemmas[-1]
    assert [one["name"] for one in outer["premises"].values()] == [GIVEN]
    assert outer["local"]["letters"] == {"cut": "real"}


def test_a_name_stays_where_a_letter_of_the_cited_derivation_means_something_else() -> (
    None
):
    derivation = means(cut=real(0, 1))
    assert without_local_names(derivation) is derivation


def test_a_letter_that_a_derivation_starts_from_becomes_what_is_named() -> None:
    start = Derivation(
        "a letter",
        "ours",
        {"other": real(0, 1)},
        (other <= 1,),
        other,
        (Step.order(HOLE, other, Integer(1)),),
    )
    assert renamed_letter(cite(start, part)) == "other"
    assert renamed_letter(cite(start)) is None
    assert renamed_letter(cite(factor(), part)) is None
