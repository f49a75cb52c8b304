"""A page of a report about one recorded run, such as that of the selftest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from dpverify.ledger.records import Record, encode
from dpverify.report.collect import ReportError
from dpverify.report.files import check_folder
from dpverify.report.pages.folder import finish, outdated, update
from dpverify.report.pages.ownership import check_names

RunT = TypeVar("RunT", bound=Record)


@dataclass(frozen=True)
class RecordedPage(Generic[RunT]):
    """The page ``name``.md of the run in data/``name``.json, which is of the type ``kind``."""

    name: str
    kind: type[RunT]
    render: Callable[[RunT], str]
    figures: Callable[[RunT], Mapping[str, bytes]] = lambda _: {}  # files in figures/

    def read(self, folder: Path) -> RunT | None:
        """The run that a report holds; None where it has none."""
        finish(folder)
        path = folder / "data" / f"{self.name}.json"
        if not path.exists():
            return None
        try:
            return msgspec.json.decode(path.read_bytes(), type=self.kind)
        except (msgspec.DecodeError, UnicodeDecodeError, OSError) as error:
            raise ReportError(f"data/{path.name}: {' '.join(str(error).split())}") from error

    def write(self, run: RunT, folder: Path) -> list[str]:
        """Record a run, and write its page; returns the files that changed."""
        try:
            return update(folder, {f"data/{self.name}.json": encode(run), **self.files(run)}, self.name)
        except OSError as error:
            raise ReportError(f"{folder}: must be a folder that can be written ({error})") from error

    def check_target(self, folder: Path) -> None:
        """Refuse a folder that could not take the page after the run, or whose data cannot be read."""
        check_folder("report", folder)
        self.read(folder)
        check_names(folder, (f"{self.name}.md", f"data/{self.name}.json"))
        for inside in ("data", "figures"):
            check_folder("report", folder / inside)

    def files(self, run: RunT) -> dict[str, bytes]:
        """Make every file but the data; path below the folder to content."""
        figures = {f"figures/{name}": content for name, content in self.figures(run).items()}
        return {f"{self.name}.md": self.render(run).encode(), **figures}

    def regenerate(self, folder: Path) -> list[str]:
        """Write the page from the data, and return the files that changed."""
        return update(folder, self._rendered(folder), self.name)

    def check(self, folder: Path) -> list[str]:
        """Compare the page with its data, and return the files that differ."""
        return sorted(outdated(folder, self._rendered(folder), self.name))

    def _rendered(self, folder: Path) -> dict[str, bytes]:
        run = self.read(folder)
        return {} if run is None else self.files(run)
