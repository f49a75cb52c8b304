"""The page of proofs: every proof and lemma with its lines, and links to what they cite."""

from __future__ import annotations

import re

from dpverify.ledger.load import load_specs
from dpverify.report.pages.layout import Places
from dpverify.report.pages.proofs import ProofPage, proof_book

PAPERS = load_specs().papers


def page(key: str) -> str:
    claims = {f"{key}:{claim}": f"{key}/claims.md" for claim in PAPERS[key].claims}
    places = Places(claims, f"{key}/proofs.md")
    return "\n\n".join(ProofPage(key, proof_book(PAPERS[key]), places).blocks())


def test_every_proof_and_lemma_is_there_with_all_its_lines() -> None:
    for key in ("tran2022", "wang2019", "zhang2021"):
        book = proof_book(PAPERS[key])
        text = page(key)
        assert text.count("### Proof of [") == len(book.proofs) > 20
        assert all(f"### `{lemma}`" in text for lemma in book.lemmas)
        chains = [proof.chain for proof in book.proofs] + [lemma.chain for lemma in book.lemmas.values()]
        lines = sum(chain.strip().count("\n") for chain in chains)
        assert text.count("\n| ") > lines / 2  # a line of a chain may take several lines of the file


def test_a_line_names_its_rule_lemma_or_claim_and_what_its_letters_become() -> None:
    text = page("tran2022")
    section = text.partition("### Proof of [`lemma-12-var`](claims.md#lemma-12-var), amended")[2].partition("###")[0]
    assert r"With $`\mathrm{node} = 16 \alpha^{2} G^{2} \sigma^{2} V`$." in section
    assert r"| $`\le \mathrm{node}\, \log_2(T + 1)`$ | `log2-monotone` |" in section
    assert re.search(r"lemma \[`[a-z0-9.-]+`\]\(#[a-z0-9.-]+\)", text)
    assert re.search(r"\| claim \[|\[`[a-z0-9-]+`\]\(claims\.md#", text)


def test_claims_that_the_report_lacks_are_not_linked() -> None:
    text = "\n".join(ProofPage("zhang2021", proof_book(PAPERS["zhang2021"]), Places({})).blocks())
    assert "claims.md" not in text
    assert "### Proof of `" in text


def test_a_paper_without_proofs_has_an_empty_book() -> None:
    assert proof_book(None).proofs == ()
    assert proof_book(PAPERS["tools"]).proofs == ()
