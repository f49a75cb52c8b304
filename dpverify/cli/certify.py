"""``dpverify certify``: one certificate per proved verdict, for the stand-alone checker."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from dpverify.cli.output import OK, BadInput

if TYPE_CHECKING:
    from dpverify.harness.certificates import Certified


def certify(*claims: str, out: Path, paper: str | None = None, specs: Path | None = None) -> int:
    """Write a certificate of every verdict that a derivation proves, as JSON, and say which have none and why.

    ``specs/proofs/check_certificate.py`` checks them, without dpverify. ``out``: folder that they go to.
    """
    from dpverify.harness.certificates import certify_claims, write
    from dpverify.ledger import load_specs

    loaded = load_specs(specs)
    chosen = loaded.select(claims, paper)
    _make(out)
    found = []
    for certified in certify_claims(loaded, chosen):
        path = write(certified, out)
        found.append(certified)
        name = " ".join([certified.claim, *certified.reading.values(), certified.variant])
        print(f"{name}: {path.name if path else f'no certificate: {certified.reason}'}", flush=True)
    print(_summary(found))
    return OK


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput("--out", out, f"is no folder that can be written to: {error.strerror}") from None


def _summary(found: list[Certified]) -> str:
    texts = [one.text for one in found if one.text is not None]
    without = Counter("no derivation" if "no derivation" in one.reason else "other" for one in found if not one.text)
    size = sum(map(len, texts)) / 1000
    return (
        f"{len(found)} proved verdicts, {len(texts)} with a certificate ({size:.0f} kB); "
        f"{without['no derivation']} have no derivation, {without['other']} derivations are not certified"
    )
