from __future__ import annotations

from time import perf_counter

import pytest

from dpverify.bench.cases import sleeps


@pytest.mark.parametrize("warm", [0, 3])
def test_the_engine_takes_as_long_as_its_blocks_sleep_without_warm_ones(warm: int) -> None:
    begin = perf_counter()
    seconds = sleeps.engine_seconds(6, 1, warm)
    assert 6 * sleeps.SECONDS <= seconds <= perf_counter() - begin - warm * sleeps.SECONDS


def test_a_run_that_loses_blocks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sleeps.SleepCheck, "blocks", lambda self, context: self.count - 1)
    with pytest.raises(RuntimeError, match="n=7 blocks were run, not 8"):
        sleeps.engine_seconds(5, 1, 3)
