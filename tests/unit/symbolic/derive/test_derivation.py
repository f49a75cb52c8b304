from __future__ import annotations

from dataclasses import replace
from typing import Any

import sympy
from sympy import Lambda, Sum, Symbol, exp, log, sqrt

from dpverify.ledger.check_results import Number
from dpverify.symbolic.certify.certificates import certify_chain
from dpverify.symbolic.certify.judge import check_derivation
from dpverify.symbolic.derive.perturb import (
    constants,
    perturbations,
    spaced_perturbations,
)
from dpverify.symbolic.derive.steps import Case, Cases, Derivation, Step, premise_of
from dpverify.symbolic.expressions.functions import HOLE, Inner, Log2, Norm
from dpverify.symbolic.expressions.ranges import AnyVector, Variable, integer, real
from dpverify.symbolic.prove.canonical import canonical
from dpverify.symbolic.prove.comparisons import are_equal, same_terms
from dpverify.symbolic.prove.facts import Facts
from tests.for_each import for_each

x = Symbol("x", real=True)
y, r = Symbol("y", positive=True), Symbol("r", positive=True)
n = Symbol("n", integer=True, positive=True)
i, j = Symbol("i", integer=True), Symbol("j", integer=True)
VARIABLES: dict[str, Variable] = {
    "x": real(-3, 3),
    "y": real(0, 3, open_lo=True),
    "r": real(0, 2, open_lo=True),
    "n": integer(1, 9),
}


def chain(
    start: Any, *steps: Step, assumptions: tuple[Any, ...] = (), **more: Any
) -> Derivation:
    variables: dict[str, Variable] = {**VARIABLES, **more.pop("variables", {})}
    return Derivation("chain", "ours", variables, assumptions, start, steps, **more)


def test_a_result_says_what_was_done() -> None:
    derivation = chain(
        1 - y,
        Step(
            exp(-y),
            "<=",
            "one-minus-exp",
            {"x": y},
            note="tangent",
            premises=("p:two",),
        ),
    )
    result = check_derivation(derivation, points=50)
    start, step = result.steps
    assert result.name == "chain"
    assert result.whose == "ours"
    assert (start.expression, start.relation, start.rule, start.points) == (
        "1 - y",
        "",
        "start",
        0,
    )
    assert (step.expression, step.latex, step.relation) == ("exp(-y)", "e^{- y}", "<=")
    assert (step.rule, step.premises, step.status) == (
        "one-minus-exp",
        ["p:two"],
        "proved",
    )
    assert 30 < step.points < 50, "points of one y count once"
    assert step.note == "tangent"
    assert isinstance(step.slack, Number)
    assert float(step.slack.float) >= 1


def test_the_same_seed_gives_the_same_result() -> None:
    derivation = chain(1 - y, Step(exp(-y), "<=", "one-minus-exp", {"x": y}))
    assert check_derivation(derivation, points=40, seed=3) == check_derivation(
        derivation, points=40, seed=3
    )
    first, second = (
        check_derivation(derivation, points=40, seed=s).steps[1].slack for s in (3, 4)
    )
    assert first != second


def test_falling_chains() -> None:
    falling = chain(
        exp(y),
        Step(1 + y, ">=", "one-minus-exp", {"x": -y}),
        Step(y, ">=", "drop-nonnegative", {"a": y, "b": 1}),
    )
    assert check_derivation(falling, points=50).complete
    assert falling.relation == ">="


