"""The records of a paper, kept once all of its files were found to break no rule.

They are kept under a digest of the files' content, of the code that reads and checks them, and of the libraries that it
uses. They are JSON: what is read back is data only.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import msgspec

from dpverify.cache_files import Snapshot, digest_of, keep, recall, snapshot
from dpverify.ledger.chapters import ChaptersFile
from dpverify.ledger.definitions import DefinitionsFile
from dpverify.ledger.proofs.records import ProofsFile
from dpverify.ledger.records import ClaimsFile, Record, VerdictsFile

PACKAGE = Path(__file__).parents[1]
VERSIONS = (sys.version, msgspec.__version__, version("jinja2"))


class PaperRecords(Record, frozen=True):
    """The records of all files of a paper."""

    claims: ClaimsFile
    verdicts: VerdictsFile
    definitions: DefinitionsFile
    proofs: ProofsFile
    chapters: ChaptersFile


_RECORDS = msgspec.json.Decoder(PaperRecords)


def key_of(folder: str, contents: Sequence[bytes | None]) -> str:
    """Digest of all that a paper's records follow from; ``contents``: of each of its files, None if missing."""
    parts = [part for data in contents for part in (str(data is None), data or b"")]
    return digest_of((_rules().digest, *VERSIONS, folder, *parts))


def recall_records(folder: str, key: str) -> PaperRecords | None:
    """Return the records that were kept; None where there are none, or they cannot be read."""
    payload = recall(_kind(folder), key)
    return None if payload is None else _decoded(payload)


def keep_records(folder: str, key: str, records: PaperRecords) -> None:
    """Keep records of files that break no rule; those only that JSON gives back as they are."""
    payload = msgspec.json.encode(records)
    if _decoded(payload) == records and _rules().is_older_than_process:
        keep(_kind(folder), key, payload)


def _decoded(payload: bytes) -> PaperRecords | None:
    try:
        return _RECORDS.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


def _kind(folder: str) -> str:
    """Kind of a paper's records: with a digest of the folder's name, which may hold any character."""
    return f"specs-{digest_of([folder])[:8]}"


@cache
def _rules() -> Snapshot:
    """Read the code that reads records and checks them."""
    return snapshot((PACKAGE, *sorted(PACKAGE.parent.glob("*.py"))))
