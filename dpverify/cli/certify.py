"""``dpverify certify``: one certificate per proved verdict, for the stand-alone checker."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.claims import ClaimName, PaperKey
from dpverify.cli.output import OK, BadInput, Whole, check_folder
from dpverify.processes import usable_cores

if TYPE_CHECKING:
    from dpverify.harness.certificates import Certified


FAULTY = 1  # exit code where a certificate is missing, or proves another word


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

    Certificates are JSON files. The stand-alone program specs/proofs/check_certificate.py checks them without
    dpverify. A run over all claims fails if a derivation has no certificate, or if a certificate proves another status
    than the pinned one.

    Parameters
    ----------
    claims
        Ids such as lemma-12 or tran2022:lemma-12, or patterns such as 'lemma-*'. Default: all claims.
    out
        Folder for the certificates.
    paper
        Only claims of this paper.
    specs
        Folder with one folder of records per paper. Default: the records that come with dpverify.
    jobs
        Number of worker processes. Default: one per core.
    checks
        Package with the checks of the papers. Default: the checks that come with dpverify.
    tenth
        0 to 9: derive every tenth claim, and the claims that have changed since their certificate was written. The
        other certificates are copied from those that come with dpverify.
    """
    from dpverify.harness.certificates import certify_claims, faults, write, write_evidence
    from dpverify.harness.run.sources import PAPERS
    from dpverify.ledger import load_specs

    if jobs is not None and jobs < 1:
        raise BadInput("--jobs", jobs, "must be at least 1")
    if tenth is not None and not 0 <= tenth <= 9:
        raise BadInput("--tenth", tenth, "must be 0 to 9")
    loaded = load_specs(specs)
    chosen = loaded.select(claims, paper)
    _check_out(out)
    found = []
    count = min(jobs or usable_cores(), len(chosen))
    for certified in certify_claims(loaded, chosen, count, specs, checks or PAPERS, tenth):
        path = write(certified, out)
        found.append(certified)
        reason = certified.reason or "there is no derivation"
        print(f"{certified.name}: {path.name if path else f'no certificate: {reason}'}", flush=True)
    write_evidence(found, out)
    wrong = [] if claims else faults(found)
    for line in wrong:
        print(f"fault: {line}")
    print(_summary(found))
    return FAULTY if wrong else OK


def _check_out(out: Path) -> None:
    """Make the folder; refuse it where it holds files under such names that are no certificates of dpverify."""
    from dpverify.harness.certificates import foreign_files

    check_folder("--out", out)
    if foreign := foreign_files(out):
        raise BadInput("--out", out, f"holds {foreign[0]}, which is not a certificate of dpverify; name another folder")


def _summary(found: list[Certified]) -> str:
    texts = [one.text for one in found if one.text is not None]
    without = Counter(one.has_derivation for one in found if one.text is None)
    size = sum(map(len, texts)) / 1000
    stored = sum(one.stored for one in found)
    return (
        f"{len(found)} verdicts pinned as proved, {len(texts)} with a certificate ({size:.0f} kB); "
        f"{without[False]} have no derivation, {without[True]} derivations are not certified"
        + (f"; {stored} copied from earlier certificates" if stored else "")
    )