@for_each(
    ("start", "step", "assumptions"),
    [
        (2 * x * y + 1, Step(x**2 + y**2 + 1, "<=", "am-gm", {"a": x, "b": y}), ()),
        (6 * x * y, Step(3 * x**2 + 3 * y**2, "<=", "am-gm", {"a": x, "b": y}), ()),
        (-(x**2) - y**2, Step(-2 * x * y, "<=", "am-gm", {"a": x, "b": y}), ()),
        (
            x * y,
            Step(
                r * x**2 / 2 + y**2 / (2 * r), "<=", "young", {"a": x, "b": y, "c": r}
            ),
            (),
        ),
        (
            sqrt(y + r) * n,
            Step((sqrt(y) + sqrt(r)) * n, "<=", "sqrt-subadditive", {"a": y, "b": r}),
            (),
        ),
        (
            1 / (1 + exp(-y)),
            Step(1 / (2 - y), "<=", "one-minus-exp", {"x": y}),
            (y <= 1,),
        ),
        (log(1 + y), Step(y, "<=", "log-tangent", {"x": 1 + y}), ()),
        (1 + n * y, Step((1 + y) ** n, "<=", "bernoulli", {"x": y, "n": n}), ()),
        (y / (y + n), Step(1, "<=", "divide-by-larger", {"a": y, "b": n}), ()),
        (
            exp(y**2),
            Step(exp(y), "<=", "power-decreasing", {"x": y, "p": 2, "q": 1}),
            (y <= 1,),
        ),
        (
            Sum(y**i, (i, 0, n)),
            Step(1 / (1 - y), "<=", "geometric-sum-bound", {"x": y, "m": n}),
            (y < 1,),
        ),
        (
            Sum(y**i * i, (i, 0, n)),
            Step(
                Sum(i, (i, 0, n)),
                "<=",
                "sum-termwise",
                {"f": Lambda(i, y**i * i), "g": Lambda(i, i), "lo": 0, "hi": n},
            ),
            (y <= 1,),
        ),
        (
            2 * Sum(Sum(y**j, (j, 0, i)), (i, 0, n)),
            Step(
                2 * Sum((1 - y ** (i + 1)) / (1 - y), (i, 0, n)),
                "=",
                "geometric-sum",
                {"x": y, "m": i + 1},
            ),
            (y < 1,),
        ),
        (
            Sum(y**i, (i, 0, n)),
            Step(
                n + 1,
                "<=",
                "sum-at-most",
                {"f": Lambda(i, y**i), "c": 1, "lo": 0, "hi": n},
            ),
            (y <= 1,),
        ),
        (
            sympy.Max(x, 1) + y,
            Step(sympy.Max(x, y + 1) + y, "<=", "order", {"a": 1, "b": y + 1}),
            (),
        ),
        (
            Log2(n) / 2,
            Step(Log2(2 * n) / 2, "<=", "log2-monotone", {"a": n, "b": 2 * n}),
            (),
        ),
        (Log2(2 * n), Step(1 + Log2(n), "="), ()),
        (sqrt(4 * y**2 * n), Step(2 * y * sqrt(n), "="), ()),
        (sqrt(x**2), Step(sympy.Abs(x), "="), ()),
        (sympy.Max(1, y), Step(y, "="), (y >= 1,)),
        (y ** (2 * n) - 1, Step((y**n - 1) * (y**n + 1), "="), ()),
        (exp(2 * log(y)) + log(y * r), Step(y**2 + log(y) + log(r), "="), ()),
        (Sum(y * i, (i, 1, n)), Step(y * Sum(i + 1, (i, 0, n - 1)), "="), ()),
    ],
)
def test_steps_that_must_be_proved(
    start: Any, step: Step, assumptions: tuple[Any, ...]
) -> None:
    result = check_derivation(chain(start, step, assumptions=assumptions), points=60)
    assert (result.steps[1].status, result.steps[1].note) == ("proved", "")


def test_vectors() -> None:
    u, w = Symbol("u"), Symbol("w")
    vectors: dict[str, Variable] = {"u": AnyVector(3), "w": AnyVector(3)}
    square = chain(
        Norm(u + w) ** 2,
        Step(
            Norm(u) ** 2 + 2 * Inner(u, w) + Norm(w) ** 2,
            "=",
            "norm-square",
            {"u": u, "w": w},
        ),
        Step(
            Norm(u) ** 2 + 2 * Norm(u) * Norm(w) + Norm(w) ** 2,
            "<=",
            "cauchy-schwarz",
            {"u": u, "w": w},
        ),
        Step((Norm(u) + Norm(w)) ** 2, "="),
        variables=vectors,
    )
    assert check_derivation(square, points=60).complete
    scaled = chain(
        Norm(u - 2 * w),
        Step(Norm(u) + Norm(-2 * w), "<=", "norm-triangle", {"u": u, "w": -2 * w}),
        variables=vectors,
    )
    assert check_derivation(scaled, points=60).complete


def test_a_context_says_where() -> None:
    start = y + y**2
    step = Step(
        y + y, "<=", "power-decreasing", {"x": y, "p": 2, "q": 1}, context=y + HOLE
    )
    assert check_derivation(
        chain(start, step, assumptions=(y <= 1,)), points=40
    ).complete


def test_a_step_within_a_context_says_it_once() -> None:
    context = sqrt(HOLE) + 1
    assert Step.within(context, 4, "below", {"x": x}) == Step(
        sympy.Integer(3), "<=", "below", {"x": x}, context=context
    )
    assert Step.order(context, x, 9) == Step(
        sympy.Integer(4), "<=", "order", {"a": x, "b": 9}, context=context
    )


def test_a_premise_from_a_statement(make_statement: Any) -> None:
    claim = make_statement(
        "alpha*N",
        "<=",
        "exp(N)",
        {"alpha": "real, 0 < alpha <= 1", "N": "integer, N >= 1"},
    )
    premise = premise_of(claim)
    used = Step(
        exp(n + 1) + x, "<=", "premise", {"alpha": y, "N": n + 1}, ("paper:claim",)
    )
    derivation = chain(
        y * (n + 1) + x, used, assumptions=(y <= 1,), premises={"paper:claim": premise}
    )
    result = check_derivation(derivation, points=60)
    assert result.complete
    assert result.steps[1].premises == ["paper:claim"]
    wide = replace(derivation, assumptions=(y <= 2,))
    assert "not proven: y <= 1" in check_derivation(wide, points=60).steps[1].note
    halves = chain(
        y * (n + 1) / 2 + x,
        Step(
            exp((n + 1) / 2) + x,
            "<=",
            "premise",
            {"alpha": y, "N": (n + 1) / 2},
            ("paper:claim",),
        ),
        assumptions=(y <= 1,),
        premises={"paper:claim": premise},
    )
    assert check_derivation(halves, points=60).steps[1].status == "checked"


