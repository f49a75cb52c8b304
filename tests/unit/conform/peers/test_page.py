from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

from dpverify.conform.peers.page import PEERS_PAGE, peers_page
from dpverify.conform.peers.recording import RunSettings, write_peers
from dpverify.conform.peers.records import (
    Answer,
    CardRun,
    Catalogue,
    CatalogueEntry,
    Peer,
    PeersRun,
    PeerTest,
)
from dpverify.harness.statistics.effects import proportion_limits

GOOD = PeerTest(name="scale", passed=True, found="1.001", sees="noise 3% too small")
AUDIT = PeerTest(
    name="outputs", passed=True, found="epsilon is at least 2", sees="more"
)
BAD = PeerTest(
    name="sensitivity",
    passed=False,
    found="0.125 where 0.0625 is allowed",
    sees="clipping",
)


def test_the_page_names_the_first_fault_and_the_versions() -> None:
    peers = [
        Peer(
            target=f"a.py:{name}", says=name, promise="poisson", epsilon=[1.0, 1.25], versions={"lib": "2.0"},
            tests=[GOOD, *more],
        )
        for name, more in (("right", [AUDIT]), ("wrong", [BAD]))
    ]  # fmt: skip
    page = peers_page(
        PeersRun(
            commit="abc",
            seed=3,
            alpha=1e-4,
            command="dpverify conform a.py:right",
            peers=peers,
        )
    )
    assert (
        "| right | lib 2.0 | poisson | 1 to 1.25 | epsilon is at least 2 | nothing |  |  |"
        in page
    )
    assert (
        "| poisson | 1 to 1.25 | not run | ✗ sensitivity: 0.125 where 0.0625 is allowed | not judged |  |"
        in page
    )
    assert "use seed 3" in page
    assert page.count("✗") == 2


def test_a_test_that_was_not_run_is_no_fault_and_is_named() -> None:
    state = PeerTest(
        name="state",
        passed=False,
        found="no two runs have equal noise",
        sees="nothing",
        tested=False,
    )
    peer = Peer(
        target="a.py:f",
        says="x",
        promise="poisson",
        epsilon=[],
        versions={},
        tests=[GOOD, state],
    )
    page = peers_page(
        PeersRun(commit="abc", seed=0, alpha=1e-4, command="x", peers=[peer])
    )
    assert "| nothing; not tested: state |  |  |" in page
    assert "| state | not tested: no two runs have equal noise |" in page
    assert "✗" not in page


def entry(
    target: str,
    name: str,
    found: int,
    says: str,
    *,
    broken: bool = False,
    seconds: float = 0.5,
) -> CatalogueEntry:
    answer = Answer(auditor="other.py:audit", says=says, broken=broken, seconds=seconds)
    by = "scale" if found else ""
    return CatalogueEntry(
        target=target, name=name, found=found, by=by, seconds=0.25, answers=[answer]
    )


def test_the_page_counts_what_the_kit_and_others_found() -> None:
    entries = [
        entry("c.py:right", "good", 0, ""),
        entry("c.py:wrong", "loud", 20, "epsilon is at least 3", seconds=1.0),
        entry("c.py:wrong", "quiet", 19, ""),
        entry("c.py:wrong", "empty", 20, "IndexError: 0", broken=True),
    ]
    catalogue = Catalogue(
        commit="abc", seed=2, seeds=20, alpha=1e-4, command="dpverify conform c.py:right", entries=entries,
        auditors={"other.py:audit": "Another, on outputs. (lib 1.0)"},
    )  # fmt: skip
    page = peers_page(
        PeersRun(
            commit="abc", seed=0, alpha=1e-4, command="x", peers=[], catalogue=catalogue
        )
    )
    assert "with 20 seeds from 2 on" in page
    assert "- `other.py:audit`: Another, on outputs. (lib 1.0)" in page
    assert (
        "| `c.py:right` | dpverify conform | 0 in every seed | 1 in every seed | 0 | 0.25 | 1 |"
        in page
    )
    assert (
        "| `c.py:wrong` | dpverify conform | 2 in every seed, 1 in some | 0 in every seed | 0 | 0.25 | 1 |"
        in page
    )
    assert "| `c.py:wrong` | other.py:audit | 1 | 1 | 1 | 0.5 | 2 |" in page
    assert "| quiet | 19 of 20 | scale | nothing |" in page
    assert "| empty | 20 of 20 | scale | raised |" in page


