"""Checks of claims: plans, exact tests, counterexample search, controls, and the runner that judges."""

from dpverify.harness.budget import BUDGETS, Budget
from dpverify.harness.checks import Check
from dpverify.harness.context import Context, Point
from dpverify.harness.derivation_check import DerivationCheck
from dpverify.harness.effects import MeanEffect, ProportionEffect
from dpverify.harness.engine import Progress
from dpverify.harness.exact_results import Vacuity
from dpverify.harness.exhaustive_check import ExhaustiveCheck
from dpverify.harness.judge import unconfirmed
from dpverify.harness.mean_judges import MeanBound, MeanLaw, ProportionBound
from dpverify.harness.monte_carlo_check import Control, MonteCarloCheck
from dpverify.harness.plan import Plan
from dpverify.harness.planted import Outcome, Planted
from dpverify.harness.registry import PaperChecks
from dpverify.harness.runner import errors, exit_code, verify
from dpverify.harness.search_check import SearchCheck
from dpverify.harness.tails import Bounded, SubGaussian
from dpverify.harness.trajectory_law import TrajectoryLaw
from dpverify.harness.trajectory_tests import TrajectoryEffect

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
    "SearchCheck",
    "SubGaussian",
    "TrajectoryEffect",
    "TrajectoryLaw",
    "Vacuity",
    "errors",
    "exit_code",
    "unconfirmed",
    "verify",
]