def test_what_follows_a_step_without_proof_is_not_proved() -> None:
    steps = (
        Step(exp(x), "<="),
        Step(exp(x) + 1, "<=", "drop-nonnegative", {"a": exp(x), "b": 1}),
    )
    first, second = check_derivation(chain(x, *steps), points=60).steps[1:]
    assert (first.status, second.status) == ("checked", "checked")
    assert "another step is not proved" in second.note


def test_equal_sums_look_equal() -> None:
    facts = Facts()
    first = canonical(Sum(3 * y ** (j - 2), (j, 2, n + 2)), facts)
    second = canonical(3 * Sum(y**i, (i, 0, n)), facts)
    assert first == second
    assert canonical(Sum(y, (i, 1, n)), facts) == n * y
    assert canonical(Sum(y**i, (i, 0, 2)), facts) == 1 + y + y**2
    assert canonical(Sum(y**i, (i, 3, 1)), facts) == 0


def test_equality_is_not_guessed() -> None:
    assert not are_equal(sqrt(x**2), x, Facts())
    assert are_equal(sqrt(x**2), x, Facts().assume([x >= 0]))
    assert not are_equal(log(x**2), 2 * log(x), Facts())
    assert not are_equal(Sum(y, (i, 1, j)), j * y, Facts())
    assert not are_equal(Sum(y**i, (i, 0, n)), Sum(y**i, (i, 1, n)), Facts())
    assert not are_equal(
        Sum(1 / (1 + i**2), (i, 0, n)),
        sympy.Integral(1 / (1 + i**2), (i, 0, n)),
        Facts(),
    )
    assert not same_terms(Sum(x, (x, 0, n)), sympy.Integral(x, (x, 0, n)), Facts())
    assert not same_terms(Sum(y**i, (i, 0, n)), Sum(y**i, (i, 1, n)), Facts())


def test_constants_are_found_and_moved_against_the_claim() -> None:
    expr = 3 * y**2 / (1 - exp(-y))
    assert sorted(str(value) for _, value in constants(expr)) == ["1", "1", "2", "3"]
    derivation = chain(y, Step(2 * y + 1, "<=", "order", {"a": y, "b": 2 * y + 1}))
    faults = list(perturbations(derivation))
    assert {str(f.derivation.last) for f in faults} == {
        "99*y/50 + 99/100",
        "99*y/50 + 1",
        "2*y + 99/100",
    }
    rising = chain(2 * y + 1, Step(y, ">=", "order", {"a": y, "b": 2 * y + 1}))
    assert [str(f.derivation.last) for f in perturbations(rising)] == ["101*y/100"]
    assert all("step 1" in f.fault for f in faults)
    assert [len(spaced_perturbations(derivation, most)) for most in (1, 2, 3, 9)] == [
        1,
        2,
        3,
        3,
    ]
    assert [f.fault for f in spaced_perturbations(derivation, 1)] == [faults[0].fault]
    assert [f.fault for f in spaced_perturbations(derivation, 2)] == [
        faults[0].fault,
        faults[2].fault,
    ]


def refusal(derivation: Derivation) -> str:
    return certify_chain(derivation).reason


def test_a_fault_inside_a_case_is_planted_and_seen_where_it_is_false() -> None:
    low = Case(
        y <= 1,
        (
            Step(2, "<=", "order", {"a": y, "b": 2}),
            Step(3, "<=", "order", {"a": 2, "b": 3}),
        ),
    )
    high = Case(y >= 1, (Step(3, "<=", "order", {"a": y, "b": 3}),))
    derivation = chain(y, assumptions=(y <= 3,))
    split = replace(derivation, steps=(Cases(sympy.Integer(3), "<=", (low, high)),))
    assert check_derivation(split, points=40).complete
    faults = {
        f.fault.split(" in the")[0]: f.judge(refusal, seed=0)
        for f in perturbations(split)
    }
    assert set(faults) == {
        "1 times 99/100",
        "case y <= 1: 1 times 99/100",
        "case y >= 1: 1 times 99/100",
    }
    passes = {place for place, (is_refused, _) in faults.items() if not is_refused}
    # y <= 99/50 holds there, and the case ends below 3
    assert passes == {"case y <= 1: 1 times 99/100"}


def test_a_fault_that_passes_shows_its_slack() -> None:
    derivation = chain(y, Step(2 * y, "<=", "order", {"a": y, "b": 2 * y}))
    (fault,) = (
        f for f in perturbations(derivation) if str(f.derivation.last) == "99*y/50"
    )
    assert fault.judge(refusal, seed=0) == (
        False,
        "passes, with the smallest ratios step 1: 1.98",
    )
