"""Checks of claims: plans, exact tests, counterexample search, controls, and the runner that judges."""

from dpverify.harness.budget import BUDGETS, Budget
from dpverify.harness.checks import Check
from dpverify.harness.context import Context, Point
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.planted import Outcome, Planted
from dpverify.harness.run.engine import Progress
from dpverify.harness.run.judge import unconfirmed
from dpverify.harness.run.registry import PaperChecks
from dpverify.harness.run.runner import errors, exit_code, verify
from dpverify.harness.search.exact_results import Vacuity
from dpverify.harness.search.exhaustive_check import ExhaustiveCheck
from dpverify.harness.search.rule_check import RuleCheck, of_variant
from dpverify.harness.search.search_check import SearchCheck
from dpverify.harness.statistics.effects import MeanEffect, ProportionEffect
from dpverify.harness.statistics.mean_judges import MeanBound, MeanLaw, ProportionBound
from dpverify.harness.statistics.monte_carlo_check import Control, MonteCarloCheck
from dpverify.harness.statistics.plan import Plan
from dpverify.harness.statistics.tails import Bounded, SubGaussian
from dpverify.harness.statistics.trajectory_law import TrajectoryLaw
from dpverify.harness.statistics.trajectory_tests import TrajectoryEffect

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
    "Progress",
    "ProportionBound",
    "ProportionEffect",
    "RuleCheck",
    "SearchCheck",
    "SubGaussian",
    "TrajectoryEffect",
    "TrajectoryLaw",
    "Vacuity",
    "errors",
    "exit_code",
    "of_variant",
    "unconfirmed",
    "verify",
]
