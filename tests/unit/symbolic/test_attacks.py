"""False or unproven claims, each dressed so that a careless checker would accept it. None may come out complete."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy
from sympy import Function, Lambda, Rational, Sum, Symbol, exp, oo, sqrt

from dpverify.symbolic.certify.certificates import certify_chain
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.steps import (
    Case,
    Cases,
    Derivation,
    DerivationError,
    Premise,
    Step,
)
from dpverify.symbolic.expressions.functions import HOLE, Moment
from dpverify.symbolic.expressions.ranges import (
    AnyVector,
    GaussianNorm,
    Range,
    SetBits,
    Variable,
    integer,
    real,
)
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import conclude, refusal, unproved_premises

x = Symbol("x", real=True)
y = Symbol("y", positive=True)
n = Symbol("n", integer=True, nonnegative=True)
i, k = Symbol("i", integer=True), Symbol("k", integer=True)
WHERE: dict[str, Variable] = {
    "x": real(-3, 3),
    "y": real(0, 3, open_lo=True),
    "n": integer(0, 9),
}


def chain(
    start: Any, *steps: Step | Cases, assumptions: tuple[Any, ...] = (), **more: Any
) -> Derivation:
    variables: dict[str, Variable] = more.pop("variables", WHERE)
    return Derivation("attack", "ours", variables, assumptions, start, steps, **more)


def statuses(derivation: Derivation, points: int = 60) -> list[str]:
    result = check_derivation(derivation, points=points)
    assert not result.complete
    return [step.status for step in result.steps[1:]]


def test_a_sum_index_cannot_bring_its_own_sign() -> None:
    """With i declared positive sympy simplifies sqrt(i**2) and |i|, although the sum starts below 0."""
    positive = Symbol("i", integer=True, positive=True)
    start = Sum(Function("pos")(positive), (positive, -2, 2))
    with pytest.raises(DerivationError, match="pos is not declared"):
        check_derivation(chain(start))
    rising = chain(
        Sum(x**2 * positive, (positive, -3, n)),
        Step(
            Sum((x**2 + 1) * positive, (positive, -3, n)),
            "<=",
            "drop-nonnegative",
            {"a": x**2, "b": 1},
        ),
    )
    assert statuses(rising) == ["fails"]


def test_a_set_bit_cannot_be_declared_positive() -> None:
    s = Symbol("s", integer=True, positive=True)
    pos = Function("pos", integer=True, positive=True)
    variables = {"s": integer(1, 99), "pos": SetBits(s)}
    wrong = chain(
        sympy.Integer(1),
        Step(pos(1), "<=", "order", {"a": 1, "b": pos(1)}),
        variables=variables,
    )
    assert statuses(wrong) == ["fails"]


@for_each("assumption", ["even", "prime", "irrational", "zero"])
def test_assumptions_that_no_domain_grants_are_refused(assumption: str) -> None:
    odd = Symbol("n", **{assumption: True})
    with pytest.raises(DerivationError, match="which no domain can grant"):
        check_derivation(chain(odd + 0))


def test_contradictory_assumptions_prove_nothing() -> None:
    step = Step(x - 100, ">=", "order", {"a": x - 100, "b": x})
    absurd = chain(
        x, Step(x - 1, "<=", "order", {"a": x, "b": x - 1}), assumptions=(x > 1, x < 0)
    )
    result = check_derivation(absurd, points=60)
    assert not result.complete
    assert "points" in result.note
    with pytest.raises(DerivationError, match="false"):
        check_derivation(chain(x, step, assumptions=(sympy.false,)))


def test_a_rule_is_judged_in_every_sum_by_the_range_there() -> None:
    end = Sum(1, (i, 1, 4)) + Sum(1, (i, 5, 9))
    for shift, proven in ((0, True), (1, True), (2, False), (5, False)):
        power = x ** (i - shift)
        start = Sum(power, (i, 1, 4)) + Sum(power, (i, 5, 9))
        step = Step(end, "<=", "power-at-most-one", {"x": x, "p": i - shift})
        assert (
            check_derivation(
                chain(start, step, assumptions=(x > 0, x <= 1)), points=60
            ).complete
            == proven
        )


def test_an_index_range_says_nothing_where_the_sum_is_empty() -> None:
    """1 <= i <= n would give n >= 1, but for n = 0 the sum is empty and n - 1 is negative."""
    start = Sum(x**i, (i, 1, n))
    step = Step(start + n - 1, "<=", "order", {"a": 0, "b": n - 1})
    assert statuses(chain(start, step, assumptions=(x >= 0,))) == ["fails"]
    hidden = Step(start + n - 1, "<=", "order", {"a": i - i, "b": n - 1 + i - i})
    assert statuses(chain(start, hidden, assumptions=(x >= 0,))) == ["fails"]
    with_index = Step(start + n - 1, "<=", "order", {"a": 1 - i, "b": n - i})
    assert statuses(chain(start, with_index, assumptions=(x >= 0,))) == ["fails"]


def test_an_index_may_not_leave_its_sum() -> None:
    start = Sum(x**i, (i, 1, n))
    step = Step(
        start + n - 1, "<=", "order", {"a": i, "b": n + i - 1}, context=start + HOLE - i
    )
    assert statuses(chain(start, step, assumptions=(x >= 0,))) == ["fails"]


def test_the_direction_of_the_context_is_proven() -> None:
    turned = Step(
        1 / (x + 2), "<=", "order", {"a": x, "b": x + 1}, context=1 / (HOLE + 1)
    )
    assert statuses(chain(1 / (x + 1), turned, assumptions=(x >= 0,))) == ["fails"]
    pole = chain(1 / x, Step(1 / (x + 1), ">=", "drop-nonnegative", {"a": x, "b": 1}))
    assert statuses(pole) == ["fails"]
    squared = Step((x + 1) ** 2, "<=", "drop-nonnegative", {"a": x, "b": 1})
    assert statuses(chain(x**2, squared)) == ["fails"]


def test_a_true_step_without_a_proof_is_only_checked() -> None:
    bare = chain(
        x, Step(sqrt(x**2 + 1), "<=", "order", {"a": x, "b": exp(x) + 1 - x + x})
    )
    assert statuses(bare) == ["checked"]
    no_rule = chain(x, Step(exp(x), "<="))
    assert statuses(no_rule) == ["checked"]


def test_an_equality_is_not_justified_by_an_inequality() -> None:
    assert statuses(chain(1 - x, Step(exp(-x), "=", "one-minus-exp", {"x": x}))) == [
        "fails"
    ]


def test_a_side_without_a_value_on_the_domain_is_not_proved() -> None:
    pole = chain(
        1 / (x - 1) - 1 / (x - 1) + x,
        Step((x**2 - x) / (x - 1), "="),
        assumptions=(x >= 0, x <= 1),
    )
    result = check_derivation(pole)
    assert result.steps[1].status == "undecided"
    assert (
        "division by zero" in result.steps[1].note
        or "negative power" in result.steps[1].note
    )


def at_most(letter: Any, bound: Any) -> Step:
    return Step(exp(bound), "<=", "order", {"a": letter, "b": bound}, context=exp(HOLE))


def test_cases_that_cannot_be_shown_to_cover_do_not_pass() -> None:
    bound = Rational(7, 2)
    low = Case(x <= 1, (at_most(x, bound),))
    high = Case(x >= 2, (at_most(x, bound),))
    gap = chain(exp(x), Cases(exp(bound), "<=", (low, high)), assumptions=(x <= 3,))
    assert "cover the domain" in check_derivation(gap).steps[-1].note
    either = Case(sympy.And(x >= 1, x <= 2), low.steps)
    result = check_derivation(
        chain(exp(x), Cases(exp(bound), "<=", (either, low)), assumptions=(x <= 3,))
    )
    assert not result.complete
    full = Cases(exp(bound), "<=", (low, Case(x >= 1, high.steps)))
    assert check_derivation(chain(exp(x), full, assumptions=(x <= 3,))).complete


def test_what_is_written_first_is_not_what_stands_first() -> None:
    """Of a strict first case the certificate begins with the other cases; no step counts that it does not contain."""
    wrong = (Step(exp(x), "<="),)
    strict = Cases(exp(x), "<=", (Case(x < 1, wrong), Case(x >= 1, wrong)))
    first, second, end = check_derivation(chain(x, strict)).steps[1:]
    assert {first.status, second.status, end.status} == {"checked"}
    alone = chain(exp(x), Cases(exp(5), "<=", (Case(x < 1, (at_most(x, 5),)),)))
    assert check_derivation(alone).steps[-1].status != "proved"
    assert "cover the domain" in check_derivation(alone).steps[-1].note


def test_cases_that_the_certificate_does_not_need_are_not_called_proved() -> None:
    needless = Cases(
        x + 1,
        "<=",
        (
            Case(x <= 1, (Step(exp(x) + x + 1, "<="),)),
            Case(x >= 1, (Step(x + 1, "<="),)),
        ),
    )
    inner, *_, end = check_derivation(chain(x, needless)).steps[1:]
    assert (inner.status, end.status) == ("checked", "proved")
    assert "does not need it" in inner.note


def test_cases_may_be_told_apart_by_what_has_no_value_somewhere() -> None:
    """The claim is proved in each case, and the checker's functions have a value everywhere."""
    pole = 1 / (x - 1)
    split = Cases(
        exp(3),
        "<=",
        (Case(x - 1 <= pole, (at_most(x, 3),)), Case(x - 1 >= pole, (at_most(x, 3),))),
    )
    assert check_derivation(chain(exp(x), split, assumptions=(x >= 1, x <= 3))).complete


