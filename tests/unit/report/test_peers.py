from __future__ import annotations

from dpverify.report.peers import Peer, PeersRun, PeerTest, peers_page

GOOD = PeerTest(name="scale", passed=True, found="1.001", sees="noise 3% too small")
BAD = PeerTest(name="sensitivity", passed=False, found="0.125 where 0.0625 is allowed", sees="clipping")


def test_the_page_names_the_first_fault_and_the_versions() -> None:
    peers = [
        Peer(
            target=f"a.py:{name}", says=name, promise="poisson", epsilon=[1.0, 1.25], versions={"lib": "2.0"},
            tests=[GOOD, *more],
        )
        for name, more in (("right", []), ("wrong", [BAD]))
    ]  # fmt: skip
    page = peers_page(PeersRun(commit="abc", seed=3, alpha=1e-4, command="dpverify conform a.py:right", peers=peers))
    assert "| right | lib 2.0 | poisson | 1 to 1.25 | nothing |" in page
    assert "| wrong | lib 2.0 | poisson | 1 to 1.25 | ✗ sensitivity: 0.125 where 0.0625 is allowed |" in page
    assert "the seed 3" in page
    assert page.count("✗") == 2
