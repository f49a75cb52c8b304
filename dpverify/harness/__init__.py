"""Checks of claims: the names that the author of a check needs, grouped by seven concepts (docs/writing-a-check.md).

claim: PaperChecks; statement: Statement; point: Point, Context; check: the four kinds
of checks and their parts; planted fault: Planted, Outcome, Control; true neighbour:
TrueNeighbour; budget: Budget, BUDGETS. The code that runs and judges checks is in
``harness.run``.

Names are loaded when they are first used, so that code that only reads the evidence of an earlier run does not import
the libraries of the checks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.harness.admissible import Property
    from dpverify.harness.checks import BUDGETS, Budget, Check, Context, Point
    from dpverify.harness.derivation_check import DerivationCheck
    from dpverify.harness.exact_results import Vacuity
    from dpverify.harness.run.registry import PaperChecks
    from dpverify.harness.search.derived_checks import RuleCheck, of_variant
    from dpverify.harness.search.exhaustive_check import ExhaustiveCheck
    from dpverify.harness.search.search_check import SearchCheck
    from dpverify.harness.sides import Outcome, Planted, TrueNeighbour
    from dpverify.harness.statistics.effects import (
        Bounded,
        MeanEffect,
        Plan,
        ProportionEffect,
        SubGaussian,
    )
    from dpverify.harness.statistics.mean_judges import (
        MeanBound,
        MeanLaw,
        ProportionBound,
    )
    from dpverify.harness.statistics.monte_carlo_check import Control, MonteCarloCheck
    from dpverify.harness.statistics.trajectory_effects import TrajectoryEffect
    from dpverify.harness.statistics.trajectory_law import TrajectoryLaw
    from dpverify.ledger.statements import Statement

__all__ = [
    "BUDGETS",
    "Bounded",
    "Budget",
    "Check",
    "Context",
    "Control",
    "DerivationCheck",
    "ExhaustiveCheck",
    "MeanBound",
    "MeanEffect",
    "MeanLaw",
    "MonteCarloCheck",
    "Outcome",
    "PaperChecks",
    "Plan",
    "Planted",
    "Point",
    "Property",
    "ProportionBound",
    "ProportionEffect",
    "RuleCheck",
    "SearchCheck",
    "Statement",
    "SubGaussian",
    "TrajectoryEffect",
    "TrajectoryLaw",
    "TrueNeighbour",
    "Vacuity",
    "of_variant",
]

# names by the module that defines them
_HOMES = {
    "admissible": "Property",
    "checks": "BUDGETS Budget Check Context Point Statement",
    "derivation_check": "DerivationCheck",
    "exact_results": "Vacuity",
    "run.registry": "PaperChecks",
    "search.derived_checks": "RuleCheck of_variant",
    "search.exhaustive_check": "ExhaustiveCheck",
    "search.search_check": "SearchCheck",
    "sides": "Outcome Planted TrueNeighbour",
    "statistics.effects": "Bounded MeanEffect Plan ProportionEffect SubGaussian",
    "statistics.mean_judges": "MeanBound MeanLaw ProportionBound",
    "statistics.monte_carlo_check": "Control MonteCarloCheck",
    "statistics.trajectory_effects": "TrajectoryEffect",
    "statistics.trajectory_law": "TrajectoryLaw",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
