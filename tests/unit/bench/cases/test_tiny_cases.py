"""Cases at a tiny size: each form runs, and those that answer one question answer it alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from dpverify.bench.case import Forms, Missing, load

SIZES: dict[str, dict[str, Any]] = {  # cases whose preparation compares their forms, or which return what they found
    "noise/trajectory-d-1000": {"T": 13, "d": 7},
    "noise/literal-t-255": {"T": 31, "d": 5},
    "noise/one-call-a-step": {"calls": 9, "d": 3},
    "optimizers/clipped-batch-half": {"n": 60, "d": 80, "batch": 8, "batches": 5},
    "optimizers/clipped-batch-in-numpy": {"n": 60, "d": 80, "batch": 8},
    "recursive/dp-srm-estimator": {"n": 40, "d": 6, "batch": 8},
    "recursive/dp-gd": {"n": 40, "d": 6},
    "reconstruction/memory-steps-8192": {"N": 8, "d": 3, "steps": 40},
    "monte-carlo/noise-law-threads-1": {"size": 32, "T": 15, "d": 2},
    "monte-carlo/replications-replications-128": {"size": 8, "T": 15, "d": 2, "replications": 4},
    "accounting/long-run-epochs-100000": {"N": 50, "epochs": 9},
}


def prepared(name: str, sizes: dict[str, Any]) -> Forms:
    group, _, case = name.partition("/")
    (found,) = [each for each in load(group).cases if each.name == case]
    assert sizes.keys() <= found.parameters.keys()
    forms = found.prepare(seed=0, **{**found.parameters, **sizes})
    assert list(forms) == list(found.forms)
    return forms


def told(name: str, sizes: dict[str, Any], which: Sequence[str]) -> list[Any]:
    forms = prepared(name, sizes)
    found = [form() for each in which if not isinstance(form := forms[each], Missing)]
    assert len(found) == len(which)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", SIZES)
def test_all_forms_run(name: str) -> None:
    """Their preparation raises where two forms of what is computed differ."""
    forms = prepared(name, SIZES[name])
    ran = [each for each, form in forms.items() if not isinstance(form, Missing) and not isinstance(form(), Missing)]
    assert ran == list(forms)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["over-t-epochs-8", "large"])
def test_the_literal_reconstruction_and_the_stream_are_one(case: str) -> None:
    forms = prepared(f"reconstruction/{case}", {"N": 16, "d": 3, "epochs": 3})
    found: list[Any] = [form() for name, form in forms.items() if name != "reading" and callable(form)]
    literal, *others = (noise for noise, _ in found)
    assert len(others) == 2
    for other in others:
        assert np.allclose(literal, other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("near", ["", "-near-zero"])
def test_exact_composition_and_the_sum_of_squares_are_one(near: str) -> None:
    plain, exact = told(f"accounting/composed-100{near}", {"K": 9}, ["add squares, invert once", "exact"])
    assert exact == pytest.approx(plain, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [1, 2])
def test_an_order_that_stays_costs_no_more_than_fresh_ones(algorithm: int) -> None:
    sizes = {"N": 50, "epochs": 5}
    fresh, once = told(f"accounting/algorithm-{algorithm}-over-n-n-1000", sizes, ["fresh", "once"])
    assert 0.0 < once.lower <= once.upper < fresh.lower <= fresh.upper
