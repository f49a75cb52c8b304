"""All that an answer may follow from: every file of dpverify, its specs and its recorded run, and what is installed.

More counts than is needed, so that no dependency can be missed: after any change the checks are asked again. To read
and hash twenty megabytes takes a twentieth of a second.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from dpverify.cache_files import Snapshot, digest_of, snapshot
from dpverify.harness.recorded_proof import CERTIFICATES
from dpverify.ledger.errors import SpecError
from dpverify.ledger.load import bundled
from dpverify.ledger.outside import outside_papers

PACKAGE = Path(__file__).parents[2]
DISTRIBUTIONS = (".dist-info", ".egg-info", ".egg-link", ".pth")  # their names hold the versions of what is installed


class Inputs:
    """What an answer may follow from, to be made before a command reads any of it.

    ``specs``: the folder of records that the command names, or None for those that come with dpverify.
    """

    def __init__(self, specs: Path | None) -> None:
        self._specs = specs
        self._before = self._read()

    @property
    def digest(self) -> str:
        """Digest of all of it; empty where no answer may be kept or found, as something of it is out of reach."""
        return "" if self._before is None else self._before.digest

    @property
    def are_unchanged(self) -> bool:
        """Whether all of it is as it was before, and as it was when this process began to load dpverify."""
        if self._before is None or not self._before.is_older_than_process:
            return False
        return self._read() == self._before

    def _read(self) -> Snapshot | None:
        """Papers that do not come with dpverify may have any code and data anywhere: with them, nothing is kept."""
        try:
            if outside_papers(Path.cwd()) or not PACKAGE.is_dir():
                return None
            places = list(self._places())
            files = snapshot(places)
            return Snapshot(digest_of((files.digest, *map(str, places), *installed())), files.changed_at)
        except OSError:
            return None

    def _places(self) -> Iterator[Path]:
        yield PACKAGE
        with suppress(SpecError):  # a copy of the package without its specs
            yield bundled("specs")
        with suppress(SpecError):
            yield bundled("reports") / "data"
            yield bundled("reports") / CERTIFICATES
        if self._specs is not None:
            yield from sorted(self._specs.glob("*/*.toml"))


def installed() -> list[str]:
    """Python, the kind of machine, and the names of what is installed, with versions and times of installation."""
    python = [sys.version, str(sys.flags.optimize), sys.platform, platform.machine()]
    for folder in sys.path:
        try:
            entries = sorted(Path(folder).iterdir()) if folder else []
        except OSError:  # an archive, or nothing
            continue
        python += [f"{entry.name} {entry.stat().st_mtime_ns}" for entry in entries if entry.suffix in DISTRIBUTIONS]
    return python
