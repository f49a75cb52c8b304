"""Many optimizers by their names: in how many seeds the kit finds a fault, and what other auditors say."""

from __future__ import annotations

import time
from collections.abc import Mapping

from dpverify.conform.beside import Auditor, given
from dpverify.conform.peers.records import Answer, CatalogueEntry
from dpverify.conform.records import PrivateOptimizer, Promise
from dpverify.conform.run import all_tests
from dpverify.foreign import ForeignError, foreign_code


def judge(
    target: str,
    name: str,
    optimizer: PrivateOptimizer,
    promise: Promise,
    *,
    seed: int,
    seeds: int,
    alpha: float,
    auditors: Mapping[str, Auditor],
) -> CatalogueEntry:
    """Run the kit with each seed until it finds a fault, and each auditor with the first seed; seconds of processor."""
    began = time.process_time()
    failed_tests = list[str]()
    untested = set[str]()
    for seed_of_run in range(seed, seed + seeds):
        for test in all_tests(optimizer, promise, seed_of_run, alpha):
            if test.status == "fault":
                failed_tests.append(test.name)
                break
            if test.status == "not tested":
                untested.add(test.name)
    seconds = (time.process_time() - began) / seeds
    answers = [_ask(auditor, audit, optimizer, promise, alpha, seed) for auditor, audit in auditors.items()]
    by = max(set(failed_tests), key=failed_tests.count) if failed_tests else ""
    return CatalogueEntry(
        target=target,
        name=name,
        found=len(failed_tests),
        by=by,
        untested=sorted(untested),
        seconds=seconds,
        answers=answers,
    )


def _ask(
    auditor: str, audit: Auditor, optimizer: PrivateOptimizer, promise: Promise, alpha: float, seed: int
) -> Answer:
    began = time.process_time()
    broken = False
    try:
        with foreign_code(f"auditor {auditor}"):
            answer = str(audit(given(optimizer, promise, alpha, seed)))
    except ForeignError as error:  # what an optimizer raises may be its mistake; the page says so
        answer = error.reason.removeprefix("raised ")
        broken = True
    answer = " ".join(answer.split())[:200]
    return Answer(auditor=auditor, says=answer, broken=broken, seconds=time.process_time() - began)
