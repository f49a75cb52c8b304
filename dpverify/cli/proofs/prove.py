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
    from dpverify.symbolic.derive.steps import Derivation
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
    If a claim compares two formulas and has no proof as text, the command searches for a proof and prints what it used
    or tried.
    The exit code is 1 if the stand-alone checker does not accept a certificate.

    Parameters
    ----------
    claim
        Id of the claim, such as lemma-12-var or tran2022:lemma-12-var.
    specs
        Folder with one folder of records per paper. Default: the records that come with dpverify.
    suggest
        Suggest the next line: the printed side if a search reaches it from the last line, otherwise what rules give.
    """
    from dpverify.ledger import load_specs
    from dpverify.ledger.specs import several_claims

    found = load_specs(specs).select((claim,))
    if len(found) != 1:
        raise BadInput("CLAIM", repr(claim), f"must name one claim, but names {several_claims(found)}")
    statements = list(_with_proof(found[0]))
    if statements:
        accepted = [_prove(statement, suggest=suggest) for statement in statements]
    elif formulas := list(_of_formulas(found[0])):
        accepted = [_search(statement, suggest=suggest) for statement in formulas]
    else:
        rule = "must have a proof as text, in the file proofs.toml of its paper, or two sides that are formulas"
        raise BadInput("CLAIM", found[0].key, rule)
    return OK if all(accepted) else FAULTY


def _of_formulas(claim: ClaimSpec) -> Iterator[Statement]:
    """Yield the statements of a claim that a search may prove."""
    from dpverify.harness.formula_proof import FormulaProof

    check = FormulaProof(claim.record.id, "proof")
    for statement in claim.statements():
        if check.can_judge(statement):
            yield statement


def _search(statement: Statement, *, suggest: bool) -> bool:
    """Search for a proof; print what it uses, or what was tried."""
    from dpverify.symbolic.automatic.argument import argument_lines
    from dpverify.symbolic.automatic.proofs import EFFORT, from_left_side, prove
    from dpverify.symbolic.elaborate.present import statement_lines

    print("\n".join(statement_lines(statement)))
    print(f"no proof as text; a search of at most {EFFORT} goals for each way of proof:")
    outcome = prove(statement)
    if outcome.certificate is None:
        print("\n".join(f"not proved {text}" for text in outcome.tried))
        if suggest:
            _print_next_lines(statement, from_left_side(statement))
        return False
    print("\n".join(f"  {line}" for line in argument_lines(outcome.certificate, outcome.way)))
    print("proved, given nothing: the stand-alone checker accepts the certificate")
    return True


def _print_next_lines(statement: Statement, chain: Derivation) -> None:
    """Print lines that may follow the last one of a chain."""
    from dpverify.symbolic.automatic.next_lines import next_lines

    for line in next_lines(statement, chain):
        print(f"possible next line: {line}")


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
    from dpverify.symbolic.elaborate.present import lines_of, statement_lines

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
        _print_next_lines(statement, found.derivation)
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