POLE = sympy.Add(x, 1 / (x - 1), -1 / (x - 1), evaluate=False)
NO_VALUE: dict[str, tuple[Any, Any]] = {  # where a split starts, and where it ends
    "where it starts": (POLE, sympy.Integer(3)),
    "where it ends": (x, sympy.Add(3, 1 / (x - 1), -1 / (x - 1), evaluate=False)),
}


@for_each("where", NO_VALUE)
def test_cases_need_a_value_everywhere(where: str) -> None:
    start, end = NO_VALUE[where]
    steps = (Step(end, "<="),)
    split = Cases(end, "<=", (Case(x <= 1, steps), Case(x >= 1, steps)))
    result = check_derivation(chain(start, split, assumptions=(x >= 1, x <= 3)))
    assert result.steps[-1].status == "undecided"
    assert "without a value at x = 1" in result.steps[-1].note
    assert certify_chain(chain(start, split, assumptions=(x >= 1, x <= 3))).data is None
    plain = Cases(
        exp(3), "<=", (Case(x <= 2, (at_most(x, 3),)), Case(x >= 2, (at_most(x, 3),)))
    )
    assert (
        check_derivation(chain(exp(x), plain, assumptions=(x >= 1, x <= 3)))
        .steps[-1]
        .status
        == "proved"
    )


