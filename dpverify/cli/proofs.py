"""``dpverify prove``, ``rules`` and ``certify``: proofs as text, the rules that they cite, and their certificates."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.claims import ClaimName, PaperKey
from dpverify.cli.output import OK, BadInput, Whole, check_folder
from dpverify.processes import usable_cores

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpverify.harness.certificates import Certified
    from dpverify.ledger.claims import ClaimSpec
    from dpverify.ledger.statements import Statement
    from dpverify.symbolic.derive.steps import Derivation
    from dpverify.symbolic.elaborate.examination import Examination
    from dpverify.symbolic.rules import Rule


FAULTY = 1  # exit code if a certificate is missing, wrong or not accepted
RELATION_WORDS = {
    "equal": "the claim says the same",
    "weaker": "the claim follows from it",
}


def prove(
    claim: ClaimName, /, *, specs: Path | None = None, suggest: bool = False
) -> int:
    """Prove one claim from its proof as text, and print each step.

    The proof is in the file proofs.toml of the paper's records. Below each line, its
    rule's statement and the proved conditions are printed. If a line does not follow,
    the reason and a point where it is false are printed. If a claim compares two
    formulas and has no proof as text, the command searches for a proof and prints what
    it used or tried. The exit code is 1 if the stand-alone checker does not accept a
    certificate.

    Parameters
    ----------
    claim
        Id of the claim, such as lemma-12-var or tran2022:lemma-12-var.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    suggest
        Suggest next lines: the right side of the claim if a search derives it from the
        last line, otherwise lines that follow by a rule.
    """
    from dpverify.ledger import load_specs
    from dpverify.ledger.specs import several_claims

    selected = load_specs(specs).select((claim,))
    if len(selected) != 1:
        raise BadInput(
            "CLAIM",
            repr(claim),
            f"must name one claim, but names {several_claims(selected)}",
        )
    statements = list(_with_proof(selected[0]))
    if statements:
        accepted = [_prove(statement, suggest=suggest) for statement in statements]
    elif formulas := list(_of_formulas(selected[0])):
        accepted = [_search(statement, suggest=suggest) for statement in formulas]
    else:
        rule = "must have a proof as text, in the file proofs.toml of its paper, or two sides that are formulas"
        raise BadInput("CLAIM", selected[0].key, rule)
    return OK if all(accepted) else FAULTY


def _of_formulas(claim: ClaimSpec) -> Iterator[Statement]:
    """Yield the statements of a claim that a search may prove."""
    from dpverify.harness.formula_proof import FormulaProof

    check = FormulaProof(claim.record.id, "proof")
    for statement in claim.statements():
        if check.can_judge(statement):
            yield statement


def _search(statement: Statement, *, suggest: bool) -> bool:
    """Search for a proof; print what it uses or what was tried, and return whether a proof was found."""
    from dpverify.symbolic.automatic.argument import argument_lines
    from dpverify.symbolic.automatic.proofs import EFFORT, from_left_side, prove
    from dpverify.symbolic.elaborate.examination import statement_lines

    print("\n".join(statement_lines(statement)))
    print(
        f"no proof as text; a search of at most {EFFORT} goals for each way of proof:"
    )
    outcome = prove(statement)
    if outcome.certificate is None:
        print("\n".join(f"not proved {text}" for text in outcome.tried))
        if suggest:
            _print_next_lines(statement, from_left_side(statement))
        return False
    print(
        "\n".join(
            f"  {line}" for line in argument_lines(outcome.certificate, outcome.way)
        )
    )
    print("proved, given nothing: the stand-alone checker accepts the certificate")
    return True


def _print_next_lines(statement: Statement, chain: Derivation) -> None:
    """Print lines that may follow the last line of a chain."""
    from dpverify.symbolic.elaborate.examination import next_lines

    for line in next_lines(statement, chain):
        print(f"possible next line: {line}")


def _with_proof(claim: ClaimSpec) -> Iterator[Statement]:
    """Yield the statements of a claim that have a proof, once for each pair of proof and formulas."""
    proofs = []
    for statement in claim.statements():
        proof = claim.proofs.find(statement)
        wording = (
            statement.lhs,
            statement.relation,
            statement.rhs,
            statement.requires,
            statement.let,
        )
        if proof is not None and (proof, wording) not in proofs:
            proofs.append((proof, wording))
            yield statement


def _prove(statement: Statement, *, suggest: bool) -> bool:
    """Print one proof, and return whether its certificate is accepted."""
    from dpverify.symbolic.elaborate.examination import (
        examine,
        lines_of,
        statement_lines,
    )
    from dpverify.symbolic.elaborate.formulas import ProofError

    print("\n".join(statement_lines(statement)))
    try:
        examined = examine(statement)
    except ProofError as error:
        print(f"not proved: {error}")
        return False
    print("\n".join(lines_of(statement, examined.derivation)))
    for problem in examined.problems:
        print(f"not proved: {problem}")
    if suggest:
        _print_next_lines(statement, examined.derivation)
    for line in _ending(examined):
        print(line)
    return examined.certificate is not None


def _ending(examined: Examination) -> Iterator[str]:
    from dpverify.symbolic.elaborate.formulas import text_of

    if examined.certificate is None:
        return
    yield f"derived: {text_of(examined.derivation.last)} ({RELATION_WORDS[examined.relation]})"
    premises = (
        f"given {'; '.join(examined.given)}" if examined.given else "given nothing"
    )
    yield f"proved, {premises}: the stand-alone checker accepts the certificate"


def rules(*words: str) -> int:
    """List the rules that a line of a proof may cite.

    Each rule is printed with its two sides, its side conditions, the reason why it is
    true, and its proof in Coq.

    Parameters
    ----------
    words
        Only rules with all of these words in their name, their formulas or their
        reason, such as popcount or "geometric sum". Default: all rules.
    """
    from dpverify.symbolic.certify.checker import rules as checked_rules
    from dpverify.symbolic.elaborate.examination import rule_lines
    from dpverify.symbolic.rules import CATALOGUE

    bases = {rule["name"]: rule["basis"] for rule in checked_rules()}
    texts = {
        rule.name: rule_lines(rule, bases.get(rule.name)) for rule in CATALOGUE.values()
    }
    chosen = [name for name in texts if _has_all(CATALOGUE[name], texts[name], words)]
    if not chosen:
        raise BadInput(
            "WORD",
            repr(" ".join(words)),
            f"must be in one of the {len(texts)} rules: dpverify rules",
        )
    print("\n".join(line for name in chosen for line in texts[name]))
    return OK


def _has_all(rule: Rule, lines: list[str], words: tuple[str, ...]) -> bool:
    text = " ".join([rule.name.replace("-", " "), *lines]).lower()
    return all(part in text for word in words for part in word.lower().split())


def certify(
    *claims: ClaimName,
    out: Path,
    paper: PaperKey | None = None,
    specs: Path | None = None,
    jobs: Whole | None = None,
    checks: str | None = None,
    tenth: Whole | None = None,
) -> int:
    """Write a certificate for every proved verdict.

    Certificates are JSON files. The stand-alone program
    specs/proofs/check_certificate.py checks them without dpverify. A run over all
    claims fails if a derivation has no certificate, or if a certificate proves another
    status than the pinned one.

    Parameters
    ----------
    claims
        Ids such as lemma-12 or tran2022:lemma-12, or patterns such as 'lemma-*'.
        Default: all claims.
    out
        Folder for the certificates.
    paper
        Only claims of this paper.
    specs
        Folder with one folder of records per paper. Default: the records that come with
        dpverify.
    jobs
        Number of worker processes. Default: one per core.
    checks
        Package with the checks of the papers. Default: the checks that come with
        dpverify.
    tenth
        0 to 9: derive every tenth claim, and the claims that have changed since their
        certificate was written. The other certificates are copied from those that come
        with dpverify.
    """
    from dpverify.harness.certificates import (
        certify_claims,
        faults,
        write,
        write_evidence,
    )
    from dpverify.harness.run.sources import PAPERS
    from dpverify.ledger import load_specs

    if jobs is not None and jobs < 1:
        raise BadInput("--jobs", jobs, "must be at least 1")
    if tenth is not None and not 0 <= tenth <= 9:
        raise BadInput("--tenth", tenth, "must be 0 to 9")
    loaded = load_specs(specs)
    chosen = loaded.select(claims, paper)
    _check_out(out)
    certificates = []
    count = min(jobs or usable_cores(), len(chosen))
    for certified in certify_claims(
        loaded, chosen, count, specs, checks or PAPERS, tenth
    ):
        path = write(certified, out)
        certificates.append(certified)
        reason = certified.reason or "there is no derivation"
        print(
            f"{certified.name}: {path.name if path else f'no certificate: {reason}'}",
            flush=True,
        )
    write_evidence(certificates, out)
    wrong = [] if claims else faults(certificates)
    for line in wrong:
        print(f"fault: {line}")
    print(_summary(certificates))
    return FAULTY if wrong else OK


def _check_out(out: Path) -> None:
    """Create the folder; raise BadInput if it has files with names of certificates that dpverify did not write."""
    from dpverify.harness.certificates import foreign_files

    check_folder("--out", out)
    if foreign := foreign_files(out):
        raise BadInput(
            "--out",
            out,
            f"holds {foreign[0]}, which is not a certificate of dpverify; name another folder",
        )


def _summary(certificates: list[Certified]) -> str:
    texts = [
        certificate.text for certificate in certificates if certificate.text is not None
    ]
    without = Counter(
        certificate.has_derivation
        for certificate in certificates
        if certificate.text is None
    )
    size = sum(map(len, texts)) / 1000
    stored = sum(certificate.stored for certificate in certificates)
    return (
        f"{len(certificates)} verdicts pinned as proved, {len(texts)} with a certificate ({size:.0f} kB); "
        f"{without[False]} have no derivation, {without[True]} derivations are not certified"
        + (f"; {stored} copied from earlier certificates" if stored else "")
    )
