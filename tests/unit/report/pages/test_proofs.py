"""The page of proofs: every proof and lemma with its lines, and links to what they cite; and the page of the rules."""

from __future__ import annotations

import re

from dpverify.ledger.load import load_specs
from dpverify.report.pages.layout import Places
from dpverify.report.pages.proofs import ProofPage, proof_book
from dpverify.report.pages.rules import rules, rules_page
from dpverify.symbolic.rules import CATALOGUE
from tests.unit.report.rendering import dead_links, places

PAPERS = load_specs().papers


def page(key: str, *, linked: bool = True) -> str:
    claims = (
        {f"{key}:{claim}": f"{key}/claims.md" for claim in PAPERS[key].claims}
        if linked
        else {}
    )
    return "\n\n".join(
        ProofPage.of(
            PAPERS[key], Places(claims, f"{key}/proofs.md"), "../rules.md"
        ).blocks()
    )


def test_every_proof_and_lemma_is_there_with_all_its_lines() -> None:
    for key in ("tran2022", "wang2019", "zhang2021"):
        book = proof_book(PAPERS[key])
        text = page(key)
        assert text.count("### Proof of [") == len(book.proofs) > 20
        assert all(f"### `{lemma}`" in text for lemma in book.lemmas)
        chains = [proof.chain for proof in book.proofs] + [
            lemma.chain for lemma in book.lemmas.values()
        ]
        lines = sum(chain.strip().count("\n") for chain in chains)
        # a line of a chain may take several lines of the file
        assert text.count("\n| ") > lines / 2
        pages = {f"{key}/proofs.md": text, "rules.md": rules_page()}
        pages[f"{key}/claims.md"] = "\n".join(
            f'<a id="{claim}"></a>' for claim in PAPERS[key].claims
        )
        assert dead_links(pages, {"README.md"}) == []
        assert "| `" not in text, "every reason is a link"


def test_every_rule_has_its_statement_its_conditions_and_its_proof_in_coq() -> None:
    text = rules_page({rule.name: rule.proof for rule in CATALOGUE.values()})
    assert rules().keys() == CATALOGUE.keys() <= places(text)
    entries = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert len(entries) == len(rules())
    for entry in entries:
        name = entry.partition("\n")[0].strip("`")
        assert "```math" in entry
        assert f"Theorem {rules()[name]['basis']['theorem']} :" in entry
        assert "Qed.\n```" in entry
        bounds = sum(
            condition[0] in ("<=", "<", "=", "!=")
            for condition in rules()[name]["conditions"]
        )
        assert (
            len(re.findall(r"\\le(?![a-z])|\\ne|[<=]", entry.partition("<details>")[0]))
            >= bounds
        ), name
    assert r"For whole $`n`$ with $`0 \le n`$. A number with" in text


def test_a_line_names_its_rule_lemma_or_claim_and_what_its_letters_become() -> None:
    text = page("tran2022")
    section = text.partition(
        "### Proof of [`lemma-12-var`](claims.md#lemma-12-var), amended"
    )[2].partition("###")[0]
    assert r"With $`\mathrm{node} = 16 \alpha^{2} G^{2} \sigma^{2} V`$." in section
    assert (
        r"| $`\le \mathrm{node}\, \log_2(T + 1)`$ | [`log2-monotone`](../rules.md#log2-monotone) |"
        in section
    )
    assert r"\mathrm{Var} \le 16 \alpha^{2} G^{2} \sigma^{2} V \log_2(T + 1)" in section
    assert r"If $`t \le T`$; assuming" in section
    assert re.search(r"lemma \[`[a-z0-9.-]+`\]\(#[a-z0-9.-]+\)", text)
    assert re.search(r"\| claim \[|\[`[a-z0-9-]+`\]\(claims\.md#", text)


def test_claims_that_the_report_lacks_are_not_linked() -> None:
    text = page("zhang2021", linked=False)
    assert "claims.md" not in text
    assert "### Proof of `" in text


def test_a_paper_without_proofs_has_an_empty_book() -> None:
    assert proof_book(None).proofs == ()
    assert proof_book(PAPERS["tools"]).proofs == ()
