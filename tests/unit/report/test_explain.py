from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from dpverify.ledger import load_specs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.load import bundled
from dpverify.ledger.records import Amendment, Claim, Let, Reading, Verdict
from dpverify.ledger.results import Result, decode
from dpverify.report.collect import by_claim, said_alike
from dpverify.report.explain import (
    MAX_LINES,
    Explained,
    explained_lines,
    print_explained,
)
from dpverify.report.text.summary import LINES, shares
from tests.for_each import for_each
from tests.unit.report.sample import PAPER, lemma_12, noise_law, rdp, sample_run

CLAIM = Claim(
    id="lemma-12",
    where="Lemma 12, appendix D.2",
    source="full",
    quote="**Lemma 12.** Suppose [a] holds.",
    kind="expectation-bound",
    quantity="expected_noise_norm",
    relation="<=",
    printed="4*alpha*G*sigma*sqrt(d*V*log2(T))",
    requires=["alpha >= 1/N"],
    assumes=["lipschitz(G)"],
    let=[Let(symbol="V", value="T/N")],
    reading=[
        Reading(
            name="ordering",
            choices=["fresh", "once"],
            meaning="how often the data are shuffled",
        )
    ],
    uses=["tran2022:proposition-18"],
    transcription="Both texts agree.",
)


def explained(
    known: Explained, width: int = 100, encoding: str = "utf-8", *, full: bool = True
) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    print_explained(known, Console(file=out, width=width, color_system=None), full=full)
    return raw.getvalue().decode(encoding)


def words(text: str) -> str:
    return " ".join(text.replace("\u2009", "").split())


def known(*verdicts: Verdict, results: Sequence[Result] = ()) -> Explained:
    vocabulary = load_specs().papers[PAPER].vocabulary
    spec = ClaimSpec(CLAIM, PAPER, vocabulary, verdicts)
    spec = replace(spec, siblings={CLAIM.id: spec})
    return Explained(paper=sample_run().papers[PAPER], spec=spec, results=results)


def test_all_of_the_record_is_there() -> None:
    text = words(explained(known()))
    for part in (
        "tran2022:lemma-12 ",
        "Lemma 12, appendix D.2 (expectation bound)",
        "Lemma 12. Suppose [a] holds.",
        "expected_noise_norm ≤ 4·α·G·σ·√(d·V·log₂(T))",
        "where expected_noise_norm is the ",
        "with V = T/N",
        "if α ≥ 1/N",
        "assuming lipschitz(G)",
        "0 < α ≤ 1",
        "alpha: momentum weight",
        "ordering = fresh | once: how often the data are shuffled",
        "tran2022:proposition-18",
        "Both texts agree.",
        "dpverify verify tran2022:lemma-12. A run with an error in a check is not stored.",
        "Not judged (untested).",
    ):
        assert part in text, part


OWN = Amendment(
    formula="2*d",
    let=[Let(symbol="V", value="T/N + 1")],
    status="proved",
    why="one interval more",
)


@for_each("full", [False, True])
def test_pinned_verdict_and_amendment_are_there(full: bool) -> None:
    verdict = Verdict(
        claim="lemma-12",
        status="refuted",
        severity="boundary",
        reason="log2(1) = 0",
        amendment=OWN,
    )
    text = words(explained(known(verdict), full=full))
    assert (
        "✗ False as printed (refuted, boundary). Wrong log₂(1) = 0 Instead expected_noise_norm ≤ 2·d if"
        in text
    )
    assert (
        "one interval more expected_noise_norm ≤ 2·d with V = T/N + 1 if α ≥ 1/N"
        in text
    )


def test_readings_with_one_verdict_are_folded() -> None:
    verdict = Verdict(
        claim="lemma-12", status="refuted", reason="log2(1) = 0", amendment=OWN
    )
    text = explained(known(verdict), full=False)
    assert text.count("False as printed") == 1
    assert "ordering = fresh | once. The verdict is the same in both." in words(text)


def test_readings_with_two_verdicts_are_both_summarized() -> None:
    verdicts = (
        Verdict(claim="lemma-12", status="refuted", reason="A" * 30),
        Verdict(
            claim="lemma-12",
            reading={"ordering": "once"},
            status="not refuted",
            reason="It was searched.",
        ),
    )
    text = words(explained(known(*verdicts), full=False))
    assert "✗ ordering = fresh: False as printed (refuted)." in text
    assert "○ ordering = once: No counterexample was found (not refuted)." in text


