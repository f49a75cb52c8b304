"""Hypothesis shrinks a point that has a property. No database, no clock.

All draws are booleans: into others Hypothesis mixes constants of loaded modules, so that a seed would not fix them.
"""

from __future__ import annotations

from collections.abc import Callable

import hypothesis
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from dpverify.harness.search.domain import Sampler
from dpverify.harness.search.rationals import Values


class _FoundError(Exception):
    """Raised at a point that has the property, so that Hypothesis shrinks it."""


SHORTER = 200  # most points that Hypothesis tries to make simpler; ours, ``search.simplify``, goes on from there


def _settings(examples: int, *phases: hypothesis.Phase) -> hypothesis.settings:
    return hypothesis.settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate, *phases],
        suppress_health_check=list(hypothesis.HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
        verbosity=hypothesis.Verbosity.quiet,
    )


def shrink(sampler: Sampler, wanted: Callable[[Values], bool], examples: int, seed: int) -> Values | None:
    """Find a point with a property, and make it as simple as Hypothesis can. The simplest point found, or None."""
    found: list[Values] = []
    shorter = 0

    @hypothesis.seed(seed)
    @_settings(examples, hypothesis.Phase.shrink)
    @hypothesis.given(st.tuples(*[st.booleans()] * sampler.bits))
    def visit(bits: tuple[bool, ...]) -> None:
        nonlocal shorter
        point = sampler.point(bits)
        if point is None:
            hypothesis.reject()
        shorter += bool(found)
        if point in found or (shorter <= SHORTER and wanted(point)):
            found[:] = [point]
            raise _FoundError

    try:
        visit()
    except _FoundError:
        return found[0]
    except Unsatisfiable:
        return None
    return None
