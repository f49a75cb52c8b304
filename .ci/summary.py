"""What CI found, as markdown, the worst first: ``summary.py FOLDER`` reads what .ci/run and .ci/nightly left there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

WORST_FIRST = (
    "contradicted pins",
    "true inequalities that the search refuted",
    "checks with other error rates than stated",
    "missed controls",
    "faults that the selftest missed",
    "failing tests",
    "modules where no change of a machine was noticed",
    "modules where no change has been tried yet",
)
# of a module: everybody sees it
NOTHING_RUNS = "after each of its changes, nobody who is asked runs"
LONGEST = 300  # characters of a reason

Found = Iterator[tuple[str, str, str]]  # heading, name and reason


def failures(junit: Path) -> Found:
    """Each test that failed."""
    for case in ElementTree.parse(junit).iter("testcase"):
        for found in (*case.findall("failure"), *case.findall("error")):
            name, reason = case.get("name", ""), found.get("message") or ""
            # after the name, pytest-xdist says the group
            pin = "|pin]" in name or "pinned " in reason
            where = 0 if pin else 3 if "missed the planted" in reason else 5
            yield WORST_FIRST[where], name, reason


def missed(run: dict[str, Any]) -> Found:
    """Each fault that something which must see it does not."""
    for fault in run["faults"]:
        if (blind := _blind(fault)) or fault["error"]:
            yield WORST_FIRST[4], fault["id"], "; ".join(blind) or fault["error"]


def _blind(fault: dict[str, Any]) -> list[str]:
    words = ("nothing", "did not run", "time limit")
    return [
        f"{each['check']}: {each['saw']}"
        for each in fault["sightings"]
        if each["saw"] in words
    ]


def unnoticed(run: dict[str, Any]) -> Found:
    """Each module none of whose changes was noticed, and those that nobody has looked at."""
    for change in run["changes"]:
        blind = _blind(change)
        if (
            change["what"]
            and change["error"] != NOTHING_RUNS
            and len(blind) == len(change["sightings"])
        ):
            yield (
                WORST_FIRST[6],
                change["module"],
                "; ".join([change["what"], *blind, change["error"]]).strip("; "),
            )
    for module in sorted(
        set(run["modules"]) - {change["module"] for change in run["changes"]}
    ):
        yield WORST_FIRST[7], module, "the run ended before it"


def other_rates(run: dict[str, Any]) -> Found:
    """Each statistical check that was wrong more often than its rates explain."""
    for check in run["checks"]:
        if check["wrong"]:
            reds = 0 if check["pinned"] == "refuted" else check["says"].count("refuted")
            seen = f"{check['seen']} of {check['planted']} planted faults refuted"
            yield (
                WORST_FIRST[2],
                check["check"],
                f"{reds} false refutations with {len(check['says'])} seeds, {seen}",
            )


def refuted(run: dict[str, Any]) -> Found:
    """Each true inequality with a counterexample."""
    for each in run["inequalities"]:
        for trial in (trial for trials in each["trials"].values() for trial in trials):
            if not each["kind"] and trial["found"]:
                yield (
                    WORST_FIRST[1],
                    each["name"],
                    f"{each['says']} at {trial['found']}",
                )
                break


RECORDS: dict[str, Callable[[dict[str, Any]], Found]] = {
    "selftest.json": missed,
    "mutants.json": unnoticed,
    "rates.json": other_rates,
    "search.json": refuted,
}


def summary(folder: Path) -> str:
    """The page."""
    tests = sorted(folder.glob("junit*.xml"))
    records = [name for name in RECORDS if (folder / name).is_file()]
    found = [each for junit in tests for each in failures(junit)]
    found += [
        each
        for name in records
        for each in RECORDS[name](json.loads((folder / name).read_bytes()))
    ]
    lines = []
    for heading in WORST_FIRST:
        here = [
            (name, " ".join(reason.split())[:LONGEST])
            for title, name, reason in found
            if title == heading
        ]
        lines += (
            [
                f"## {len(here)} {heading}",
                *(f"- `{name}`: {reason}" for name, reason in here),
            ]
            if here
            else []
        )
    done = [*(junit.name for junit in tests), *records]
    return "\n".join(
        lines
        or [
            f"Nothing is red in {' and '.join(done)}."
            if done
            else "It ended before any test."
        ]
    )


if __name__ == "__main__":
    print(summary(Path(sys.argv[1])))
