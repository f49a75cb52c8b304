"""Sources of the checks of papers, and the default checks of claims for which no check is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import get_args

from dpverify.foreign import ForeignError, foreign_code
from dpverify.harness import derivation_check
from dpverify.harness.checks import Check
from dpverify.harness.derivation_check import TextProof
from dpverify.harness.evidence.source_code import CheckPlace
from dpverify.harness.finite_check import FiniteCheck
from dpverify.harness.formula_proof import FormulaProof
from dpverify.harness.formula_search import FormulaSearch
from dpverify.harness.run.registry import Entry, PaperChecks, load_paper
from dpverify.ledger.errors import SpecError, shown
from dpverify.ledger.statements import Variant

BY_DEFAULT: dict[str, type[Check]] = {
    "proof": FormulaProof,
    "points": FiniteCheck,
    "search": FormulaSearch,
}
# the statement that holds of a refuted claim is judged like the others
VARIANTS = get_args(Variant)

PAPERS = "dpverify.papers:load"
"""Default source. A source is a package, or a module with a function from a paper's key to its checks or None."""


def load_checks(source: str, paper: str) -> PaperChecks | None:
    """Load the checks of a paper; None if there is no code for the paper."""
    module, colon, function = source.partition(":")
    if not colon:
        return _load_package(source, paper)
    load: Callable[[str], PaperChecks | None] | None = getattr(
        _module(module, source), function, None
    )
    if load is None:
        raise SpecError(
            "checks", "", "", shown(source), f"{module} has no function of this name"
        )
    if source == PAPERS:
        return load(paper)
    with _refused("function", source):
        return load(paper)


@contextmanager
def _refused(kind: str, source: str) -> Iterator[None]:
    """Run code of a source. An exception becomes an error of the source, unless it is already a SpecError."""
    try:
        with foreign_code(source):
            yield
    except ForeignError as error:
        if isinstance(error.__cause__, SpecError):
            raise error.__cause__ from error
        raise SpecError(
            "checks", "", "", shown(source), f"the {kind} {error.reason}"
        ) from error


def _module(name: str, source: str) -> ModuleType:
    try:
        with foreign_code(name):
            return import_module(name)
    except ForeignError as error:
        cause = error.__cause__
        reason = str(cause) if isinstance(cause, ImportError) else error.reason
        raise SpecError(
            "checks", "", "", shown(source), f"they cannot be imported: {reason}"
        ) from error


@cache
def _load_package(package: str, paper: str) -> PaperChecks | None:
    # the path of an installed script contains the script's folder instead
    if not {"", str(Path.cwd())}.intersection(sys.path):
        sys.path.append(str(Path.cwd()))
    with _refused("package", package):
        checks = load_paper(paper, package, {})
    if checks is None:
        raise SpecError(
            "checks",
            "",
            "",
            shown(package),
            "it must be module:function or a package that can be imported",
        )
    return checks


def entries_of(checks: PaperChecks | None, claim: str) -> list[Entry]:
    """Return the checks of a claim, by its id without the paper; default checks if none is written.

    The default checks are a search for a counterexample, an examination of all points of a finite domain, and a search
    for a proof. Each claim also has the check of its proof in ``proofs.toml``, unless another check has this name.
    """
    of_text = Entry(
        TextProof(claim, derivation_check.NAME, variants=VARIANTS),
        CheckPlace(TextProof.__module__),
    )
    if checks is not None and (entries := checks.entries(claim)):
        return (
            entries
            if any(entry.check.name == derivation_check.NAME for entry in entries)
            else [*entries, of_text]
        )
    return [
        of_text,
        *(
            Entry(kind(claim, name, variants=VARIANTS), CheckPlace(kind.__module__))
            for name, kind in BY_DEFAULT.items()
        ),
    ]


def find_check(source: str, paper: str, claim: str, name: str) -> Check:
    """Find a check by its paper, its claim without the paper, and its name."""
    entries = entries_of(load_checks(source, paper), claim)
    return next(entry.check for entry in entries if entry.check.name == name)


def recorded_share(source: str, budget: str) -> float | None:
    """Return the core seconds of one divisible check, if ``SEARCH_SECONDS`` of the source's module has the budget."""
    module, colon, _ = source.partition(":")
    recorded: Mapping[str, float] = (
        getattr(_module(module, source), "SEARCH_SECONDS", {}) if colon else {}
    )
    return recorded.get(budget)
