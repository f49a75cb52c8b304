"""The part of a report on optimizers of other libraries, and on mistakes that were reported of such: what was found."""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.report import markdown as md
from dpverify.report.auditors import catalogue_blocks
from dpverify.report.peer_records import Peer, PeersRun, PeerTest
from dpverify.report.recorded import RecordedPage
from dpverify.report.words import GENERATED

INTRODUCTION = """\
`dpverify conform` tests whether an optimizer does what its accounting presumes: its batches, what one example changes,
its noise, its memory. Below are optimizers of other libraries, as their releases have them, and mistakes that were
reported in public threads of such libraries, made again in a few lines each. That a test finds nothing does not show
that an optimizer is private. The mistakes are those of the code in the thread, at that time, not of a library today."""


CHANCE = (
    "All draws come from the seed {seed}; a correct optimizer fails any test with a chance of at most {alpha}. Epsilon "
    "is certified from both sides, for the promise and not for the code; an audit bounds it from below, for the code."
)


def peers_page(run: PeersRun) -> str:
    """The page."""
    return md.document(
        [
            GENERATED,
            "# Other optimizers, tested",
            " ".join(INTRODUCTION.split()),
            md.table(
                [
                    "optimizer",
                    "libraries",
                    "what is promised",
                    "epsilon of 1,000 steps at delta = 1e-5",
                    "audit of outputs",
                    "found",
                ],
                [_row(peer) for peer in run.peers],
            ),
            CHANCE.format(seed=run.seed, alpha=f"{run.alpha:g}"),
            *(catalogue_blocks(run.catalogue) if run.catalogue else ()),
            "## What each test saw",
            *(block for peer in run.peers for block in _tests(peer)),
            f"Made by {md.code(run.command)}. Commit: {md.code(run.commit)}",
        ]
    )


def _row(peer: Peer) -> list[str]:
    found = "nothing" if not peer.failed else f"✗ {peer.failed[0].name}: {peer.failed[0].found}"
    if peer.untested:
        found += f"; not tested: {', '.join(test.name for test in peer.untested)}"
    libraries = ", ".join(f"{name} {version}" for name, version in peer.versions.items())
    bounds = " to ".join(f"{bound:.4g}" for bound in peer.epsilon)
    audit = next((test.found for test in peer.tests if test.name == "outputs"), "not asked for")
    return [peer.says, md.prose(libraries), md.prose(peer.promise), bounds, md.prose(audit), md.prose(found)]


def _tests(peer: Peer) -> Iterator[str]:
    yield f"### {md.code(peer.target)}"
    yield md.table(
        ["test", "found", "it sees"],
        [_test(test) for test in peer.tests],
    )


def _test(test: PeerTest) -> list[str]:
    mark = "✗ " if test.tested and not test.passed else ""
    found = test.found if test.tested else f"not tested: {test.found}"
    return [md.prose(f"{mark}{test.name}"), md.prose(found), md.prose(test.sees)]


PEERS_PAGE = RecordedPage("peers", PeersRun, peers_page)
