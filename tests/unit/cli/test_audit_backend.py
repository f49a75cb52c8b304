"""An audit that is ended goes on, and on a cluster finds what one process finds."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import msgspec
import pytest

from dpverify.cli import audit as command
from dpverify.cli import main, targets
from dpverify.harness.run.backend import Backend
from dpverify.harness.run.cluster import Cluster
from dpverify.harness.run.store import Store
from dpverify.privacy.audit.audit import audit
from dpverify.privacy.audit.records import AuditResult, Law
from dpverify.privacy.audit.sampling import AuditBackend
from tests.unit.harness.run.test_cluster import at_block, running

KILLS = 4

MINE = """
import time

def slow(dataset, rng):
    time.sleep(0.0005)
    return dataset.sum() + rng.normal()
"""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def words(mine: Path, *more: str, law: str = "any") -> list[str]:
    return [
        "audit",
        f"{mine}:slow",
        "--n",
        "600",
        "--law",
        law,
        "--epsilon",
        "9",
        "--json",
        "-",
        *more,
    ]


def found(capsys: Capture) -> AuditResult:
    return msgspec.json.decode(capsys.readouterr().out, type=AuditResult)


@pytest.mark.parametrize("law", ["any", "gaussian"])
def test_an_audit_that_is_killed_goes_on_and_one_that_is_done_starts_anew(
    law: str,
    mine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Capture,
) -> None:
    monkeypatch.setattr(command, "MIN_SECONDS", 0.0)
    assert main(words(mine, law=law)) == 0
    alone, store, rng = found(capsys), tmp_path / "evidence.sqlite", random.Random(law)
    program = (
        "import sys; from dpverify.cli import audit, main; audit.MIN_SECONDS = 0.0; "
        "print('s', flush=True); main()"
    )
    for _ in range(KILLS):
        run = [
            sys.executable,
            "-c",
            program,
            *words(mine, "--store", str(store), law=law),
        ]
        with subprocess.Popen(
            run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"s\n"
            time.sleep(rng.uniform(1.0, 3.0))
            process.kill()
    assert main(words(mine, "--store", str(store), law=law)) == 0
    assert found(capsys) == alone
    assert Store(store)._file.execute("select count(*) from blocks").fetchone() == (0,)


def test_what_another_file_beside_it_changed_is_drawn_anew(
    mine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr(command, "MIN_SECONDS", 0.0)
    target = targets.find(f"{mine}:slow", None, None, 1e-5)
    mechanism = f"{mine}:slow"
    before = targets.cache_key(mechanism, None, target)
    assert before == targets.cache_key(mechanism, None, target)
    (mine.parent / "helper.py").write_text("SCALE = 2\n")
    assert targets.cache_key(mechanism, None, target) != before
    assert (
        targets.cache_key(mechanism, None, target._replace(datasets=lambda: None))
        is None
    )


@pytest.mark.slow
@pytest.mark.parametrize("law", ["any", "gaussian"])
def test_a_cluster_audits_as_one_process(
    law: Law, mine: Path, tmp_path: Path, capsys: Capture
) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    assert main(words(mine, law=law)) == 0
    alone = found(capsys)
    target = targets.find(f"{mine}:slow", None, None, 1e-5)
    origin = partial(targets.load_targets, f"{mine}:slow", None, 1e-5)
    with running(tmp_path) as started:
        assert main(words(mine, "--cluster", started.address, law=law)) == 0
        assert found(capsys) == alone
        cluster = Cluster(started.address)
        elsewhere = AuditBackend(Backend(cluster=cluster).outcomes, "", origin)
        with at_block(cluster, 8, started.workers[0].kill):
            again = audit(
                target.mechanism, epsilon=9.0, n=600, law=law, name=alone.mechanism, backend=elsewhere
            )  # fmt: skip
        assert again == alone
        with at_block(cluster, 8, started.scheduler.kill):
            assert audit(
                target.mechanism, epsilon=9.0, n=600, law=law, backend=elsewhere
            ).interrupted
        assert cluster.failure.endswith("ended early: the scheduler is gone")
        cluster.close()
