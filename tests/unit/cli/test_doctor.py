from __future__ import annotations

import pytest

from dpverify.cli import main


def test_a_machine_that_runs_the_tests_is_healthy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.startswith("ok ") for line in lines)
    for word in ("python", "numba", "usable", "tran2022", "kernel"):
        assert any(word in line for line in lines)


def test_what_is_amiss_is_named_and_gives_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.cli.doctor.PACKAGES", ("numpy", "no-such-package"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert main(["doctor"]) == 2
    bad = [
        line for line in capsys.readouterr().out.splitlines() if line.startswith("BAD")
    ]
    assert len(bad) == 2
    assert "no-such-package is not installed" in bad[0]
    assert "NUMBA_DISABLE_JIT" in bad[1]
