from __future__ import annotations

import pytest

from dpverify.cli import backends as module
from dpverify.cli.backends import MAX_CLAIMS, early_worker
from tests.for_each import for_each


@for_each(("claims", "cores"), [(0, 2), (MAX_CLAIMS + 1, 2), (1, 1)])
def test_no_process_for_no_claims_for_many_or_on_one_core(
    claims: int, cores: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "usable_cores", lambda: cores)
    with early_worker(["tran2022:lemma-12"] * claims) as pool:
        assert pool is None


@pytest.mark.slow
def test_the_process_has_loaded_the_checks_of_the_claims_and_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import multiprocessing
    import threading

    monkeypatch.setattr(module, "usable_cores", lambda: 2)
    before, threads = multiprocessing.active_children(), set(threading.enumerate())
    with early_worker(["tran2022:proposition-18"]) as pool:
        assert pool is not None
        loaded = pool.submit(_loaded).result()
        assert "dpverify.papers.tran2022.trees.checks.compose" in loaded
        assert "dpverify.papers.tran2022.run_time.checks.run_time_counts" not in loaded
        (child,) = set(multiprocessing.active_children()) - set(before)
    assert set(threading.enumerate()) <= threads, (
        "nothing is left that could complain when Python ends"
    )
    child.join(10)
    assert not child.is_alive()


def _loaded() -> set[str]:
    import sys

    return set(sys.modules)
