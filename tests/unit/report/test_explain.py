from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

from rich.console import Console

from dpverify.ledger import load_specs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.records import Amendment, Claim, Let, Reading, Verdict
from dpverify.ledger.results import Result
from dpverify.report.explain import Explained, print_explained
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
    reading=[Reading(name="ordering", choices=["fresh", "once"], meaning="how often the data are shuffled")],
    uses=["tran2022:proposition-18"],
    transcription="Both texts agree.",
)


def explained(known: Explained, width: int = 100, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    print_explained(known, Console(file=out, width=width, color_system=None))
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
        "**Lemma 12.** Suppose [a] holds.",
        "expected_noise_norm <= 4*alpha*G*sigma*sqrt(d*V*log2(T))",
        "measured: expected_noise_norm: ",
        "with V = T/N",
        "if alpha >= 1/N",
        "assuming lipschitz(G)",
        "where alpha real, 0 < alpha <= 1",
        "alpha: momentum weight",
        "ordering = fresh | once: how often the data are shuffled",
        "tran2022:proposition-18",
        "Both texts agree.",
        "No run is recorded. Record one: dpverify verify tran2022:lemma-12 --report FOLDER;",
    ):
        assert part in text, part
    assert "Pinned verdict" not in text


def test_verdict_and_amendment_are_there() -> None:
    own = Amendment(formula="2*d", let=[Let(symbol="V", value="T/N + 1")], status="proved", why="one interval more")
    text = words(explained(known(Verdict(claim="lemma-12", status="refuted", reason="log2(1) = 0", amendment=own))))
    assert "refuted: log2(1) = 0" in text
    assert "corrected (proved): one interval more expected_noise_norm <= 2*d with V = T/N + 1 if alpha >= 1/N" in text


def test_evidence_of_each_reading_is_there() -> None:
    text = explained(known(results=[lemma_12("fresh"), lemma_12("once")]), width=300)
    assert "✗ refuted (ordering = fresh)" in text
    assert "✗ refuted (ordering = once)" in text
    assert "smallest: at G=1, N=1, T=1, alpha=1, d=1, sigma=1: left ≈1.596, right 0" in text
    assert "its slack (smallest / typical): 1.003 / 2.2" in text
    assert "No run is recorded" not in text


def test_derivation_and_plan_of_a_check_are_there() -> None:
    text = words(explained(known(results=[rdp(), noise_law()])))
    assert (
        "derivation gaussian-composition (ours): 2 steps, complete = z/2 * sum (start; proved) <= V*z*rho**2/2 (each"
        in text
    )
    assert "n = 120000; alpha = 1e-6; power 0.993; must see a factor 1.02 on any node" in text
    assert "1 of 2 planted faults seen" in text


def test_any_width_and_alphabet_will_do() -> None:
    full = known(results=[lemma_12("fresh"), noise_law()])
    assert max(map(len, explained(full, 50).splitlines())) <= 50
    assert "x refuted (ordering = fresh)" in explained(full, encoding="ascii")
