"""Statements with a proof of the test's own."""

from __future__ import annotations

from dataclasses import replace

from dpverify.ledger.proof_book import Proof
from dpverify.ledger.statements import Statement


def with_chain(statement: Statement, chain: str, **fields: object) -> Statement:
    """The statement with a proof that is this chain; ``fields`` are those of the proof's record."""
    book = statement.proofs
    assert book is not None
    claim = statement.key.partition(":")[2]
    proof = Proof(of=claim, variant=statement.variant, chain=chain, **fields)  # type: ignore[arg-type]  # a test names them
    return replace(statement, proofs=replace(book, proofs=(proof,)))
