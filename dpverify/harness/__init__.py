"""Checks of claims: what an author of one needs, under seven concepts (docs/writing-a-check.md).

claim: PaperChecks; statement: Statement; point: Point, Context; check: the four kinds and what they are made of;
planted fault: Planted, Outcome, Control; true neighbour: TrueNeighbour; budget: Budget, BUDGETS. What runs and judges
them is in ``harness.run``.
"""

from dpverify.harness.admissible import Property
from dpverify.harness.budget import BUDGETS, Budget
from dpverify.harness.checks import Check
from dpverify.harness.context import Context, Point
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.planted import Outcome, Planted, TrueNeighbour
from dpverify.harness.run.registry import PaperChecks
from dpverify.harness.search.exact_results import Vacuity
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck
from dpverify.harness.search.rule_check import RuleCheck, of_variant
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.statistics.effects import MeanEffect, Plan, ProportionEffect
from dpverify.harness.statistics.mean_judges import MeanBound, MeanLaw, ProportionBound
from dpverify.harness.statistics.monte_carlo_check import Control, MonteCarloCheck
from dpverify.harness.statistics.tails import Bounded, SubGaussian
from dpverify.harness.statistics.trajectory_law import TrajectoryLaw
from dpverify.harness.statistics.trajectory_tests import TrajectoryEffect
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
