"""Generate the page on optimizers of other libraries and on reported mistakes.

It has sections on the tests of each optimizer, on tests with many seeds, and on a catalogue of mistakes.
"""

from __future__ import annotations

from collections.abc import Iterator

from dpverify.conform.peers.catalogue_tables import catalogue_blocks, seeded_blocks
from dpverify.conform.peers.records import (
    SEVERITIES,
    CardRun,
    CatalogueEntry,
    Peer,
    PeersRun,
    PeerTest,
)
from dpverify.report import markdown as md
from dpverify.report.folder import RecordedPage
from dpverify.report.words import GENERATED

INTRODUCTION = """\
`dpverify conform` tests whether an optimizer does what its accounting assumes: its batches, what one example changes,
its noise, and its memory. The table has optimizers of released libraries, and mistakes that were reported in public
threads of such libraries, each implemented here in a few lines. An optimizer without a finding is not thereby shown to
be private. The mistakes are those of the code in the thread at that time. The libraries may have changed since."""


SEED_AND_ALPHA_TEXT = (
    "All draws use seed {seed}. A correct optimizer fails any test with probability at most {alpha}. Epsilon is "
    "computed for the promise and certified from both sides. An audit bounds epsilon from below, for the code."
)


NOT_TESTED = (
    "PipelineDP, antigranular: no adapter.",
    """TensorFlow Privacy: how TensorFlow computes the gradient of each loss, which the adapter gives; a second clip
    length, microbatches, the vectorized optimizers, and those with correlated noise (DP-FTRL). It refuses weights in
    double precision.""",
    """Opacus on ranks with equal seeds: only what docs/examples/findings/opacus_distributed_sampler.py shows. Ghost
    clipping with parts of batches or on ranks.""",
    """The linear regression of diffprivlib: an audit of 500 outputs did not end in four minutes; only what
    docs/examples/findings/diffprivlib_linear_regression.py shows.""",
    "Devices other than the CPU. Secure random generators: the adapters use the ordinary ones where there is a choice.",
    """OpenDP and PyDP draw noise from the operating system. No seed repeats it, so conform cannot test what one example
    changes or what the state remembers. Their audits need no seed.""",
)


def peers_page(run: PeersRun) -> str:
    """Return the text of the page."""
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
                    "severity",
                    "what the library documents",
                ],
                [_peer_row(peer) for peer in run.peers],
            ),
            md.bullets([f"{name}: {meaning}" for name, meaning in SEVERITIES.items()]),
            SEED_AND_ALPHA_TEXT.format(seed=run.seed, alpha=f"{run.alpha:g}"),
            *(seeded_blocks(run.seeded) if run.seeded else ()),
            *(catalogue_blocks(run.catalogue) if run.catalogue else ()),
            "## On a graphics card",
            *_card_blocks(run.card),
            "## What was not tested",
            md.bullets(" ".join(reason.split()) for reason in NOT_TESTED),
            "## What each test saw",
            *(block for peer in run.peers for block in _test_blocks(peer)),
            *_commands(run),
        ]
    )


def _card_blocks(run: CardRun | None) -> Iterator[str]:
    """Yield the blocks of the section on runs on a graphics card."""
    if run is None:
        yield "GPU: not run, because no card was available."
        return
    yield f"GPU: {md.prose(run.card)}."
    targets = dict.fromkeys(entry.target for entry in run.entries)
    groups = [
        (target, [entry for entry in run.entries if entry.target == target])
        for target in targets
    ]
    yield md.table(
        ["optimizers", "libraries", "found"],
        [
            *(
                [
                    md.code(peer.target),
                    md.prose(_libraries(peer)),
                    md.prose(_summary(peer)),
                ]
                for peer in run.peers
            ),
            *(
                [md.code(target), "", _seed_counts(entries, run.seeds)]
                for target, entries in groups
            ),
        ],
    )
    yield f"Made by {md.code(run.command)}. Commit: {md.code(run.commit)}"


def _seed_counts(entries: list[CatalogueEntry], seeds: int) -> str:
    """Return a text that says in how many optimizers a fault was found, and with how many seeds."""
    always_found = sum(entry.found == seeds for entry in entries)
    partly_found = sum(0 < entry.found < seeds for entry in entries)
    untested = sum(bool(entry.untested) for entry in entries)
    text = f"a fault in {always_found} of {len(entries)} optimizers" + (
        f" with each of {seeds} seeds" if seeds > 1 else ""
    )
    if partly_found:
        text += f", and in {partly_found} with some seeds"
    return text + (f"; not fully tested: {untested}" if untested else "")


def _commands(run: PeersRun) -> Iterator[str]:
    """Yield the distinct commands that made the records, with their commits."""
    commands = {
        (peer.command or run.command, peer.commit or run.commit): None
        for peer in run.peers
    }
    for command, commit in commands or {(run.command, run.commit): None}:
        yield f"Made by {md.code(command)}. Commit: {md.code(commit)}"


def _peer_row(peer: Peer) -> list[str]:
    bounds = " to ".join(f"{bound:.4g}" for bound in peer.epsilon)
    audit = next(
        (_finding(test) for test in peer.tests if test.name in ("outputs", "audit")),
        "not run",
    )
    severity = (peer.severity or "not judged") if peer.failed else ""
    cells = (
        peer.says,
        _libraries(peer),
        peer.promise,
        bounds,
        audit,
        _summary(peer),
        severity,
        peer.documented,
    )
    return [md.prose(text) for text in cells]


def _libraries(peer: Peer) -> str:
    return ", ".join(f"{name} {version}" for name, version in peer.versions.items())


def _summary(peer: Peer) -> str:
    """Return the first fault of an optimizer and the tests that could not be run."""
    summary = (
        "nothing"
        if not peer.failed
        else f"✗ {peer.failed[0].name}: {peer.failed[0].found}"
    )
    if peer.untested:
        summary += f"; not tested: {', '.join(test.name for test in peer.untested)}"
    return summary


def _test_blocks(peer: Peer) -> Iterator[str]:
    yield f"### {md.code(peer.target)}"
    yield md.table(
        ["test", "found", "it sees"], [_test_row(test) for test in peer.tests]
    )


def _test_row(test: PeerTest) -> list[str]:
    mark = "✗ " if test.tested and not test.passed else ""
    return [
        md.prose(f"{mark}{test.name}"),
        md.prose(_finding(test)),
        md.prose(test.sees),
    ]


def _finding(test: PeerTest) -> str:
    return test.found if test.tested else f"not tested: {test.found}"


PEERS_PAGE = RecordedPage("peers", PeersRun, peers_page)
