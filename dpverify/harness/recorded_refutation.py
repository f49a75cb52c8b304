"""What the recorded run refuted and need not be searched again: its counterexamples are evaluated instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction

import msgspec

from dpverify.harness.context import Context
from dpverify.harness.search.exact_results import counterexample
from dpverify.harness.sides import Probe
from dpverify.ledger.results import CheckResult, Counterexample

RATIONAL = re.compile(r"-?[0-9]{1,4000}(/[0-9]{0,2000}[1-9][0-9]{0,2000})?")  # Python reads at most 4300 digits


def refuted_again(context: Context, probe: Callable[[dict[str, Fraction]], Probe | None]) -> CheckResult | None:
    """What the recorded run says of a check, where each of its counterexamples is one now.

    ``probe`` evaluates a point as the check does; None where the point is not in the statement's domain. The result is
    None where there is no recorded refutation, or where it is none any more: then the whole check is to be run.
    """
    recorded = context.recorded
    if recorded is None or recorded.status != "refuted" or not recorded.counterexamples:
        return None
    confirmed = list[Counterexample]()
    for example in recorded.counterexamples:
        exact = {name: number.exact or "" for name, number in example.parameters.items()}
        if not all(map(RATIONAL.fullmatch, exact.values())):
            return None
        probed = probe({name: Fraction(text) for name, text in exact.items()})
        if probed is None or probed.holds is not False:
            return None
        confirmed.append(counterexample(example.kind, probed))
    return msgspec.structs.replace(recorded, counterexamples=confirmed, by_certificate=True)