def test_integer_cases_cover_with_a_gap_of_one() -> None:
    low = Case(n <= 1, (at_most(n, 9),))
    high = Case(n >= 2, (at_most(n, 9),))
    assert check_derivation(
        chain(exp(n), Cases(exp(9), "<=", (low, high)), assumptions=(n <= 9,))
    ).complete
    gap = Case(n >= 3, high.steps)
    assert (
        statuses(chain(exp(n), Cases(exp(9), "<=", (low, gap)), assumptions=(n <= 9,)))[
            -1
        ]
        == "checked"
    )


def test_a_case_may_not_end_somewhere_else() -> None:
    low = Case(x <= 1, (Step(1, "<=", "order", {"a": x, "b": 1}),))
    high = Case(x >= 1, (Step(3, "<=", "order", {"a": x, "b": 3}),))
    split = Cases(sympy.Integer(1), "<=", (low, high))
    assert statuses(chain(x, split, assumptions=(x <= 3,)))[-1] == "fails"


def test_up_and_down_is_not_a_chain() -> None:
    with pytest.raises(DerivationError, match="both"):
        check_derivation(
            chain(
                x,
                Step(x + 1, "<=", "drop-nonnegative", {"a": x, "b": 1}),
                Step(x, ">=", "drop-nonnegative", {"a": x, "b": 1}),
            )
        )


def test_a_false_premise_is_refused() -> None:
    premise = Premise(x**2, "<=", x, ())
    used = chain(
        x**2, Step(x, "<=", "premise", {}, ("p:one",)), premises={"p:one": premise}
    )
    assert statuses(used) == ["fails"]


def test_an_unknown_premise_is_refused() -> None:
    premise = Premise(x**2, "<=", x, ())
    with pytest.raises(DerivationError, match="p:two"):
        check_derivation(
            chain(
                x**2,
                Step(x, "<=", "premise", {}, ("p:two",)),
                premises={"p:one": premise},
            )
        )


