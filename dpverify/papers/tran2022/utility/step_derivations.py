"""The algebra of the proofs of Theorems 6 and 9, each line derived on its own: NOTES_utility.md has the table."""

from __future__ import annotations

from dataclasses import replace

from sympy import Integer, Rational, sqrt

from dpverify.ledger.statements import Statement
from dpverify.symbolic.derive.derivation import Derivation, Step
from dpverify.symbolic.expressions.functions import HOLE
from dpverify.symbolic.expressions.ranges import Variable, integer, real
from dpverify.symbolic.expressions.to_sympy import sympy_conditions, sympy_definitions, sympy_sides, sympy_symbols

_HERE: dict[str, Variable] = {
    "alpha": real(0, 1, open_lo=True),
    "G": real(0, 3, open_lo=True),
    "L": real(0, 3),
    "R": real(0, 9),
    "K": real(0, 40),
    "eta": real(0, 1, open_lo=True),
    "delta": real(0, 1, open_lo=True, open_hi=True),
    "d": integer(1, 40),
    "N": integer(1, 200),
    "T": integer(2, 3000),
    "epsilon": real(0, 30, open_lo=True),
}


def ranges(statement: Statement) -> dict[str, Variable]:
    """Where the symbols of a statement are sampled."""
    symbols = sympy_symbols(statement)
    return {name: _HERE[name] for name in _HERE if name in symbols}


def _chain(name: str, statement: Statement, *steps: Step) -> Derivation:
    start, _ = sympy_sides(statement)
    return Derivation(name, "ours", ranges(statement), sympy_conditions(statement), start, steps)


def identity(statement: Statement) -> Derivation:
    """Derive a line that is an identity."""
    _, printed = sympy_sides(statement)
    return _chain("algebra", statement, Step(printed, "="))


def absorb(statement: Statement) -> Derivation:
    """Absorb ``3 eta L/4 + 3 eta L/alpha <= 6 eta L/alpha``: ``theorem-6-display-2``, ``theorem-9-display-1``."""
    _, printed = sympy_sides(statement)
    symbols = sympy_symbols(statement)
    eta, L, alpha = (symbols[name] for name in ("eta", "L", "alpha"))
    small, large = 3 * L * eta / 4, 3 * L * eta / alpha
    rest = printed - 6 * eta * L / alpha
    step = Step(rest + large + large, "<=", "order", {"a": small, "b": large}, note="alpha <= 1 <= 4")
    return _chain("absorbed", statement, Step(rest + small + large, "="), step, Step(printed, "="))


def extra_term(statement: Statement) -> Derivation:
    """Derive ``theorem-6-display-eta``: the numbers agree, and a term is added that stands in no line before."""
    _, printed = sympy_sides(statement)
    symbols = sympy_symbols(statement)
    extra = 6 * symbols["G"] / (symbols["alpha"] * symbols["T"])
    sampling = 6 * symbols["G"] * sqrt(symbols["alpha"])
    steps = (
        Step(printed - extra, "="),
        Step(
            printed, "<=", "drop-nonnegative", {"a": sampling, "b": extra}, context=printed - extra - sampling + HOLE
        ),
    )  # fmt: skip
    return _chain("one term more", statement, *steps)


def root_of_three(statement: Statement) -> Derivation:
    """Derive ``theorem-9-display-eta``: 3 sqrt(3) <= 9."""
    _, printed = sympy_sides(statement)
    full = sympy_definitions(statement)
    K, alpha, L, d, epsilon = (full[name] for name in ("K", "alpha", "L", "d", "epsilon"))
    last = K * alpha * L * sqrt(d) / epsilon
    rest = printed - 9 * last
    rounded = Step(printed, "<=", "order", {"a": sqrt(3), "b": Integer(3)}, note="the root of 3 is rounded up to 3")
    return _chain("numbers", statement, Step(rest + 3 * sqrt(3) * last, "="), rounded)


def below_one(statement: Statement) -> Derivation:
    """Derive ``theorem-6-epsilon`` and ``theorem-9-epsilon``: the condition on epsilon, divided by its right side."""
    start, _ = sympy_sides(statement)
    epsilon = sympy_definitions(statement)["epsilon"]
    most = epsilon / start
    steps = (
        Step(most / most, "<=", "order", {"a": epsilon, "b": most}, context=HOLE / most),
        Step(Integer(1), "="),
    )
    return _chain("the condition", statement, *steps)


def weight_from_steps(statement: Statement) -> Derivation:
    """Derive ``theorem-6-parameters`` and ``theorem-9-parameters``: alpha >= 1/N from the condition on T."""
    start, _ = sympy_sides(statement)
    full = sympy_definitions(statement)
    T, N = full["T"], full["N"]
    power = Integer(1) if statement.key.endswith("theorem-6-parameters") else Rational(3, 4)
    most = (start * N * T**power) ** (1 / power)
    steps = (
        Step(most**power / (N * T**power), "="),
        Step(
            T**power / (N * T**power), ">=", "power-monotone", {"a": T, "b": most, "p": power},
            context=HOLE / (N * T**power),
        ),
        Step(1 / N, "="),
    )  # fmt: skip
    return _chain("T is small enough", statement, *steps)


def steps_from_weight(statement: Statement) -> Derivation:
    """Derive ``theorem-6-largest-t`` and ``theorem-9-largest-t``: T from ``alpha >= 1/N``."""
    start, printed = sympy_sides(statement)
    N = sympy_definitions(statement)["N"]
    power = Integer(1) if statement.key.endswith("theorem-6-largest-t") else Rational(4, 3)
    (condition,) = (c for c in sympy_conditions(statement) if N in c.free_symbols)
    alpha = condition.lhs
    steps = (
        Step(start * N**power * (1 / N) ** power, "="),
        Step(
            start * N**power * alpha**power, "<=", "power-monotone", {"a": 1 / N, "b": alpha, "p": power},
            context=start * N**power * HOLE,
        ),
        Step(printed, "="),
    )  # fmt: skip
    return _chain("alpha is large enough", statement, *steps)


def half(statement: Statement) -> Derivation:
    """Derive the corrected ``theorem-9-gamma``: the root of N/T <= 1/4."""
    full = sympy_definitions(statement)
    ratio = full["N"] / full["T"]
    steps = (
        Step(sqrt(ratio), "="),
        Step(sqrt(Rational(1, 4)), "<=", "sqrt-monotone", {"a": ratio, "b": Rational(1, 4)}),
    )
    drawn = _chain("the root of N/T", statement, *steps)
    return replace(drawn, variables={"N": integer(1, 200), "T": integer(4 * full["N"], 9000)})


def improvement(statement: Statement) -> Derivation:
    """Derive the corrected ``abstract-improvement``: the quotient is ``(sqrt(d)/(epsilon N))^(1/6)``."""
    _, printed = sympy_sides(statement)
    full = sympy_definitions(statement)
    ratio, sixth = sqrt(full["d"]) / (full["epsilon"] * full["N"]), Rational(1, 6)
    steps = (
        Step(printed * ratio**sixth, "="),
        Step(
            printed, "<=", "power-monotone", {"a": ratio, "b": Integer(1), "p": sixth}, context=printed * HOLE
        ),
    )  # fmt: skip
    return _chain("the quotient", statement, *steps)
