from __future__ import annotations

import pytest

from dpverify.bench.cases import sleeps
from tests.for_each import for_each


@for_each("warm", [0, 3])
def test_the_engine_takes_as_long_as_its_blocks_sleep_without_warm_ones(
    warm: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []  # nothing else takes time
    monkeypatch.setattr(sleeps, "sleep", slept.append)
    monkeypatch.setattr(sleeps, "perf_counter", lambda: sum(slept))
    assert sleeps.engine_seconds(6, 1, warm) == pytest.approx(6 * sleeps.SECONDS)
    assert len(slept) == warm + 6


def test_a_run_that_loses_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        sleeps.SleepCheck, "blocks", lambda self, context: self.count - 1
    )
    with pytest.raises(RuntimeError, match="n=7 blocks were run, not 8"):
        sleeps.engine_seconds(5, 1, 3)
