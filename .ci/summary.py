"""What a run of CI found, as markdown, the worst first: ``summary.py FOLDER`` reads its junit.xml and selftest.json."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

WORST_FIRST = ("contradicted pins", "missed controls", "faults that the selftest missed", "failing tests")
LONGEST = 300  # characters of a reason


def failures(junit: Path) -> Iterator[tuple[str, str, str]]:
    """Heading, name and reason of each test that failed."""
    for case in ElementTree.parse(junit).iter("testcase") if junit.is_file() else ():
        for found in (*case.findall("failure"), *case.findall("error")):
            name, reason = case.get("name", ""), found.get("message") or ""
            pin = "|pin]" in name or "pinned " in reason  # after the name, pytest-xdist says the group
            where = 0 if pin else 1 if "missed the planted" in reason else 3
            yield WORST_FIRST[where], name, reason


def missed(selftest: Path) -> Iterator[tuple[str, str, str]]:
    """Heading, name and reason of each fault that something which must see it does not."""
    for fault in json.loads(selftest.read_bytes())["faults"] if selftest.is_file() else ():
        words = ("nothing", "did not run", "time limit")
        blind = [f"{each['check']}: {each['saw']}" for each in fault["sightings"] if each["saw"] in words]
        if blind or fault["error"]:
            yield WORST_FIRST[2], fault["id"], "; ".join(blind) or fault["error"]


def summary(folder: Path) -> str:
    """The page."""
    found = [*failures(folder / "junit.xml"), *missed(folder / "selftest.json")]
    lines = []
    for heading in WORST_FIRST:
        here = [(name, " ".join(reason.split())[:LONGEST]) for title, name, reason in found if title == heading]
        lines += [f"## {len(here)} {heading}", *(f"- `{name}`: {reason}" for name, reason in here)] if here else []
    done = [name for name in ("junit.xml", "selftest.json") if (folder / name).is_file()]
    return "\n".join(lines or [f"Nothing is red in {' and '.join(done)}." if done else "It ended before any test."])


if __name__ == "__main__":
    print(summary(Path(sys.argv[1])))