def test_the_page_names_tests_of_a_catalogue_that_were_not_run() -> None:
    untested = CatalogueEntry(
        target="c.py:f",
        name="x",
        found=0,
        by="",
        untested=["state"],
        seconds=0.5,
        answers=[],
    )
    catalogue = Catalogue(
        commit="a",
        seed=0,
        seeds=1,
        alpha=1e-4,
        command="x",
        entries=[untested],
        auditors={},
    )
    page = peers_page(
        PeersRun(
            commit="a", seed=0, alpha=1e-4, command="x", peers=[], catalogue=catalogue
        )
    )
    assert "| x | 0 of 1 | not tested: state |" in page


def test_the_page_says_that_no_card_was_available_or_what_was_found_on_one() -> None:
    run = PeersRun(commit="abc", seed=0, alpha=1e-4, command="x", peers=[])
    assert "GPU: not run, because no card was available." in peers_page(run)
    entries = [
        entry("c.py:right", "good", 0, ""),
        entry("c.py:wrong", "bad", 2, ""),
        entry("c.py:wrong", "rare", 1, ""),
    ]
    peer = Peer(
        target="a.py:f",
        says="x",
        promise="poisson",
        epsilon=[],
        versions={"lib": "2.0"},
        tests=[GOOD, BAD],
    )
    card = CardRun(
        card="A card",
        commit="def",
        seeds=2,
        command="conform c.py:right",
        peers=[peer],
        entries=entries,
    )
    page = peers_page(msgspec.structs.replace(run, card=card))
    assert "GPU: A card." in page
    assert "GPU: not run" not in page
    assert (
        "| `a.py:f` | lib 2.0 | ✗ sensitivity: 0.125 where 0.0625 is allowed |" in page
    )
    assert (
        "| `c.py:right` |  | a fault in 0 of 1 optimizers with each of 2 seeds |"
        in page
    )
    assert (
        "| `c.py:wrong` |  | a fault in 1 of 2 optimizers with each of 2 seeds, and in 1 with some seeds |"
        in page
    )


def test_a_run_on_a_card_changes_no_other_part_of_the_record(tmp_path: Path) -> None:
    settings = RunSettings("dpverify conform a.py:f", 0, 1, 1e-4, {})
    peer = Peer(
        target="a.py:f",
        says="x",
        promise="poisson",
        epsilon=[],
        versions={},
        tests=[GOOD],
    )
    write_peers(tmp_path, [peer], [entry("c.py:right", "good", 0, "")], settings)
    before = PEERS_PAGE.read(tmp_path)
    on_card = msgspec.structs.replace(peer, tests=[BAD])
    write_peers(tmp_path, [on_card], [], settings._replace(card="A card"))
    after = PEERS_PAGE.read(tmp_path)
    assert before is not None
    assert after is not None
    assert after.card is not None
    assert (after.card.card, after.card.peers) == ("A card", [on_card])
    assert msgspec.structs.replace(after, card=None) == before
    write_peers(tmp_path, [peer], [], settings)
    assert PEERS_PAGE.read(tmp_path) == after
    write_peers(
        tmp_path,
        [msgspec.structs.replace(peer, target="b.py:g")],
        [],
        settings._replace(command="other"),
    )
    both = PEERS_PAGE.read(tmp_path)
    assert both is not None
    assert [(one.target, one.command) for one in both.peers] == [
        ("a.py:f", settings.command),
        ("b.py:g", "other"),
    ]


