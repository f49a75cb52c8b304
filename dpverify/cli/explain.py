"""``dpverify explain CLAIM``: the paper's words, the formula, the conditions, the verdict and the evidence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.exits import OK, BadInput

if TYPE_CHECKING:
    from dpverify.ledger import ClaimSpec
    from dpverify.ledger.results import Result

REPORTS = Path("reports")


def explain(claim: str, /, *, specs: Path | None = None, report: Path = REPORTS) -> int:
    """Explain one claim: the paper's words, the formula, its conditions, the verdict, the checks.

    ``report``: folder that holds a report, for the evidence of its run; nothing is shown of it where it is not there.
    """
    from rich.console import Console

    from dpverify.ledger import load_specs
    from dpverify.report.explain import Explained, print_explained

    loaded = load_specs(specs)
    found = loaded.select((claim,))
    if len(found) != 1:
        keys = ", ".join(spec.key for spec in found)
        raise BadInput("CLAIM", repr(claim), f"names {len(found)} claims, explain takes one of {keys}")
    spec = found[0]
    paper = loaded.papers[spec.paper]
    known = Explained(
        paper=paper.info,
        claim=spec.record,
        symbols=spec.statement().symbols,
        quantity=paper.vocabulary.quantities.get(spec.record.quantity or ""),
        verdicts=spec.verdicts,
        results=_stored(spec, report),
    )
    console = Console()
    print_explained(known, console)
    console.print(f"\n[bold]Checks[/]\n  {', '.join(_checks(spec)) or 'none is written for it yet'}", highlight=False)
    return OK


def _checks(spec: ClaimSpec) -> list[str]:
    from dpverify.papers import load

    checks = load(spec.paper)
    found = [] if checks is None else checks.of(spec.record.id)
    return [f"{check.name} ({check.runs_from})" if check.runs_from else check.name for check in found]


def _stored(spec: ClaimSpec, report: Path) -> list[Result]:
    """Results of a recorded run for this claim, where they judged the record as it is today."""
    import msgspec

    from dpverify.ledger.results import decode

    file = report / "data" / f"{spec.paper}.json"
    if not file.is_file():
        return []
    try:
        run = decode(file.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadInput("--report", file, f"cannot be read ({' '.join(str(error).split())})") from error
    return [result for result in run.results if result.claim == spec.key and result.record_hash == spec.record_hash]
