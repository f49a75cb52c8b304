"""False chains, each sampled only where nothing shows. None may come out as proved: points do not help here.

A domain is what assumptions say; the ranges below lie inside it, on the side where the false step happens to be true.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sympy
from sympy import (
    Abs,
    And,
    Function,
    Integer,
    Integral,
    Lambda,
    Mod,
    Ne,
    Piecewise,
    Rational,
    Sum,
    Symbol,
    exp,
    floor,
    log,
    oo,
    sqrt,
)

from dpverify.symbolic import (
    HOLE,
    Bit,
    Case,
    Cases,
    Derivation,
    DerivationError,
    GaussianNorm,
    Log2,
    Moment,
    PopCount,
    Premise,
    SetBits,
    Step,
    check_derivation,
    integer,
    premise_of,
    real,
)
from dpverify.symbolic.certify.certificates import certify
from dpverify.symbolic.certify.checker import k as checker
from dpverify.symbolic.derive.cited import cite
from dpverify.symbolic.expressions.ranges import Variable
from tests.for_each import for_each
from tests.unit.symbolic.conclusions import refusal, unproved_premises

x, y, z = (Symbol(name, real=True) for name in "xyz")
p, q = Symbol("p", positive=True), Symbol("q", nonnegative=True)
n, m = Symbol("n", integer=True), Symbol("m", integer=True)
N = Symbol("N", integer=True, positive=True)
i, j, k = (Symbol(name, integer=True) for name in "ijk")
NOTHING = (i + 1) ** 2 - i**2 - 2 * i - 1  # 0, and mentions the index
TERMS = Sum(i, (i, 1, 5000 - n))
LATE = Sum(Piecewise((1, i >= 5000), (0, True)), (i, 0, n))
LINE = Symbol("line", real=True)
BEFORE = (5000 - n) * (HOLE + Sum(HOLE * i, (i, 1, 5000 - n)))
POLE = Sum(1 / (i - n), (i, 0, 1))
WIDE = Integral(exp(x * LINE**2), (LINE, -oo, oo))

#: One to three for every real, two to nine for every integer: no corner of any domain.
WHERE: dict[str, Variable] = {
    **dict.fromkeys("xyzpq", real(1, 3)),
    **dict.fromkeys("nmN", integer(2, 9)),
}


def chain(
    start: Any, *steps: Step | Cases, given: Any = (), where: Any = None, **more: Any
) -> Derivation:
    variables: dict[str, Variable] = {**WHERE, **(where or {})}
    return Derivation(
        "false", "ours", variables, tuple(given), sympy.sympify(start), steps, **more
    )


def order(small: Any, large: Any, context: Any = None) -> Step:
    """A step from the smaller to the larger side, wherever the first stands, or where the context says."""
    return Step(large if context is None else context.xreplace({HOLE: large}), "<=", "order",
                {"a": small, "b": large}, context=context)  # fmt: skip


def by(new: Any, rule: str, relation: Any = "<=", **where: Any) -> Step:
    return Step(new, relation, rule, where)


def same(new: Any) -> Step:
    return Step(new, "=")


def split(end: Any, relation: Any, *cases: tuple[Any, Step]) -> Cases:
    return Cases(
        sympy.sympify(end),
        relation,
        tuple(Case(given, (step,)) for given, step in cases),
    )


GROWN = order(x, x + x**2, exp(HOLE))
CHAINS: dict[str, Derivation] = {
    # direction and signs
    "the wrong direction": chain(x, order(x, x - 1)),
    "a sign that is not known": chain(x, order(x, x + y)),
    "a term that may be negative is dropped": chain(x + y, by(x + y + z, "drop-nonnegative", a=x + y, b=z)),
    "multiplied by what may be negative": chain(x * y, Step(x * (y + 1), "<=", "order", {"a": y, "b": y + 1})),
    "multiplied by a negative number": chain(-2 * x, Step(-2 * x - 2, "<=", "order", {"a": x, "b": x + 1})),
    "a context that falls": chain(1 / x, order(x, x + 1, 1 / HOLE), given=[x > 0]),
    "a context of unknown direction": chain(x**2, order(x, x + 1, HOLE**2)),
    "a square of what may be negative": chain(x**2, order(x, y, HOLE**2), given=[x <= y]),
    "an equality by an inequality": chain(1 - x, by(exp(-x), "one-minus-exp", "=", x=x)),
    # integers and reals
    "Bernoulli between 0 and 1": chain(1 + x * y, by((1 + x) ** y, "bernoulli", x=x, n=y), given=[x >= 0, y >= 0]),
    "an index that a premise's sum binds": chain(
        Sum(i * (2 * i - n), (i, 0, n)), Step(Integer(0), "=", "premise", {"x": i}, ("p:a",)),
        where={"n": integer(-9, 0)}, premises={"p:a": Premise(Sum(x * (2 * i - n), (i, 0, n)), "=", Integer(0))},
    ),
    "a premise on integers for a real": chain(
        x, Step(x**2, "<=", "premise", {"N": x}, ("p:a",)), given=[x > 0], premises={"p:a": Premise(N, "<=", N**2)}
    ),
    "a premise on positive numbers for any": chain(
        x, Step(2 * x, "<=", "premise", {"q": x}, ("p:a",)), premises={"p:a": Premise(q, "<=", 2 * q)}
    ),
    "floor of a real is the real": chain(floor(x + y), same(x + floor(y))),
    "a remainder below a negative modulus": chain(Mod(x, y), order(Mod(x, y), y)),
    "set bits of a negative number": chain(PopCount(n), order(PopCount(n), n)),
    "a sum up to a fraction": chain(
        Sum(q, (i, 0, x)),
        by((x + 1) * q, "sum-constant", "=", lo=0, hi=x, c=q),
        given=[x >= 0],
        where={"x": integer(0, 3)},
    ),
    # sums
    "an empty sum of equal terms": chain(Sum(x, (i, 1, n)), by(n * x, "sum-constant", "=", lo=1, hi=n, c=x)),
    "an empty sum, by algebra": chain(Sum(x, (i, 1, n)), same(n * x)),
    "the first term of an empty sum": chain(
        Sum(q**i, (i, 1, n)),
        by(q + Sum(q**i, (i, 2, n)), "sum-split-first", "=", lo=1, hi=n, f=Lambda(k, q**k)),
    ),
    "the sum of integers, far below 0": chain(Sum(i, (i, 0, n)), by(n * (n + 1) / 2, "sum-integers", "=", m=n)),
    "bounds shifted by one": chain(Sum(p**i, (i, 1, N)), same(Sum(p**i, (i, 0, N - 1)))),
    "a sum cut in two, the wrong way round": chain(Sum(q, (i, 1, n)) + Sum(q, (i, n + 1, 9)), same(Sum(q, (i, 1, 9)))),
    "a sum extended over negative terms": chain(
        Sum(x**i, (i, 0, n)),
        by(Sum(x**i, (i, 0, n + 1)), "sum-extend", f=Lambda(k, x**k), lo=0, hi=n, more=n + 1),
    ),
    "an index that leaves its sum": chain(
        TERMS + x, Step(TERMS + x * (5000 - n), "<=", "order", {"a": x, "b": x * (5000 - n)}), given=[x >= 1]
    ),
    "an index that leaves its sum in an algebraic zero": chain(
        TERMS + x,
        Step(
            TERMS + x * (5000 - n), "<=", "order", {"a": x + NOTHING, "b": x * (5000 - n) + NOTHING},
            context=TERMS + HOLE,
        ),
        given=[x >= 1],
    ),
    "the range of a sum judges what stands before it": chain(
        (5000 - n) * (x + Sum(x * i, (i, 1, 5000 - n))), order(x, x + 1, BEFORE)
    ),
    "a choice that differs from term to term": chain(
        0, order(Integer(0), LATE * (LATE - Sum(1, (i, 0, n)))), given=[n >= 0]
    ),
    "a series without a sum": chain(Sum(1, (i, 0, oo)), order(Integer(1), Integer(2), Sum(HOLE, (i, 0, oo)))),
    "a ratio of 1": chain(Sum(q**i, (i, 0, oo)), by(1 / (1 - q), "geometric-series", "=", x=q), given=[q <= 1],
                        where={"q": real(0, Rational(1, 2))}),
    # no value somewhere on the domain
    "a division by what may vanish": chain(1 / x + 1, same((1 + x) / x)),
    "what may vanish is cancelled": chain(y, order(x * y, x * z, HOLE / x), given=[x >= 0, x * (z - y) >= 0]),
    "a negative power of what may vanish": chain(q**n, by(q**n + 1, "drop-nonnegative", a=q**n, b=1)),
    "one power taken out of another": chain(q**n, same(q * q ** (n - 1)), given=[n >= 0]),
    "the root of something negative": chain(sqrt(x), by(sqrt(x) + 1, "drop-nonnegative", a=sqrt(x), b=1)),
    "the logarithm of 0": chain(log(q) - 1, order(log(q) - 1, log(q))),
    "a pole inside a sum": chain(POLE, order(Integer(0), Integer(1), HOLE + POLE)),
    "an integral without a value": chain(
        WIDE, order(Integer(0), Integer(1), HOLE + WIDE), where={"x": real(-3, -1)}
    ),
    "a case split with a gap": chain(0, order(Integer(0), Piecewise((x, x > 0)))),
    "a bit that there is not": chain(Bit(n, m), order(Bit(n, m), Integer(1))),
    # roots, logarithms, powers
    "the root of a square": chain(sqrt(x**2), same(x)),
    "a power of a power": chain((x**2) ** y, same(x ** (2 * y))),
    "the logarithm of a product": chain(log(x * y), same(log(x) + log(y)), given=[x * y > 0]),
    "twice the logarithm": chain(Log2(x**2), same(2 * Log2(x)), given=[x**2 > 0]),
    "the root of a product": chain(sqrt(x * y), same(sqrt(x) * sqrt(y)), given=[x * y >= 0]),
    "an absolute value": chain(Abs(x + y), same(x + y)),
    "a power that falls below 1": chain(p**q, by(p ** (q + 1), "power-increasing", x=p, p=q, q=q + 1)),
    "a power that rises above 1": chain(p ** (q + 1), by(p**q, "power-decreasing", x=p, p=q + 1, q=q)),
    "an exponent that grows under a base below 1": chain(p**q, Step(p ** (q + 1), "<=", "order", {"a": q, "b": q + 1})),
    "the logarithm of less than 1 is not negative": chain(0, order(Integer(0), log(p))),
    "the tangent of the logarithm at 0": chain(log(x), by(x - 1, "log-tangent", x=x)),
    # conditions of rules
    "a chord beyond its end": chain(exp(-x), by(1 - (1 - exp(-1)) * x, "exp-chord", x=x), given=[x >= 0],
                                where={"x": real(0, 1)}),
    "a condition that holds without the context only": chain(
        p * q**2, Step(p * q, "<=", "power-decreasing", {"x": q, "p": 2, "q": 1}, context=p * HOLE),
        where={"q": real(0, 1)},
    ),
    "a law of any dimension": chain(
        Moment(Symbol("X"), 2),
        by(x * y, "gaussian-second-moment", "=", X=Symbol("X"), d=x, v=y),
        where={"X": GaussianNorm(x, y)},
    ),
    "Jensen for a number": chain(Moment(x, 1), by(sqrt(Moment(x, 2)), "jensen-sqrt", X=x)),
    "a set bit that there is not": chain(
        Function("pos")(k - k + m),
        by(Function("pos")(m), "set-bits-apart", ">=", s=N, k=m, pos=Function("pos")),
        where={"pos": SetBits(N)},
    ),
    # cases
    "cases that do not cover": chain(
        x, split(3, "<=", (x <= 1, order(x, Integer(3))), (And(x >= 2, x <= 3), order(x, Integer(3)))),
        where={"x": real(0, 3)},
    ),
    "cases with each other's proofs": chain(
        Abs(x), split(x, "=", (x <= 0, same(x)), (x >= 0, same(x))), where={"x": real(0, 3)}
    ),
    "all but one point": chain(
        exp(x), split(exp(x + x**2), "<=", (x > 0, GROWN), (And(Ne(x, 0), x < 0), GROWN)), where={"x": real(-3, 3)}
    ),
    "cases told apart by what has no value everywhere": chain(
        0,
        split(n, "<=", (PopCount(n) <= 2, order(Integer(0), n)), (PopCount(n) >= 2, order(Integer(0), n))),
        where={"n": integer(2, 60)},
    ),
    # letters that stand still
    "a letter with one value": chain(x, order(x, 2 * x), given=[x >= 0], where={"x": real(1, 1)}),
    "a letter with one value in a case": chain(
        x, split(2 * x, "<=", (x <= 1, order(x, 2 * x)), (x >= 1, order(x, 2 * x))), given=[x >= 0]
    ),
}  # fmt: skip


@for_each("kind", CHAINS)
def test_a_false_chain_is_not_proved(kind: str) -> None:
    try:
        result = check_derivation(CHAINS[kind], points=40)
    except DerivationError:
        return
    assert not result.complete
    assert any(step.status != "proved" for step in result.steps[1:])
    assert all(step.note for step in result.steps[1:] if step.status != "proved")


def test_points_that_are_one_point_count_once() -> None:
    step = check_derivation(chain(x, order(x, 2 * x), where={"x": real(1, 1)})).steps[1]
    assert (step.points, step.status) == (1, "undecided")
    assert "every point has the same x" in step.note
    pinned = check_derivation(
        chain(x, order(x, 2 * x), given=[x >= 1, x <= 1], where={"x": real(1, 1)})
    )
    assert pinned.complete
    assert pinned.steps[1].points == 1
    assert check_derivation(chain(n, order(n, n + 1))).steps[1].points == 8


# Conclusions: a chain may be a proof, of something else than the claim

GRANTED = {"q": "real, q >= 0", "N": "integer, N >= 1"}
DOUBLED = chain(q, order(q, 2 * q))


@for_each(
    ("claim", "derivation", "reason"),
    [
        (("q + 1", "<=", "2*q"), DOUBLED, "starts from something else"),
        (("q", ">=", "2*q"), DOUBLED, "the steps do not add up"),
        (("q", "<", "2*q"), DOUBLED, "the steps do not add up"),
        (
            ("q", "<=", "2*q"),
            chain(q, order(q, 2 * q), given=[q >= 1]),
            "does not grant",
        ),
        (
            ("q", "<=", "q**2"),
            chain(q, order(q, q**2), given=[q >= 1], local=("q",)),
            "it assumes q >= 1",
        ),
        (("q", "<=", "2*q + log(q) - log(q)"), DOUBLED, "may be undefined"),
        (("q", "<=", "2*q + sqrt(q - 1)*0"), DOUBLED, "may be undefined"),
        (("q", "<=", "2*q + 0/(q - 1)"), DOUBLED, "may be undefined"),
        (
            ("N**2/N", "<=", "2*N + log(N - 1)*0"),
            chain(N, order(N, 2 * N)),
            "may be undefined",
        ),
        (("q*q/q", "<=", "2*q"), DOUBLED, "starts from something else"),
    ],
)
def test_a_chain_that_proves_something_else(
    claim: tuple[str, str, str],
    derivation: Derivation,
    reason: str,
    make_statement: Any,
) -> None:
    assert reason in refusal(derivation, make_statement(*claim, GRANTED))


def test_a_claim_is_no_premise_of_itself(make_statement: Any) -> None:
    claim = make_statement("q", "<=", "q/2", {"q": "real, q >= 0"})
    cited = Step(q / 2, "<=", "premise", {}, (claim.key,))
    circular = chain(
        q, cited, premises={claim.key: premise_of(claim)}, where={"q": real(0, 0)}
    )
    assert unproved_premises(circular, claim) == [claim.key]
    around = chain(
        q,
        Step(q / 2, "<=", "premise", {}, ("x:other",)),
        premises={"x:other": cite(circular)},
    )
    assert unproved_premises(around, claim) == [claim.key]


def test_a_premise_that_is_missing_or_says_less(make_statement: Any) -> None:
    claim = make_statement("q", "<=", "q**2", {"q": "real, q >= 1"})
    cited = Step(q**2, "<=", "premise", {}, ("x:claim",))
    with pytest.raises(DerivationError, match="x:claim"):
        check_derivation(chain(q, cited))
    outside = chain(
        q, replace(cited, where={"q": q}), premises={"x:claim": premise_of(claim)}
    )
    assert "not proven: q >= 1" in check_derivation(outside, points=20).steps[1].note
    inside = chain(
        q,
        replace(cited, where={"q": q}),
        given=[q >= 1],
        premises={"x:claim": premise_of(claim)},
    )
    assert check_derivation(inside, points=20).complete
    stronger = chain(
        q,
        replace(cited, expr=q**2 - Rational(1, 2)),
        given=[q >= 1],
        premises={"x:claim": premise_of(claim)},
    )
    assert not check_derivation(stronger, points=20).complete


def test_a_citation_asks_for_what_is_assumed_of_a_local_letter_that_it_shows() -> None:
    below = chain(
        x, order(x, Integer(0)), given=[x <= 0], local=("x",), where={"x": real(-3, 0)}
    )
    assert check_derivation(below, points=20).complete
    cited = chain(
        y, Step(Integer(0), "<=", "premise", {"x": y}, ("below",)), premises={"below": cite(below)},
        where={"y": real(-3, 0)},
    )  # fmt: skip
    assert "not proven: y <= 0" in check_derivation(cited, points=20).steps[1].note


def test_a_citation_may_not_hide_what_narrows_it_behind_a_local_letter(
    make_statement: Any,
) -> None:
    below = chain(
        x,
        order(x, Integer(0)),
        given=[x <= z, z <= 0],
        local=("z",),
        where={"x": real(-3, -2), "z": real(-1, 0)},
    )
    assert check_derivation(below, points=20).complete
    cited = chain(
        y, Step(Integer(0), "<=", "premise", {"x": y}, ("below",)), premises={"below": cite(below)},
        where={"y": real(-3, 0)},
    )  # fmt: skip
    certificate = certify(make_statement("y", "<=", "0", {"y": "real"}), cited).data
    assert certificate is not None
    assert list(checker.given_in(certificate)) == ["x <= z", "z <= 0"]


@for_each("start", [q, q + 1])
def test_a_letter_of_the_statement_is_no_name_for_what_a_citation_starts_from(
    start: Any, make_statement: Any
) -> None:
    named = cite(chain(start, order(start, q + 2)), p)
    under = chain(
        p,
        Step(q + 2, "<=", "premise", {}, ("named",)),
        premises={"named": named},
        where={"p": real(0, 1)},
    )
    assert check_derivation(under, points=20).complete
    claim = make_statement(
        "p", "<=", "q + 2", {"p": "real, p > 0", "q": "real, q >= 0"}
    )
    assert refusal(under, claim) == "step 0 (premise): not proven: p <= q + 2"


def test_a_letter_that_only_conditions_hold_keeps_its_domain(
    make_statement: Any,
) -> None:
    domains = {"q": "real, q >= 0", "N": "integer, N >= 1, N <= 3/2"}
    whole = premise_of(make_statement("q", "<=", "3", domains, ("q <= N + 2",)))
    half = Step(
        Integer(3), "<=", "premise", {"q": q, "N": Rational(3, 2)}, ("x:claim",)
    )
    around = chain(
        q,
        half,
        given=[q <= Rational(7, 2)],
        premises={"x:claim": whole},
        where={"q": real(0, 3)},
    )
    assert "3/2 is an integer" in check_derivation(around, points=20).steps[1].note
    one = chain(q, replace(half, where={"q": q, "N": Integer(1)}), given=[q <= 3], premises={"x:claim": whole},
                where={"q": real(0, 3)})  # fmt: skip
    assert check_derivation(one, points=20).complete


@for_each("taken", [{}, {"p": y}])
def test_a_letter_for_the_start_of_a_citation_stays_one_for_whoever_cites_on(
    taken: Any, make_statement: Any
) -> None:
    named = cite(chain(q, order(q, q + 2)), p)
    under = chain(2 * p, Step(2 * q + 4, "<=", "premise", {}, ("named",)), premises={"named": named},
                  where={"p": real(0, 1)}, local=("p",))  # fmt: skip
    assert check_derivation(under, points=20).complete
    if taken:
        with pytest.raises(DerivationError, match="p stands for"):
            cite(under, **taken)
        return
    over = chain(2 * p, Step(2 * q + 4, "<=", "premise", {}, ("under",)), premises={"under": cite(under)},
                 where={"p": real(0, 1)})  # fmt: skip
    claim = make_statement(
        "2*p", "<=", "2*q + 4", {"p": "real, p > 0", "q": "real, q >= 0"}
    )
    assert refusal(over, claim) == "step 0 (premise): not proven: p <= q + 2"


def test_a_letter_stands_for_the_start_of_one_citation_only() -> None:
    named = {
        "low": cite(chain(q, order(q, q + 1)), p),
        "high": cite(chain(q + 9, order(q + 9, q + 10)), p),
    }
    both = chain(
        p,
        Step(q + 1, "<=", "premise", {}, ("low",)),
        premises=named,
        where={"p": real(0, 1)},
        local=("p",),
    )
    with pytest.raises(DerivationError, match="two things"):
        check_derivation(both, points=20)


def test_a_letter_becomes_what_it_stands_for_with_what_is_assumed_there() -> None:
    named = cite(
        chain(
            x,
            order(x, Integer(1)),
            given=[x <= 1],
            local=("x",),
            where={"x": real(0, 1)},
        ),
        p,
    )
    under = chain(2 * p, Step(Integer(2), "<=", "premise", {}, ("named",)), premises={"named": named},
                  where={"p": real(0, 1)}, local=("p",))  # fmt: skip
    over = chain(2 * x, Step(Integer(2), "<=", "premise", {}, ("under",)), given=[x > 0],
                 premises={"under": cite(under, p=x)}, where={"x": real(0, 1)})  # fmt: skip
    assert "not proven: x <= 1" in check_derivation(over, points=20).steps[1].note
    assert check_derivation(
        replace(over, assumptions=(x > 0, x <= 1)), points=20
    ).complete
