"""DDP-SRM in ``train``: equal to one process on the union where there is no noise, and refused where it must be."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from inspect import signature
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpverify.algorithms.dp_srm import DDP_SRM, DdpSettings
from dpverify.algorithms.settings import options
from dpverify.cli.training import party
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.tape import generator
from dpverify.mpc.fixed_point import PartyError
from dpverify.mpc.processes import PartyProcesses
from dpverify.papers.wang2019.algorithms.dp_srm import DdpSrm, SrmParameters
from dpverify.problems.data import load_dataset
from dpverify.problems.logistic import LogisticRegression, RecursiveGradient
from dpverify.problems.rows import scale_rows
from dpverify.train import ddp as module
from dpverify.train.command import summary
from dpverify.train.ddp import (
    batch_seed,
    ddp_epsilon,
    even_split,
    follow_lines,
    rounding_bound,
    run_parties,
)
from dpverify.train.party import compare_parties
from dpverify.train.records import Request
from dpverify.train.run import train
from tests.for_each import for_each

pytest.importorskip("mpyc", reason="the extra mpc is not installed")

QUIET = DDP_SRM.complete({"parties": 3, "steps": 2, "batch": 3, "sigma": 0.0}, 30)


def test_without_noise_it_is_the_run_of_one_process_on_the_union() -> None:
    steps, m, b, gamma = 6, 3, 30, 0.25
    asked: dict[str, Any] = {
        "sigma": 0.0,
        "steps": steps,
        "batch": b,
        "eta": 0.5,
        "gamma": gamma,
        "change_clip": 0.1,
    }
    result = train(Request("ddp-srm", parties=m, seed=3, **asked))
    data = load_dataset()
    problem = LogisticRegression(scale_rows(data.dense_x), data.y, radius=1.0)
    p = SrmParameters(steps, b, b, gamma, 0.5, problem.smoothness)
    draws = [generator(batch_seed(3, j)) for j in range(m)]
    union = RecursiveGradient(problem, 1.0, 0.1)
    run = DdpSrm(union, even_split(569, m), problem.start, p, batches=draws, seed=3)
    run.advance()
    assert isinstance(result.settings, DdpSettings)
    apart = float(np.linalg.norm(np.array(result.w) - run.w))
    assert 0.0 < apart <= rounding_bound(result.settings, 30, problem.smoothness) < 1e-3
    assert not np.array_equal(result.w, problem.start)
    assert "m = 3, noise = shares" in summary(result)


@for_each(("row", "label"), [(np.nan, 0.0), (0.1, 2.0)])
def test_what_is_wrong_with_the_data_of_one_party_is_told_by_all(
    row: float, label: float
) -> None:
    x, y = np.full((30, 2), 0.1), np.zeros(30)
    x[-1, 0], y[-1] = row, label
    with pytest.raises(
        PartyError,
        match=r"^party 2 has a number that is not finite in its rows, or a label",
    ):
        run_parties(x, y, QUIET, [2], lambda t, w: None)


@for_each("last", [b"0x1.0p+0", b"0x1.8p+0"])
def test_parties_that_do_not_open_the_same_numbers_end_the_run(last: bytes) -> None:
    seen = list[float]()
    differ = pytest.raises(
        PartyError, match="parties differ in what they opened by step 2"
    )
    with nullcontext() if last == b"0x1.0p+0" else differ:
        follow_lines(
            iter([[b"0x1.0p+0", b"0x1.0p+0", last]]), [2], lambda t, w: seen.extend(w)
        )
    assert seen == ([1.0] if last == b"0x1.0p+0" else [])


def test_parties_that_end_too_early_end_the_run() -> None:
    with pytest.raises(PartyError, match="the parties ended before step 4"):
        follow_lines(iter([[b"0x1.0p+0"] * 3]), [2, 4], lambda t, w: None)


def test_a_party_that_is_stopped_ends_the_run_of_all_by_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is stopped before it reads its rows, which are more than a pipe holds."""
    started = list[int]()

    class Stopping(PartyProcesses):
        def feed(self, messages: list[bytes]) -> None:
            super().feed(messages)
            started.extend(party.process.pid for party in self.parties)
            os.kill(started[1], signal.SIGSTOP)

    monkeypatch.setattr(
        module, "PartyProcesses", partial(Stopping, clock=count(step=20).__next__)
    )
    x = np.full((30_000, 3), 0.1)
    with pytest.raises(PartyError, match=r"^party 1 was stopped for 30 s$"):
        run_parties(x, np.zeros(30_000), QUIET, [2], lambda t, w: None)
    for pid in started:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_each_party_has_a_batch_seed_of_its_own() -> None:
    assert len({tuple(batch_seed(seed, j)) for seed in (3, 4) for j in range(5)}) == 10


