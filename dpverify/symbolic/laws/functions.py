"""Functions on laws that formulas may call, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpverify.ledger.formula import Formula
from dpverify.ledger.formula.tree import SIGNATURES
from dpverify.symbolic.exact.numbers import Value
from dpverify.symbolic.laws import build, divergences, law, moments
from dpverify.symbolic.laws.law import LawPair

Closure = Callable[[dict[str, Any]], Any]


def delta_of(pair: LawPair, epsilon: Value) -> Value:
    """Return the smallest delta at epsilon that holds in both directions."""
    return divergences.privacy_delta(pair.first, pair.second, epsilon)


def epsilon_of(pair: LawPair, delta: Value) -> Value:
    """Return the smallest epsilon >= 0 at delta that holds in both directions."""
    return divergences.privacy_epsilon(pair.first, pair.second, delta)


def renyi_of(pair: LawPair, order: Value) -> Value:
    """Return the larger Renyi divergence of both directions."""
    return divergences.privacy_renyi(pair.first, pair.second, order)


def zcdp_of(pair: LawPair) -> Value:
    """Return the smallest rho of zero-concentrated differential privacy."""
    return divergences.privacy_zcdp(pair.first, pair.second)


def pure_epsilon_of(pair: LawPair) -> Value:
    """Return the smallest epsilon with delta = 0."""
    return divergences.pure_epsilon(pair.first, pair.second)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    name: getattr(module, name)
    for module, names in (
        (
            build,
            "laplace_law normal_law exponential_law uniform_law discrete_normal_law discrete_laplace_law",
        ),
        (
            build,
            "binomial_law response_law finite_law point_law above_threshold_law shifted scaled repeated",
        ),
        (build, "poisson_sampled batch_sampled self_composed joined shuffled"),
        (law, "mixture product"),
        (divergences, "hockey_stick total_variation renyi kl zcdp max_divergence"),
        (moments, "tail_of moment_of absolute_moment_of mean_of variance_of"),
    )
    for name in names.split()
} | {
    "neighbours": LawPair,
    "delta_of": delta_of,
    "epsilon_of": epsilon_of,
    "renyi_of": renyi_of,
    "zcdp_of": zcdp_of,
    "pure_epsilon_of": pure_epsilon_of,
}

# of the divergences and moments in progress, the outermost first
_memos: list[dict[Formula, Any]] = []


def returns_law(name: str) -> bool:
    """Test whether a function returns a law or a pair. Equal formulas in its arguments share one value object."""
    return name in SIGNATURES and SIGNATURES[name].value != "number"


def with_shared_value(node: Formula, closure: Closure) -> Closure:
    """Return a closure that computes a number once for all laws of a divergence, so that they share one ball."""

    def value(env: dict[str, Any]) -> Any:
        if not _memos:
            return closure(env)
        memo = _memos[-1]
        if node not in memo:
            memo[node] = closure(env)
        return memo[node]

    return value


def apply_with_shared_values(
    function: Callable[..., Any], closures: tuple[Closure, ...]
) -> Closure:
    """Return a closure that applies a divergence or a moment to laws that share their numbers."""

    def value(env: dict[str, Any]) -> Any:
        _memos.append({})
        try:
            arguments = [closure(env) for closure in closures]
        finally:
            _memos.pop()
        return function(*arguments)

    return value
