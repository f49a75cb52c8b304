"""Cases at a tiny size."""

from __future__ import annotations

from typing import Any

from dpverify.bench.case import BenchCase, Missing, load

# a case for each way of preparing forms, and its sizes
TINY: dict[str, dict[str, Any]] = {
    "noise/trajectory-d-1000": {"T": 13, "d": 7},
    "noise/literal-t-255": {"T": 31, "d": 5},
    "noise/one-call-a-step": {"calls": 9, "d": 3},
    "noise/memory-of-steps-t-15": {"T": 5, "d": 3},
    "optimizers/dp-nsgd": {"n": 40, "d": 6, "steps": 9},
    "optimizers/sr-nsgd": {"n": 40, "d": 6, "steps": 9},
    "optimizers/clipped-batch-half": {"n": 60, "d": 80, "batch": 8, "batches": 5},
    "optimizers/clipped-batch-in-numpy": {"n": 60, "d": 80, "batch": 8},
    "recursive/dp-srm-estimator": {"n": 40, "d": 6, "batch": 8},
    "recursive/rrpsgd": {"n": 40, "d": 6, "steps": 9},
    "recursive/dp-gd": {"n": 40, "d": 6},
    "recursive/dpageem": {"n": 40, "d": 6, "batch": 8, "steps": 9},
    "sparse/sparse-point": {"n": 40, "d": 30, "entries": 3},
    "sparse/sparse-step": {"n": 40, "d": 30, "entries": 3, "steps": 9},
    "networks/gradients-64": {"batch": 3},
    "networks/idx": {"images": 5, "side": 4},
    "scaling/over-t-epochs-8": {"N": 16, "d": 3, "epochs": 3},
    "reconstruction/large": {"N": 16, "d": 3, "epochs": 3},
    "reconstruction/memory-steps-8192": {"N": 8, "d": 3, "steps": 40},
    "parties/secure-sum-3-parties-d-123": {"d": 3},
    "monte-carlo/noise-law-threads-2": {"T": 7, "d": 2},
    "monte-carlo/replications-replications-128": {"T": 7, "d": 2},
    "monte-carlo/engine": {"tasks": 4},
    "monte-carlo/engine-from-the-start": {"tasks": 4},
    "accounting/composed-100": {"K": 9},
    "accounting/composed-100-near-zero": {"K": 9},
    "accounting/batches": {"T": 5},
    "accounting/algorithm-1-over-n-n-1000": {"N": 50, "epochs": 5},
    "accounting/algorithm-2-over-n-n-1000": {"N": 50, "epochs": 5},
    "accounting/long-run-epochs-100000": {"N": 50, "epochs": 5},
    "audit/law-given-d-8-n-10000": {},
    "audit/nothing-assumed-d-8-n-10000": {},
    "audit/whole-audit-n-10000": {},
    "start-up/help": {},
    "start-up/import": {},
}


def case_of(name: str) -> BenchCase:
    group, _, case = name.partition("/")
    (found,) = [each for each in load(group).cases if each.name == case]
    return found


def told(name: str) -> dict[str, Any]:
    """What each form of a case returns at its tiny size, called once; without those that cannot run here."""
    case, sizes = case_of(name), TINY[name]
    assert sizes.keys() <= case.parameters.keys()
    forms = case.prepare(seed=0, **{**case.parameters, **sizes})
    assert list(forms) == list(case.forms)
    return {form: run() for form, run in forms.items() if not isinstance(run, Missing)}
