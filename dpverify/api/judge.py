"""Judge claims and audit mechanisms."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from dpverify.api.verdicts import Verdicts
from dpverify.ledger import Specs, load_specs
from dpverify.ledger.results import Run

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from dpverify.harness.finished import WholeRun
    from dpverify.harness.run.cluster import Cluster
    from dpverify.harness.run.engine import ReportRun
    from dpverify.harness.run.store import Store
    from dpverify.privacy.audit.records import AuditResult

Budget: TypeAlias = Literal["smoke", "standard", "full"]


def verify(
    *claims: str,
    paper: str | None = None,
    specs: Path | str | Specs | None = None,
    budget: Budget = "smoke",
    seed: int = 0,
    jobs: int = 1,
    fresh: bool = False,
    checks: str | None = None,
) -> Verdicts:
    """Judge claims and return one result per claim and choice of its readings.

    Parameters
    ----------
    *claims : str
        Full ids (``tran2022:lemma-12``), ids without the paper if only one paper has
        them, or glob patterns. By default all claims are judged.
    paper : str, optional
        Only claims of this paper.
    specs : pathlib.Path, str or Specs, optional
        Folder of specs, or specs already loaded; by default the bundled specs.
    budget : {"smoke", "standard", "full"}
        Amount of work.
    seed : int
        At least 0; the same seed gives the same results.
    jobs : int
        Number of worker processes. Results do not depend on it. More than 1 requires
        the ``if __name__ == "__main__":`` guard of :mod:`multiprocessing` in the
        calling script.
    fresh : bool
        Derive and search everything again. By default, at the budget "smoke", results
        of the recorded run whose evidence has not changed are reused: a derivation if
        the stand-alone checker accepts its certificate, and a refutation if its
        counterexamples are confirmed.
    checks : str, optional
        Package with the checks of the papers of ``specs``, or "module:function"; by
        default the checks of our papers and of papers outside dpverify. A claim without
        a written check gets default checks if its two sides are formulas.

    Returns
    -------
    Verdicts
        Results in the order of the papers and their claims. Notebooks show them as a
        table.

    Raises
    ------
    SpecError
        If a specs file is invalid, or ``checks`` cannot be imported; ``UnknownClaim``
        if a claim or paper does not exist.
    ValueError
        If ``budget``, ``seed`` or ``jobs`` is out of range.
    KeyboardInterrupt
        On Ctrl-C. :func:`verify_run` returns what was decided so far.

    Examples
    --------
    >>> import dpverify as dv
    >>> dv.verify("tran2022:theorem-4-root")
    <Verdicts: 1 claim: 1 proved.>
    """
    run = verify_run(
        *claims,
        paper=paper,
        specs=specs,
        budget=budget,
        seed=seed,
        jobs=jobs,
        fresh=fresh,
        checks=checks,
    )
    if run.run.interrupted:
        raise KeyboardInterrupt
    return Verdicts(run.results, run.run)


def verify_run(
    *claims: str,
    paper: str | None = None,
    specs: Path | str | Specs | None = None,
    budget: Budget = "smoke",
    seed: int = 0,
    jobs: int = 1,
    progress: ReportRun | None = None,
    spare: bool = False,
    early: Executor | None = None,
    fresh: bool = False,
    store: Store | None = None,
    checks: str | None = None,
    cluster: Cluster | None = None,
    limit: float = 0.0,
    whole_run: WholeRun | None = None,
    renew: Path | None = None,
) -> Run:
    """Judge claims and return the whole run: the results with the manifest that a report needs.

    Parameters
    ----------
    *claims, paper, specs, budget, seed, jobs, checks
        As for :func:`verify`.
    progress : callable, optional
        Called after each block of work with a ``Progress``.
    spare : bool
        Start no worker processes if that would take longer than the work.
    early : concurrent.futures.Executor, optional
        A running worker process that shares the work. It is shut down if other workers
        are started.
    fresh : bool
        As for :func:`verify`. Results in the store are also ignored.
    store : dpverify.harness.run.store.Store, optional
        Cache in which each finished block of work is stored. A later run with the same
        seed and code reuses it.
    cluster : dpverify.harness.run.cluster.Cluster, optional
        A Dask cluster whose workers do the work instead of ``jobs`` local processes.
        Results do not depend on it.
    limit : float
        Time limit in seconds for one call of a check: its import, its plan, one block,
        or the combination of blocks; 0 for none. With a limit, checks run in separate
        processes. A process that exceeds it is terminated, and the check is
        inconclusive. The calling script needs the ``if __name__ == "__main__":`` guard
        of :mod:`multiprocessing`.
    whole_run : dpverify.harness.finished.WholeRun, optional
        Stores the run if all is decided.
    renew : pathlib.Path, optional
        Folder of a report. Its verdicts are kept if their record, code, budget and
        versions have not changed. Only the other claims are judged. Each result and the
        manifest record which run judged the claim.

    Returns
    -------
    Run
        After Ctrl-C, or if the cluster was lost, ``run.interrupted`` is true and the
        results cover what was decided so far.

    Raises
    ------
    SpecError, ValueError
        As for :func:`verify`.

    Examples
    --------
    >>> import dpverify as dv
    >>> run = dv.verify_run("tran2022:theorem-4-root")
    >>> run.run.interrupted
    False
    """
    loaded = specs if isinstance(specs, Specs) else load_specs(specs)
    # raises an error for an unknown claim before large modules are loaded
    chosen = loaded.select(claims, paper)
    from dpverify.harness.recorded_proof import RecordedRun
    from dpverify.harness.run.runner import verify as judge
    from dpverify.harness.run.runner import verify_apart
    from dpverify.harness.run.sources import PAPERS

    proofs = None if fresh or budget != "smoke" else RecordedRun()
    source = checks or PAPERS
    options: dict[str, Any] = {
        "specs": loaded,
        "claims": chosen,
        "budget": budget,
        "seed": seed,
        "jobs": jobs,
        "source": source,
        "spare": spare,
        "proofs": proofs,
        "fresh": fresh,
        "renew": None if renew is None else RecordedRun(renew),
    }
    if limit <= 0.0:
        return judge(
            **options,
            progress=progress,
            early=early,
            store=store,
            cluster=cluster,
            whole_run=whole_run,
        )
    if early is not None:  # it would be idle, and use memory
        # Python 3.11 may close the pool's pipe first if the process has just died
        with suppress(OSError):
            early.shutdown(wait=False, cancel_futures=True)
    return verify_apart(
        limit, progress=progress, store=store, cluster=cluster, **options
    )


def audit(
    mechanism: Callable[..., Any],
    datasets: tuple[Any, Any] | None = None,
    *,
    epsilon: float | None = None,
    delta: float = 1e-5,
    n: int = 100_000,
    confidence: float = 0.95,
    law: Literal["any", "gaussian"] = "any",
    score: Callable[[Any], Any] | None = None,
    seed: int = 0,
    timeout: float = 0.0,
) -> AuditResult:
    """Bound the epsilon of a mechanism from below, with confidence, from its outputs on two neighbouring data sets.

    :mod:`dpverify.privacy.audit.audit` lists the assumptions. :mod:`dpverify.privacy.audit.counting` proves that these
    suffice.

    Parameters
    ----------
    mechanism : callable
        ``mechanism(dataset, rng) -> numbers``, an array of a fixed shape; or, with a
        parameter named ``size``, ``mechanism(dataset, rng, size) -> (size, ...)`` array
        of independent outputs, which is faster.
    datasets : pair, optional
        Two neighbouring data sets; by default ten zeros, and ten zeros with the first
        replaced by 1.
    epsilon : float, optional
        The claimed epsilon, at least 0. With it, the verdict is "refuted" or "not
        refuted".
    delta : float
        The delta for which epsilon is bounded, in [0, 1).
    n : int
        Number of outputs per data set.
    confidence : float
        Lower bound on the probability that the bound does not exceed the true epsilon,
        in (0, 1).
    law : {"any", "gaussian"}
        Assumption about the distribution of the outputs: none, or Gaussian with the
        same covariance on both data sets.
    score : callable, optional
        ``score(outputs) -> (m,)`` numbers, larger if the second data set is more
        likely; learned by default.
    seed : int
        At least 0; the same seed gives the same result.
    timeout : float
        Time limit in seconds for one call of the mechanism or the score. By default 0: their code runs in this process,
        without a limit. Otherwise it runs in a separate process, which is terminated at the limit. Mechanism, data sets
        and score must be picklable, and the calling script needs the ``if __name__ == "__main__":`` guard of
        :mod:`multiprocessing`.

    Returns
    -------
    AuditResult
        ``.epsilon`` is the bound, ``.verdict`` the verdict on the claim, and ``.power``
        describes the detectable violations.

    Raises
    ------
    AuditError
        If an argument is out of range, or the mechanism misbehaves: it raises, returns
        a value that is not a finite number, changes the shape of its output, changes
        its data set, or does not return within ``timeout``.
    ValueError
        If there is a ``timeout`` and mechanism, data sets or score cannot be pickled.
    KeyboardInterrupt
        On Ctrl-C. :func:`dpverify.privacy.audit.audit.audit` returns a result from the
        outputs drawn so far.

    Examples
    --------
    >>> import dpverify as dv
    >>> def mechanism(dataset, rng, size):
    ...     return dataset.sum() + 2.0 * rng.normal(size=size)
    >>> dv.audit(mechanism, epsilon=1.0, n=20_000, law="gaussian").verdict
    'refuted'
    """
    from dpverify.apart import check_timeout, packed, run_apart
    from dpverify.foreign import ForeignError
    from dpverify.privacy.audit.audit import audit as run
    from dpverify.privacy.audit.records import AuditError

    check_timeout(timeout)
    options: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "n": n,
        "confidence": confidence,
        "law": law,
        "seed": seed,
    }
    if timeout == 0.0:
        result = run(mechanism, datasets, score=score, **options)
    else:
        data = packed(MECHANISM, (mechanism, datasets, score))
        try:
            (result,) = run_apart(timeout, _audits_apart, data, options)
        except ForeignError as error:
            raise AuditError(str(error)) from error
    if result.interrupted:
        raise KeyboardInterrupt
    return result


MECHANISM = "mechanism"


def _audits_apart(data: bytes, options: dict[str, Any]) -> Iterator[AuditResult]:
    from dpverify.apart import unpacked
    from dpverify.privacy.audit.audit import audit as run

    mechanism, datasets, score = unpacked(MECHANISM, data)
    yield run(mechanism, datasets, score=score, **options)
