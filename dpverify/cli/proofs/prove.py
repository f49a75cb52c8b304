"""``dpverify prove``: one proof as text, step by step, and whether the checker accepts its certificate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.claims import ClaimName
from dpverify.cli.output import OK, BadInput

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dpverify.ledger.claims import ClaimSpec
    from dpverify.ledger.statements import Statement
    from dpverify.symbolic.elaborate.examine import Examined

FAULTY = 1  # exit code where a proof has no certificate that the checker accepts
SAYS = {
    "equal": "the claim says the same",
    "weaker": "the claim follows from it",
}


def prove(claim: ClaimName, /, *, specs: Path | None = None, suggest: bool = False) -> int:
    """Prove one claim from its proof as text, and print each step.

    The proof is in the file proofs.toml of the paper's records. Below each line, its rule's statement and the
    proved conditions are printed. If a line does not follow, the reason and a point where it is false are printed.
    The exit code is 1 if the stand-alone checker does not accept a certificate.

    Parameters
    ----------
    claim
        Id of the claim, such as lemma-12-var or tran2022:lemma-12-var.
    specs
        Folder with one folder of records per paper. Default: the records that come with dpverify.
    suggest
        Print next lines that rules of the catalogue offer after the last line.
    """
    from dpverify.ledger import load_specs
    from dpverify.ledger.specs import several_claims

    found = load_specs(specs).select((claim,))
    if len(found) != 1:
        raise BadInput("CLAIM", repr(claim), f"must name one claim, but names {several_claims(found)}")
    statements = list(_with_proof(found[0]))
    if not statements:
        raise BadInput("CLAIM", found[0].key, "must have a proof as text, in the file proofs.toml of its paper")
    accepted = [_prove(statement, suggest=suggest) for statement in statements]
    return OK if all(accepted) else FAULTY


def _with_proof(claim: ClaimSpec) -> Iterator[Statement]:
    """Yield the statements of a claim that have a proof, one for each text and each wording."""
    seen = []
    for statement in claim.statements():
        proof = claim.proofs.find(statement)
        wording = (statement.lhs, statement.relation, statement.rhs, statement.requires, statement.let)
        if proof is not None and (proof, wording) not in seen:
            seen.append((proof, wording))
            yield statement


def _prove(statement: Statement, *, suggest: bool) -> bool:
    """Print one proof; whether its certificate is accepted."""
    from dpverify.symbolic.elaborate.errors import ProofError
    from dpverify.symbolic.elaborate.examine import examine
    from dpverify.symbolic.elaborate.present import lines_of, next_lines, statement_lines

    print("\n".join(statement_lines(statement)))
    try:
        found = examine(statement)
    except ProofError as error:
        print(f"not proved: {error}")
        return False
    print("\n".join(lines_of(statement, found.derivation)))
    for problem in found.problems:
        print(f"not proved: {problem}")
    if suggest:
        for line in next_lines(statement, found.derivation):
            print(f"possible next line: {line}")
    for line in _ending(found):
        print(line)
    return found.certificate is not None


def _ending(found: Examined) -> Iterator[str]:
    from dpverify.symbolic.elaborate.text import text_of

    if found.certificate is None or found.conclusion is None:
        return
    relation = found.conclusion.relation
    yield f"derived: {text_of(found.derivation.last)} ({SAYS.get(relation, relation)})"
    given = f"given {'; '.join(found.given)}" if found.given else "given nothing"
    yield f"proved, {given}: the stand-alone checker accepts the certificate"
