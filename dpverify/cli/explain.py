"""``dpverify explain CLAIM``: what is printed, where, under which conditions, and what is held against it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.exits import OK, BadInput
from dpverify.cli.listing import reading_suffix

if TYPE_CHECKING:
    from dpverify.ledger.load import ClaimSpec, Specs

WIDTH = 110


def explain(claim: str, *, specs: Path | None = None) -> int:
    """Explain one claim: the paper's words, the formula, its conditions, our verdict, and the checks.

    Parameters
    ----------
    claim
        The claim, such as lemma-12 or tran2022:lemma-12.
    specs
        Folder of specs; the bundled ones by default.

    Returns
    -------
    int
        Exit code.
    """
    from dpverify.ledger.load import load_specs

    loaded = load_specs(specs)
    found = loaded.select((claim,), None)
    if len(found) != 1:
        keys = ", ".join(spec.key for spec in found)
        raise BadInput("CLAIM", repr(claim), f"names {len(found)} claims, explain takes one: {keys}")
    for block in (_printed(found[0]), _conditions(loaded, found[0]), _verdicts(found[0]), _checks(found[0])):
        for line in block:
            print(line)
    return OK


def _printed(claim: ClaimSpec) -> Iterator[str]:
    record = claim.record
    yield f"{claim.key}  ({record.kind})"
    yield f"{record.where}; read from the {'two texts' if record.source == 'both' else record.source + ' text'}"
    yield ""
    yield from _wrap(record.quote, "  | ")
    yield ""
    left = record.lhs or record.quantity or ""
    if record.printed is not None:
        yield f"  printed      {left} {record.relation} {record.printed}".rstrip()
    if record.statement is not None:
        yield from _wrap(record.statement, "  states       ")


def _conditions(loaded: Specs, claim: ClaimSpec) -> Iterator[str]:
    record, paper = claim.record, loaded.papers[claim.paper]
    if record.quantity:
        yield from _wrap(f"{record.quantity}: {paper.quantities[record.quantity].meaning}", "  measures     ")
    for let in record.let:
        yield f"  with         {let.symbol} = {let.value}"
    for condition in record.requires:
        yield f"  requires     {condition}"
    if record.assumes:
        yield f"  assumes      {', '.join(record.assumes)}"
    statement = claim.statement(claim.readings()[0])
    for name in statement.free:
        symbol = paper.symbols[name]
        yield from _wrap(f"{name}: {symbol.domain}; {symbol.meaning}", "  where        ")
    for reading in record.reading:
        yield from _wrap(f"{reading.name} = {' | '.join(reading.choices)}: {reading.meaning}", "  read as      ")
    if record.uses:
        yield f"  rests on     {', '.join(record.uses)}"
    if record.transcription:
        yield from _wrap(record.transcription, "  transcribed  ")


def _verdicts(claim: ClaimSpec) -> Iterator[str]:
    yield ""
    for reading in claim.readings():
        verdict = claim.verdict(reading)
        name = f"verdict{reading_suffix(reading)}"
        if verdict is None:
            yield f"  {name}: not pinned"
            continue
        yield from _wrap(f"{verdict.status}{'; ' + verdict.reason if verdict.reason else ''}", f"  {name}: ")
        for finding in verdict.findings:
            yield from _wrap(finding, "    found: ")
        if verdict.amendment is not None:
            amendment = verdict.amendment
            yield from _wrap(f"{amendment.formula or amendment.statement} ({amendment.status})", "    corrected: ")
            yield from _wrap(amendment.why, "    because: ")


def _checks(claim: ClaimSpec) -> Iterator[str]:
    from dpverify.papers import load

    checks = load(claim.paper)
    found = [check for check in checks if check.claim == claim.record.id] if checks is not None else []
    yield ""
    for check in found:
        yield f"  checked by   {check.name} ({check.method})"
    yield f"  run          dpverify verify {claim.key}" if found else "  no check is written for it yet"


def _wrap(text: str, first: str) -> list[str]:
    lines = textwrap.wrap(
        " ".join(text.split()),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if first.rstrip().endswith("|") else " " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first.rstrip()]
