"""Theorems 6 and 9, corrected, derived from Lemmas 5, 11 and 12 or 7 with every term that they leave out.

Letters that the statements do not have: ``gradient``, the expected norm at the output; ``error``, the mean over the run
of E|m_hat_t - grad F(w_t)|, and its parts ``sampling``, ``anchors`` (steps away from the anchors), ``lag``,
``startup``, ``noise``; ``drop``, the expected decrease of the loss; ``count``, Algorithm 1's V. NOTES_utility.md has
the premises.
"""

from __future__ import annotations

from typing import Any, Final

from sympy import Integer, Max, Rational, Symbol, exp, log, sqrt

from dpverify.ledger.statements import Statement
from dpverify.papers.tran2022.utility_step_derivations import ranges
from dpverify.symbolic.derivation import Derivation, Premise, Step
from dpverify.symbolic.functions import HOLE, Log2
from dpverify.symbolic.ranges import Variable, integer, real
from dpverify.symbolic.to_sympy import sympy_conditions, sympy_definitions, sympy_sides

LETTERS: Final = (
    "gradient", "drop", "error", "sampling", "anchors", "lag", "startup", "noise", "count",
)  # fmt: skip
GRADIENT, DROP, ERROR, SAMPLING, ANCHORS, LAG, STARTUP, NOISE, COUNT = (
    Symbol(name, nonnegative=True) for name in LETTERS
)
DESCENT, MOMENTUM = "tran2022:lemma-5", "tran2022:lemma-11"


def theorem_6(statement: Statement) -> Derivation:
    """Derive the corrected Theorem 6.

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-6``, amended, in either ordering.

    Returns
    -------
    Derivation
        From the expected norm to the bound in N, T, G, L and R.
    """
    full = sympy_definitions(statement)
    alpha, G, sigma, d, T, N = (full[name] for name in ("alpha", "G", "sigma", "d", "T", "N"))
    levels = (Log2(N) + 3) * T / N

    def around(count: Any) -> Any:
        return 4 * alpha * G * sigma * sqrt(d * count * Log2(T + 1))

    premises = {
        "tran2022:lemma-12": Premise(NOISE, "<=", around(COUNT)),
        "tran2022:theorem-6-v": Premise(COUNT, "<=", levels),
    }
    noise = ((around(COUNT), "tran2022:lemma-12"), (around(levels), "tran2022:theorem-6-v"))
    return _derive(statement, _sampling(statement), noise, premises)


def theorem_9(statement: Statement) -> Derivation:
    """Derive the corrected Theorem 9.

    Parameters
    ----------
    statement : Statement
        ``tran2022:theorem-9``, amended, in either ordering.

    Returns
    -------
    Derivation
        From the expected norm to the bound in N, T, delta, G, L and R.
    """
    full = sympy_definitions(statement)
    G, L, T, N, delta = (full[name] for name in ("G", "L", "T", "N", "delta"))
    rho = sqrt(N / T)
    windows = (6 * G**2 + 2 / rho * (4 * G**2 + (1 - rho) ** 2 * L**2) / (2 - rho)) * Log2(1 + N / 2)
    inside = 3 * G**2 * Log2(N) + windows / (1 - exp(-1)) ** 2 + L**2 * Log2(T + 1)
    bound = 16 * rho ** Rational(3, 2) * sqrt(log(1 / delta) * Log2(N) * inside)
    if statement.reading["ordering"] == "fresh":
        sampling = (Rational(7, 2) * G + Rational(11, 10) * L) * sqrt(rho / N)
    else:
        sampling = _sampling(statement)
    premises = {"tran2022:lemma-7": Premise(NOISE, "<=", bound)}
    return _derive(statement, sampling, ((bound, "tran2022:lemma-7"),), premises)


def _sampling(statement: Statement) -> Any:
    """Bound the momentum's sampling error at alpha = 1/N; under one permutation with the gradients at w_1."""
    full = sympy_definitions(statement)
    G, N = full["G"], full["N"]
    if statement.reading["ordering"] == "fresh":
        return G / sqrt(2 * N - 1)
    others = N - 1 if statement.key.endswith("theorem-9") else Max(Integer(1), N - 1)
    return G * sqrt(N / (others * (2 * N - 1)))


def _derive(
    statement: Statement, sampling: Any, noise: tuple[tuple[Any, str], ...], premises: dict[str, Premise]
) -> Derivation:
    """Put the parts of the error into Lemma 5, one after the other."""
    full = sympy_definitions(statement)
    eta, alpha, G, L, R, T, N = (full[name] for name in ("eta", "alpha", "G", "L", "R", "T", "N"))
    _, printed = sympy_sides(statement)
    fresh = statement.reading["ordering"] == "fresh"
    anchors = Rational(7, 6) * eta * L * N if fresh else eta * L * T
    parts: dict[str, tuple[Any, Any]] = {
        "sampling": (SAMPLING, sampling),
        "anchors": (ANCHORS, anchors),
        "lag": (LAG, eta * L * (1 - alpha) / alpha),
        "startup": (STARTUP, G / (alpha * T)),
    }
    given = {
        f"{MOMENTUM} ({name})": Premise(letter, "<=", bound) for name, (letter, bound) in parts.items()
    } | {
        DESCENT: Premise(GRADIENT, "<=", DROP / (eta * T) + L * eta / 2 + 2 * ERROR),
        f"{DESCENT} (gap)": Premise(DROP, "<=", R),
        MOMENTUM: Premise(ERROR, "<=", SAMPLING + ANCHORS + LAG + STARTUP + NOISE),
    }  # fmt: skip
    now = {"drop": DROP, "error": ERROR}

    def whole() -> Any:
        return now["drop"] / (eta * T) + L * eta / 2 + 2 * now["error"]

    steps = [Step(whole(), "<=", "premise", {}, (DESCENT,))]
    now["drop"] = R
    steps.append(Step(whole(), "<=", "premise", {}, (f"{DESCENT} (gap)",)))
    values: dict[str, Any] = {name: letter for name, (letter, _) in parts.items()} | {"noise": NOISE}
    now["error"] = sum(values.values(), Integer(0))
    steps.append(Step(whole(), "<=", "premise", {}, (MOMENTUM,)))
    changes = [(name, bound, f"{MOMENTUM} ({name})") for name, (_, bound) in parts.items()]
    changes += [("noise", bound, claim) for bound, claim in noise]
    for name, bound, claim in changes:
        values[name] = bound
        now["error"] = sum(values.values(), Integer(0))
        steps.append(Step(whole(), "<=", "premise", {}, (claim,)))
    own, most = Rational(1, 2), Integer(2)
    rest = whole() - own * L * eta
    rounded = Step(
        rest + most * L * eta,
        "<=",
        "order",
        {"a": own, "b": most},
        context=rest + HOLE * L * eta,
        note="the lag leaves 2 eta L out",
    )
    steps += [rounded, Step(printed, "=")]
    variables: dict[str, Variable] = {**ranges(statement), "N": integer(2, 200)}
    if statement.key.endswith("theorem-9"):
        variables["T"] = integer(4 * N, 9000)
    variables |= {name: real(0, 0) for name in LETTERS}
    return Derivation(
        "the parts of the error", "ours", variables, sympy_conditions(statement), GRADIENT, tuple(steps),
        premises | given, local=LETTERS,
    )  # fmt: skip
