"""dp-recorder's record and replay of a step, and its distributional audit of the noise."""

import contextlib
import io

import numpy as np
from dp_recorder.auditing import Auditor, audit_spec, dist_l2

from dpverify.conform.catalogue import all_pairs_of_batches
from dpverify.conform.replay.generators import Tape
from dpverify.privacy import epsilon

RUNS, DELTA, STEPS = 2000, 0.1, 3


def instrumented(optimizer, promise, rng):
    """A run whose query, a step without its noise, goes through a primitive that is watched."""

    @audit_spec(kind="gaussian", input_arg="query", sensitivity_arg="sensitivity", metric_fn=dist_l2)
    def release(query, sensitivity):
        zero = np.zeros((promise.batch, promise.dimension))
        return query + np.asarray(optimizer.step(optimizer.start(), zero, rng)[1], dtype=float)

    def run(gradients):
        state = optimizer.start()
        for _ in range(STEPS):
            state, query = optimizer.step(state, gradients.copy(), Tape([]))
            release(query=np.asarray(query, dtype=float), sensitivity=promise.sensitivity * (1 + 1e-5))

    return run


def audit(request):
    """dp-recorder at commit 85d189e of its repository, which is on no package index: record, replay, 2,000 samples."""
    promise = request.promise
    allowed = epsilon(promise.deviation / promise.sensitivity, DELTA).upper
    pairs = list(all_pairs_of_batches(promise))
    for name, first, second, _ in pairs:
        run, auditor = instrumented(request.optimizer, promise, np.random.default_rng(request.seed)), Auditor()
        with auditor:
            run(first)
        auditor.set_replay()
        with auditor:
            run(second)
        try:
            auditor.validate_records()
        except AssertionError as error:
            return f"{error} ({name})"
        auditor.log = auditor.log[:1]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            auditor.run_distributional_audit(RUNS, alpha=request.alpha / len(pairs))
        if auditor.log[0].privacy_profile is None:
            return f"NaN or infinity is released ({name})"
        epsilons, deltas = auditor.log[0].privacy_profile
        if np.interp(allowed, epsilons, deltas) > DELTA:
            return f"delta is above {DELTA} at the epsilon = {allowed:.3g} that is promised ({name})"
    return ""