def test_evidence_is_shown_on_request_only_and_common_lines_once() -> None:
    judged = known(results=[lemma_12("fresh"), lemma_12("once")])
    text = explained(judged, width=300)
    assert "✗ refuted (ordering = fresh)" in text
    assert "✗ refuted (ordering = once)" in text
    assert (
        text.count(
            "Smallest counterexample: at G=1, N=1, T=1, alpha=1, d=1, sigma=1: left ≈1.596, right 0"
        )
        == 1
    )
    assert "more lines as for the readings above." in text
    assert "Slack (bound over exact value, smallest / typical): 1.003 / 2.2" in text
    assert "No run is recorded" not in text
    assert "Slack (" not in explained(judged, width=300, full=False)


def test_derivation_and_plan_of_a_check_are_there() -> None:
    text = words(explained(known(results=[rdp(), noise_law()])))
    assert (
        "Derivation gaussian-composition (ours): 2 steps, complete = z/2 * sum (start; proved) ≤ V·z·ρ²/2 (each"
        in text
    )
    assert "Built to detect: a factor 1.02 on any node." in text
    assert (
        "Sample: n = 120000, alpha = 1e-6, power 0.993. Planted faults detected: 1 of 2."
        in text
    )


@for_each("full", [False, True])
def test_any_width_and_alphabet_will_do(full: bool) -> None:
    judged = known(results=[lemma_12("fresh"), noise_law()])
    assert max(map(len, explained(judged, 50, full=full).splitlines())) <= 50
    plain = explained(judged, encoding="ascii", full=full)
    assert "x ordering = fresh: False as printed" in plain
    assert "alpha*G*sigma" in plain


def test_a_stale_result_is_said_at_once() -> None:
    stale = replace(
        known(results=[lemma_12("fresh")]),
        stale=["tran2022:lemma-12: the record has changed"],
    )
    line = explained(stale, full=False).splitlines()[2]
    assert (
        line
        == "STALE: the record has changed. dpverify verify tran2022:lemma-12 judges it again."
    )


@for_each("no_color", [False, True])
def test_the_verdict_has_the_colour_of_its_status_unless_no_colours_are_wanted(
    no_color: bool,
) -> None:
    out = io.StringIO()
    console = Console(
        file=out,
        width=80,
        force_terminal=True,
        color_system="standard",
        no_color=no_color,
    )
    print_explained(known(results=[lemma_12("fresh")]), console)
    assert ("\x1b[1;31m✗" in out.getvalue()) is not no_color


def test_lines_are_shared_among_those_that_need_them() -> None:
    assert shares([2, 9, 4], 9) == [2, 4, 3]
    assert shares([2, 3], 9) == [2, 3]
    assert shares([5, 5], 1) == [1, 1]


@for_each("width", [80, 120])
def test_every_claim_has_its_verdict_in_the_first_lines_and_fits_on_two_screens(
    width: int,
) -> None:
    specs = load_specs()
    files = [bundled("reports") / "data" / f"{paper}.json" for paper in specs.papers]
    runs = [decode(file.read_bytes()) for file in files if file.is_file()]
    recorded = {
        results[0].claim: results for run in runs for results in by_claim(run.results)
    }
    for spec in specs.claims():
        results = recorded.get(spec.key, [])
        page = explained_lines(
            Explained(specs.papers[spec.paper].info, spec, results), width
        )
        lines = [line.text for line in page]
        groups = said_alike(results)
        refuted = sum(group[0].status == "refuted" for group in groups)
        first = "\n".join(lines[:LINES])
        said = ("(refuted", "True as", "not refuted", "(inconclusive", "Not judged")
        assert any(word in first for word in said), spec.key
        assert len(re.findall(r"^Wrong +\S", first, re.MULTILINE)) == refuted, spec.key
        assert len(re.findall(r"^Instead +\S", first, re.MULTILINE)) == refuted, (
            spec.key
        )
        assert len(lines) <= MAX_LINES, spec.key
        assert max(map(len, lines)) <= width, spec.key
        assert not re.search(r"\\|\$|\*\*|sqrt\(", "\n".join(lines)), spec.key