def test_runs_with_many_seeds_have_a_part_of_their_own_and_limits(
    tmp_path: Path,
) -> None:
    settings = RunSettings(
        "x", 5, 40, 1e-4, {}, versions={"c.py:right": {"lib": "2.0"}}
    )
    entries = [entry("c.py:right", name, 0, "") for name in ("one", "two")]
    write_peers(
        tmp_path, [], [*entries, entry("c.py:wrong", "quiet", 39, "")], settings
    )
    write_peers(tmp_path, [], [entry("c.py:wrong", "quiet", 38, "")], settings)
    found_by = {"loud": 40, "quiet": 1, "silent": 0}
    write_peers(
        tmp_path,
        [],
        [entry("c.py:mistakes_b", name, n, "") for name, n in found_by.items()],
        settings,
    )
    page = (tmp_path / "peers.md").read_text("utf-8")
    # 1 - 0.05^(1/80)
    assert "| `c.py:right` | lib 2.0 | 2 | 5 to 44 | 80 | 0 | at most 0.037 |" in page
    assert (
        "| `c.py:wrong` |  | 1 | 5 to 44 | 40 | 38 | at least 0.85, at most 0.99 |"
        in page
    )
    assert page.count("| `c.py:wrong` |") == 1
    assert "| `c.py:mistakes_b` |  | 3 | 5 to 44 | 1 | 1 | 1 (silent) |" in page
    assert page.count("| `c.py:mistakes_b` |") == 1
    assert "Made by `dpverify conform c.py:right --seed 5 --seeds 40`" in page
    run = PEERS_PAGE.read(tmp_path)
    assert run is not None
    assert run.catalogue is None
    (right,) = [seeds for seeds in run.seeded if seeds.target == "c.py:right"]
    assert abs(right.limits[1] - (1 - 0.05 ** (1 / 80))) < 1e-9


def test_earlier_seeds_stay_beside_those_of_another_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = RunSettings("x", 0, 40, 1e-4, {})
    write_peers(tmp_path, [], [entry("c.py:right", "only", 1, "")], settings)
    monkeypatch.setattr("dpverify.conform.peers.recording.commit", lambda: "another")
    for _ in range(2):
        write_peers(
            tmp_path,
            [],
            [entry("c.py:right", "only", 2, "")],
            settings._replace(seed=40, seeds=10),
        )
    first, second = PEERS_PAGE.read(tmp_path).seeded  # type: ignore[union-attr]
    assert (first.seeds, first.faults, second.seed, second.seeds, second.faults) == (
        40,
        1,
        40,
        10,
        2,
    )
    write_peers(
        tmp_path, [], [entry("c.py:right", "only", 3, "")], settings._replace(seeds=50)
    )
    (only,) = PEERS_PAGE.read(tmp_path).seeded  # type: ignore[union-attr]
    assert (only.seeds, only.faults) == (50, 3)


def test_seeds_that_follow_the_recorded_ones_are_added_to_them(tmp_path: Path) -> None:
    settings = RunSettings(
        "x", 5, 40, 1e-4, {}, versions={"c.py:right": {"lib": "2.0"}}
    )
    write_peers(tmp_path, [], [entry("c.py:right", "only", 1, "")], settings)
    write_peers(
        tmp_path,
        [],
        [entry("c.py:right", "only", 2, "", seconds=1.0)],
        settings._replace(seed=45, seeds=20),
    )
    (run,) = PEERS_PAGE.read(tmp_path).seeded  # type: ignore[union-attr]
    assert (run.seed, run.seeds, run.faults, run.command) == (
        5,
        60,
        3,
        "dpverify conform c.py:right --seed 5 --seeds 60",
    )
    np.testing.assert_allclose(run.limits, proportion_limits(3, 60, 0.05))
    for unlike in (
        settings._replace(seed=66),
        settings._replace(seed=106, versions={"c.py:right": {"lib": "3.0"}}),
    ):
        write_peers(tmp_path, [], [entry("c.py:right", "only", 0, "")], unlike)
        (run,) = PEERS_PAGE.read(tmp_path).seeded  # type: ignore[union-attr]
        assert (run.seed, run.seeds, run.faults) == (unlike.seed, 40, 0)