def test_undeclared_and_doubled_symbols_are_refused() -> None:
    with pytest.raises(DerivationError, match="z is not declared"):
        check_derivation(chain(Symbol("z")))
    with pytest.raises(DerivationError, match="two symbols are named x"):
        check_derivation(chain(x + Symbol("x", positive=True)))
    with pytest.raises(DerivationError, match="also a variable"):
        check_derivation(chain(Sum(n, (n, 0, 3))))
    with pytest.raises(DerivationError, match="nested"):
        check_derivation(chain(Sum(Sum(i, (i, 0, 3)), (i, 0, 3))))
    with pytest.raises(DerivationError, match="float"):
        check_derivation(chain(x + sympy.Float(0.5)))
    with pytest.raises(DerivationError, match="no rule 'wishful'"):
        check_derivation(chain(x, Step(x, "<=", "wishful")))


def test_laws_are_not_believed() -> None:
    law = Symbol("X")
    bold = Step(y / 2, "=", "gaussian-second-moment", {"X": law, "d": 1, "v": y / 2})
    variables: dict[str, Variable] = {**WHERE, "X": GaussianNorm(sympy.Integer(1), y)}
    assert statuses(chain(Moment(law, 2), bold, variables=variables)) == ["fails"]
    number = Step(sqrt(Moment(x, 2)), "<=", "jensen-sqrt", {"X": x})
    result_of_number = chain(
        Moment(law, 1), number, variables={**WHERE, "X": AnyVector()}
    )
    assert not check_derivation(result_of_number, points=20).complete


def test_a_false_rule_instance_in_a_lambda_is_not_met() -> None:
    start = Sum(x * i, (i, 0, n))
    longer = Step(
        Sum(x * i, (i, 0, n + 5)),
        "<=",
        "sum-extend",
        {"f": Lambda(k, x * k), "lo": 0, "hi": n, "more": n + 5},
    )
    assert statuses(chain(start, longer)) == ["fails"]


# Conclusions


def test_local_variables_cannot_narrow_the_statement(make_statement: Any) -> None:
    """The assumption alpha <= t hides alpha <= 1/2 behind a variable that the statement does not know."""
    claim = make_statement("alpha", "<=", "1/2", {"alpha": "real, 0 < alpha <= 1"})
    alpha, t = Symbol("alpha", positive=True), Symbol("t", real=True)
    smuggled = Derivation(
        "smuggled",
        "ours",
        {"t": real(0, Rational(1, 2)), "alpha": Range("real", 0, 1, open_lo=True)},
        (alpha <= t, t <= Rational(1, 2)),
        alpha,
        (Step(Rational(1, 2), "<=", "order", {"a": alpha, "b": Rational(1, 2)}),),
        local=("t",),
    )
    assert check_derivation(smuggled).complete  # it is a proof, of something else
    assert unproved_premises(smuggled, claim) == ["alpha <= t", "t <= 1/2"]
    assert (
        refusal(replace(smuggled, local=()), claim) == "the statement says nothing of t"
    )


def test_a_proof_for_integers_says_nothing_of_reals(make_statement: Any) -> None:
    claim = make_statement("n", "<=", "n**2", {"n": "real, n >= 0"})
    proof = chain(n, Step(n**2, "<=", "order", {"a": n, "b": n**2}))
    assert conclude(proof, claim) == "undecided"


def test_equal_up_to_a_constant_is_not_equal(make_statement: Any) -> None:
    claim = make_statement("y", "<=", "y + 1 + 1e-30", {"y": "real, y > 0"})
    proof = chain(y, Step(y + 1, "<=", "drop-nonnegative", {"a": y, "b": 1}))
    assert conclude(proof, claim) == "weaker"
    below = make_statement("y", "<=", "y + 1 - 1e-30", {"y": "real, y > 0"})
    assert conclude(proof, below) == "stronger"


def test_what_cannot_be_compared_is_undecided(make_statement: Any) -> None:
    claim = make_statement(
        "y", "<=", "y + exp(y**3)*log(1 + exp(exp(y)))", {"y": "real, y > 0"}
    )
    proof = chain(
        y, Step(y + sqrt(y), "<=", "drop-nonnegative", {"a": y, "b": sqrt(y)})
    )
    assert conclude(proof, claim) == "undecided"


def test_infinite_sums_are_compared_term_by_term_only_if_nonnegative() -> None:
    half = Rational(1, 2) ** i
    step = Step(
        Sum(half * (x + 1 + half), (i, 0, oo)),
        "<=",
        "drop-nonnegative",
        {"a": x, "b": 1},
    )
    start = Sum(half * (x + half), (i, 0, oo))
    assert statuses(chain(start, step)) == ["checked"]
