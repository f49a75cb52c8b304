"""Inductions: what makes one is refused where it is not exactly that, and both derivations count as cited."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sympy import Eq, Function, Integer, Lambda, Piecewise, Sum, Symbol

from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.cited import all_subderivations, cite
from dpverify.symbolic.derive.integers import Hypothesis, Induction, by_induction
from dpverify.symbolic.derive.steps import Derivation, DerivationError, Premise, Step
from dpverify.symbolic.expressions.evaluation import AnyFunction, FunctionOf
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from tests.for_each import for_each

n = Symbol("n", integer=True, nonnegative=True)
i = Symbol("i", integer=True)
c, x = Symbol("c", real=True), Symbol("x", real=True)
f = Function("f", real=True)
VARIABLES: dict[str, Variable] = {
    "n": integer(0, 9),
    "c": real(1, 2),
    "x": real(1, 2),
    "f": AnyFunction(),
}


def total(last: Any) -> Any:
    return Sum(c * f(i), (i, 1, last))


def factored(last: Any) -> Any:
    return c * Sum(f(i), (i, 1, last))


def chain(
    start: Any, *steps: Step, given: tuple[Any, ...] = (), **premises: Premise
) -> Derivation:
    return Derivation("chain", "ours", VARIABLES, given, start, steps, premises)


HYPOTHESIS = Hypothesis(total(n), "=", factored(n), letter=n)
BASE = chain(total(0), Step(factored(0), "="))
HERE = Step(factored(n) + c * f(n + 1), "=", "premise", {}, ("hypothesis",))


def split(term: Any, last: Any = n) -> Step:
    return Step(
        Sum(term, (i, 1, last)) + term.subs(i, last + 1), "=", "sum-split",
        {"f": Lambda(i, term), "lo": 1, "hi": last + 1, "m": last},
    )  # fmt: skip


def joined(last: Any = n) -> Step:
    return Step(factored(last + 1), "=", "sum-split", {"f": Lambda(i, f(i)), "lo": 1, "hi": last + 1, "m": last},
                context=c * HOLE)  # fmt: skip


def step_by(
    *premises: Premise, given: tuple[Any, ...] = (), here: Step = HERE
) -> Derivation:
    named = {"hypothesis": HYPOTHESIS} | {
        f"more {k}": p for k, p in enumerate(premises)
    }
    return chain(total(n + 1), split(c * f(i)), here, joined(), given=given, **named)


def use(
    premise: Premise, where: dict[str, Any], last: Any = n, given: tuple[Any, ...] = ()
) -> Derivation:
    return chain(
        total(last),
        Step(factored(last), "=", "premise", where, ("sum",)),
        given=given,
        sum=premise,
    )


def odd(last: Any) -> Any:
    return Sum(2 * i - 1, (i, 1, last))


ODD = Hypothesis(odd(n), "=", n**2, letter=n)  # which is proved by induction only
ODD_BASE = chain(odd(0), Step(Integer(0), "="))


def odd_step(given: tuple[Any, ...] = ()) -> Derivation:
    here = Step(n**2 + 2 * n + 1, "=", "premise", {}, ("hypothesis",))
    return chain(
        odd(n + 1),
        split(2 * i - 1),
        here,
        Step((n + 1) ** 2, "="),
        given=given,
        hypothesis=ODD,
    )


def use_odd(
    premise: Premise, where: dict[str, Any], last: Any = n, given: tuple[Any, ...] = ()
) -> Derivation:
    return chain(
        odd(last),
        Step(last**2, "=", "premise", where, ("sum",)),
        given=given,
        sum=premise,
    )


def test_an_induction_is_a_premise_that_takes_nothing_for_granted() -> None:
    whole = use(by_induction(n, 0, base=BASE, step=step_by()), {"n": n + 2}, n + 2)
    assert [name for name, _ in all_subderivations(whole)] == ["sum", "sum"]
    assert all(check_derivation(one, 30).complete for one in (whole, BASE, step_by()))


def test_it_holds_from_its_start_on_and_for_whole_numbers() -> None:
    late = by_induction(
        n, 3, base=chain(odd(3), Step(Integer(9), "=")), step=odd_step()
    )
    assert not check_derivation(use_odd(late, {}), 30).complete
    early = by_induction(n, 0, base=ODD_BASE, step=odd_step())
    assert check_derivation(use_odd(early, {}), 30).complete


def test_the_conclusion_may_not_be_used_below_its_start() -> None:
    m = Symbol("m", integer=True)
    odd_numbers = by_induction(n, 0, base=ODD_BASE, step=odd_step())
    below = Derivation("below", "ours", {**VARIABLES, "m": integer(0, 9)}, (), odd(m),
                       (Step(m**2, "=", "premise", {"n": m}, ("sum",)),), {"sum": odd_numbers})  # fmt: skip
    assert not check_derivation(below, 30).complete
    premise = by_induction(n, 0, base=BASE, step=step_by())
    with pytest.raises(DerivationError, match="not declared"):
        check_derivation(
            use(premise, {"n": Symbol("y", real=True)}, Symbol("y", real=True)), 30
        )


def test_with_a_last_number_the_step_may_assume_that_the_next_one_is_no_larger() -> (
    None
):
    k = Symbol("k", integer=True)
    step = step_by(given=(n + 1 <= k,))
    premise = by_induction(n, 0, base=BASE, step=step, last=k)
    assert [str(condition) for condition in premise.conditions][:3] == [
        "n is an integer",
        "n >= 0",
        "n <= k",
    ]
    declared = {**VARIABLES, "k": integer(0, 9)}
    odd_bounded = replace(odd_step((n + 1 <= k,)), variables=declared)
    odd_numbers = by_induction(
        n, 0, base=replace(ODD_BASE, variables=declared), step=odd_bounded, last=k
    )
    assert not check_derivation(
        replace(use_odd(odd_numbers, {}), variables=declared), 30
    ).complete
    assert check_derivation(
        replace(use_odd(odd_numbers, {}, given=(n <= k,)), variables=declared), 30
    ).complete
    above = use_odd(odd_numbers, {"n": k + 1}, k + 1, given=(k >= 0,))
    assert not check_derivation(replace(above, variables=declared), 30).complete
    for last in (None, k + 1, n, n + 1):
        with pytest.raises(DerivationError):
            by_induction(n, 0, base=BASE, step=step, last=last)
    with pytest.raises(DerivationError, match="does not grant"):
        by_induction(n, 0, base=replace(BASE, assumptions=(n <= k,)), step=step, last=k)
    every = Hypothesis(n * x, "=", x * n, letter=n, universal_letters=("x",))
    with pytest.raises(DerivationError, match="up to one number"):
        by_induction(
            n, 0, base=chain(Integer(0)), step=chain((n + 1) * x, h=every), last=x
        )


def test_what_the_derivations_assume_is_a_condition() -> None:
    premise = by_induction(
        n, 0, base=replace(BASE, assumptions=(c <= 3,)), step=step_by(given=(x <= 2,))
    )
    assert [str(condition) for condition in premise.conditions] == [
        "n is an integer",
        "n >= 0",
        "c <= 3",
        "x <= 2",
    ]


# letter, start, base and step
FALSE: dict[str, tuple[Any, Any, Derivation, Derivation]] = {
    "no hypothesis": (n, 0, BASE, replace(step_by(), premises={})),
    "two hypotheses": (n, 0, BASE, step_by(replace(HYPOTHESIS, lhs=c))),
    "another letter": (i, 0, BASE, step_by()),
    "base at the wrong start": (n, 1, BASE, step_by()),
    "base with another end": (n, 0, chain(total(0)), step_by()),
    "base that goes the other way": (
        n,
        0,
        chain(factored(0), Step(total(0), "=")),
        step_by(),
    ),
    "base that is an inequality": (
        n,
        0,
        replace(BASE, steps=(Step(factored(0), "<="),)),
        step_by(),
    ),
    "base that speaks of the letter": (
        n,
        0,
        replace(BASE, assumptions=(n >= 1,)),
        step_by(),
    ),
    "step at the letter itself": (n, 0, BASE, use(HYPOTHESIS, {})),
    "step by two": (
        n,
        0,
        BASE,
        chain(total(n + 2), Step(factored(n + 2), "="), h=HYPOTHESIS),
    ),
    "step that ends elsewhere": (
        n,
        0,
        BASE,
        replace(step_by(), steps=step_by().steps[:-1]),
    ),
    "step that assumes that the letter is larger": (
        n,
        0,
        BASE,
        step_by(given=(n >= 1,)),
    ),
    "step that assumes that the letter is small": (
        n,
        0,
        BASE,
        step_by(given=(n <= 9,)),
    ),
    "local letters": (n, 0, BASE, replace(step_by(), local=("x",))),
    "start that is not whole": (n, x, BASE, step_by()),
    "start that is the letter": (n, n, BASE, step_by()),
}


def _induct(letter: Any, start: Any, base: Derivation, step: Derivation) -> Induction:
    return by_induction(letter, start, base=base, step=step)


@for_each("name", sorted(FALSE))
def test_what_is_no_induction_is_refused(name: str) -> None:
    with pytest.raises(DerivationError):
        _induct(*FALSE[name])


@for_each("letter", [Symbol("n", real=True), Symbol("n", integer=True, positive=True)])
def test_the_letter_is_whole_and_no_more_than_its_start_says(letter: Any) -> None:
    hypothesis = Hypothesis(letter, "=", letter, letter=letter)
    step = chain(letter + 1, h=hypothesis)
    with pytest.raises(DerivationError, match=r"whole number|not proved from 0 on"):
        by_induction(letter, 0, base=chain(Integer(0)), step=step)
    if letter.is_integer:
        assert isinstance(
            by_induction(letter, 1, base=chain(Integer(1)), step=step), Induction
        )


def test_the_letter_may_not_be_the_index_of_a_sum() -> None:
    """Sum over n = 0 .. 3 of n is not n: the letter of the sum is another one of the same name."""
    inside = Symbol("n", integer=True)
    hypothesis = Hypothesis(Sum(inside, (inside, 0, 3)), "=", n, letter=n)
    step = chain(Sum(inside, (inside, 0, 3)), Step(n + 1, "="), h=hypothesis)
    with pytest.raises(DerivationError, match="index of a sum"):
        by_induction(
            n,
            0,
            base=chain(Sum(inside, (inside, 0, 3)), Step(Integer(0), "=")),
            step=step,
        )


@for_each("where", [{"n": n + 1}, {"n": 0}, {"c": c + 1}])
def test_the_step_may_use_the_hypothesis_at_the_letter_only(
    where: dict[str, Any],
) -> None:
    """At n + 1 it would be what is to be proved; of other letters it is assumed as they stand."""
    elsewhere = replace(HERE, where=where)
    with pytest.raises(DerivationError, match="itself, and nowhere else"):
        check_derivation(step_by(here=elsewhere), 10)


def test_a_false_base_and_a_false_step_are_not_complete() -> None:
    """1 = 0 follows from a false start, and n = 0 from a step that does not hold."""
    off = Hypothesis(n + 1, "=", n, letter=n)
    by_hypothesis = Step(n + 1, "=", "premise", {}, ("h",), context=None)
    assert (
        check_derivation(
            chain(n + 2, replace(by_hypothesis, context=HOLE + 1), h=off), 10
        )
        .steps[-1]
        .status
        == "fails"
    )
    base = chain(Integer(1), Step(Integer(0), "="))
    premise = by_induction(
        n,
        0,
        base=base,
        step=chain(n + 2, replace(by_hypothesis, context=HOLE + 1), h=off),
    )
    assert [
        check_derivation(one, 10).complete for one, _ in premise.subderivations
    ] == [False, False]


def test_letters_for_all_values_of_which_it_is_assumed_may_change() -> None:
    every = Hypothesis(n * x, "=", x * n, letter=n, universal_letters=("x",))
    assert every.instance({"x": c * x}).rhs == n * c * x
    with pytest.raises(DerivationError, match="itself"):
        every.instance({"c": x})
    with pytest.raises(DerivationError, match="may be false"):
        by_induction(
            n,
            0,
            base=chain(Integer(0)),
            step=chain((n + 1) * x, given=(x <= 2,), h=every),
        )
    assert by_induction(
        n, 0, base=chain(Integer(0)), step=chain((n + 1) * x, h=every)
    ).subderivations
    with pytest.raises(DerivationError, match="itself"):
        by_induction(
            n,
            0,
            base=chain(Integer(0)),
            step=chain((n + 1) * x, h=replace(every, universal_letters=("n",))),
        )


def test_functions_have_one_value_at_each_place_and_follow_their_formula() -> None:
    m = Symbol("m", integer=True)
    g = Function("g", real=True)
    value = Piecewise((c, m <= 0), (g(m - 1) + f(m), True))
    declared = {**VARIABLES, "g": FunctionOf("g", (m,), value)}
    said = Premise(g(n), "=", c + Sum(f(i), (i, 1, n)))
    steps = (Step(c + Sum(f(i), (i, 1, n)), "=", "premise", {}, ("said",)),)
    right = Derivation("sum", "ours", declared, (), g(n), steps, {"said": said})
    assert check_derivation(right, 30).complete
    wrong = replace(right, steps=(replace(steps[0], expr=c + Sum(f(i), (i, 0, n))),))
    assert check_derivation(wrong, 30).steps[-1].status == "fails"
    assert not check_derivation(
        replace(right, start=g(c), steps=(Step(g(c) + 0 * n, "="),)), 5
    ).complete


def test_letters_on_which_a_function_depends_stay_as_they_are() -> None:
    """m(n) = a*n by definition for the a of the paper: for every other one it is false, however deep it is cited."""
    a, m = Symbol("a", real=True), Function("m", real=True)
    declared = {**VARIABLES, "a": real(1, 2), "m": FunctionOf("m", (n,), a * n)}
    said = Defined(m(n), "=", a * n)
    lemma = Derivation(
        "m",
        "ours",
        declared,
        (),
        m(n),
        (Step(a * n, "=", "premise", {}, ("m",)),),
        {"m": said},
    )
    assert cite(lemma, n=n + 1).rhs == a * (n + 1)
    for where in ({"a": Integer(2)}, {"m": Lambda(n, 0)}):
        with pytest.raises(DerivationError, match="one meaning"):
            cite(lemma, **where)
        with pytest.raises(DerivationError, match="one meaning"):
            cite(lemma).instance(where)
        deeper = Derivation(
            "deeper", "ours", declared, (), m(n), lemma.steps, {"m": cite(lemma)}
        )
        with pytest.raises(DerivationError, match="one meaning"):
            cite(deeper, **where)
    special = replace(
        lemma, assumptions=(Eq(a, 1),), steps=(*lemma.steps, Step(n, "="))
    )
    with pytest.raises(DerivationError, match="no letter of its own"):
        cite(replace(special, local=("a",)))
    above = Derivation("above", "ours", declared, (Eq(a, 1),), m(n), (Step(n, "=", "premise", {}, ("m",)),),
                       {"m": cite(special)}, local=("a",))  # fmt: skip
    assert above.fixed_local_letters == {"a"}
    with pytest.raises(DerivationError, match="no letter of its own"):
        cite(above)
    every = Hypothesis(m(n), "=", a * n, letter=n, universal_letters=("a",))
    by_definition = Step(a * (n + 1), "=", "premise", {"n": n + 1}, ("m",))
    step = Derivation(
        "step",
        "ours",
        declared,
        (),
        m(n + 1),
        (by_definition,),
        {"m": said, "h": every},
    )
    base = Derivation(
        "base", "ours", declared, (), m(Integer(0)), (Step(Integer(0), "="),)
    )
    with pytest.raises(DerivationError, match="one meaning"):
        by_induction(n, 0, base=base, step=step)


class Defined(Premise):
    @property
    def fixed_names(self) -> frozenset[str]:
        return frozenset({"a", "m"})