def test_all_kinds_of_noise_are_accounted_and_run() -> None:
    for noise in ("shares", "bits", "ratio"):
        asked: dict[str, Any] = {
            "steps": 2,
            "batch": 30,
            "noise": noise,
            "standardise": False,
        }
        result = train(Request("ddp-srm", parties=3, sigma=4.0, delta=1e-5, **asked))
        s = result.settings
        assert isinstance(s, DdpSettings)
        assert result.epsilon == pytest.approx(
            ddp_epsilon(s, even_split(569, 3), 30, 1e-5)
        )
        assert "against any 1 of the parties" in result.privacy
        larger = 4.0 * 2.0 / 30 * (np.sqrt(1.5) if noise == "shares" else 1.0)
        assert result.constants.node_std["v^0"] == pytest.approx(larger, rel=0.02)


@for_each(
    ("asked", "word"),
    [
        (
            {"algorithm": "ddp-srm", "parties": 2},
            "parties must be an integer, at least 3",
        ),
        ({"algorithm": "dp-srm", "parties": 3}, "parties must be left out"),
        ({"algorithm": "ddp-srm", "noise": "loud"}, "noise must be one of"),
        (
            {"algorithm": "ddp-srm", "batch": 31, "sigma": 0.0},
            "multiple of the 5 parties",
        ),
        (
            {"algorithm": "ddp-srm", "noise": "bits", "epsilon": 1e-6, "delta": 1e-5},
            "epsilon is out of reach at delta=",
        ),
        (
            {"algorithm": "ddp-srm", "noise": "ratio", "epsilon": 1.0, "delta": 1e-19},
            "nothing is certified",
        ),
    ],
)
def test_bad_input(asked: dict[str, Any], word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        train(Request(**asked))


def test_the_command_of_a_party_offers_nothing_that_its_algorithm_lacks() -> None:
    offered = signature(party).parameters.keys()
    assert {"sigma", "delta", "noise"} <= offered
    assert (
        offered - {"index", "peers", "data", "delta", "timeout", "patience", "json"}
        <= options(DdpSettings).keys()
    )


def said(**changes: Any) -> dict[str, Any]:
    """What a party says of itself."""
    return {"n": 30, "d": 2, "labels": ["-1", "1"], "fault": ""} | changes


@for_each(
    ("third", "word"),
    [
        (said(), ""),
        (said(n=7), ""),
        (said(d=3), "party 0 has d = 2, and party 2 has 3"),
        (
            said(labels=["1", "2"]),
            "party 0 has labels = ['-1', '1'], and party 2 has ['1', '2']",
        ),
        ({"fault": "cannot use its file"}, "party 2 cannot use its file"),
    ],
)
def test_rows_of_another_kind_are_refused(third: dict[str, Any], word: str) -> None:
    """Labels, too: 1 is the higher of -1 and 1, and the lower of 1 and 2."""
    with pytest.raises(PartyError, match=re.escape(word)) if word else nullcontext():
        compare_parties([said(), said(), third])


def test_a_file_that_is_of_no_use_ends_the_runs_of_all_at_once(tmp_path: Path) -> None:
    """Its party says what is wrong with it; the others learn only whose it is, long before their patience ends."""
    for j in range(3):
        rows = "".join(
            f"{1 - 2 * (i % 2)} 1:0.5 2:{'nan' if (i, j) == (3, 1) else 0.25}\n"
            for i in range(12)
        )
        (tmp_path / f"{j}.libsvm").write_text(rows)
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
    peers = ",".join(f"127.0.0.1:{s.getsockname()[1]}" for s in held)
    for s in held:
        s.close()
    usual = [
        "--peers",
        peers,
        "--sigma",
        "1",
        "--steps",
        "2",
        "--batch",
        "3",
        "--patience",
        "600",
    ]
    children = [
        subprocess.Popen(
            [sys.executable, "-m", "dpverify", "party", "--index", str(j), "--data", f"{j}.libsvm", *usual],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for j in range(3)
    ]  # fmt: skip
    try:
        ends = [child.communicate(timeout=300) for child in children]
    finally:
        for child in children:
            child.kill()
    assert [child.returncode for child in children] == [2, 2, 2]
    others = ("", "dpverify: party 1 cannot use its file\n")
    assert ends == [
        others,
        ("", "dpverify: 1.libsvm: line 4: value of '2:nan' must be finite.\n"),
        others,
    ]
