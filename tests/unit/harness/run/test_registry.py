from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest

from dpverify.harness import Check, PaperChecks
from dpverify.ledger.errors import SpecError
from tests.for_each import for_each


class Nothing(Check):
    method = "search"


def test_checks_are_found_by_claim_and_name() -> None:
    checks = PaperChecks("demo", "module.one")
    first, second = Nothing("lemma-1", "a"), Nothing("lemma-2", "a")
    checks.add(first, second)
    assert checks.find("lemma-2", "a") is second
    assert checks.of("lemma-1") == [first]
    assert [entry.place.module for entry in checks.entries()] == [
        "module.one",
        "module.one",
    ]
    with pytest.raises(KeyError):
        checks.find("lemma-3", "a")


def announced(
    monkeypatch: pytest.MonkeyPatch, name: str, *checks: Check, key: str = "demo"
) -> str:
    """A module with checks that can be imported."""
    module = ModuleType(f"announced_{name}")
    part = PaperChecks(key, module.__name__)
    part.add(*checks)
    module.CHECKS = part  # type: ignore[attr-defined]  # a module made on the spot
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module.__name__


def test_announced_files_are_imported_for_their_claims_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = PaperChecks("demo", "checks")
    whole.announce(
        announced(
            monkeypatch, "first", Nothing("lemma-1", "a"), Nothing("lemma-2", "a")
        ),
        ["lemma-1", "lemma-2"],
    )
    whole.announce("no.such.module", ["lemma-3"])
    whole.announce(
        announced(monkeypatch, "second", Nothing("lemma-1", "b")), ["lemma-1"]
    )
    whole.add(Nothing("lemma-1", "own"))
    assert whole.claims() == {"lemma-1", "lemma-2", "lemma-3"}
    assert [check.name for check in whole.of("lemma-1")] == ["own", "a", "b"]
    assert whole.entries("lemma-2")[0].place.module == "announced_first"
    assert whole.of("lemma-4") == []
    with pytest.raises(SpecError, match="No module named 'no'"):
        whole.of("lemma-3")
    with pytest.raises(SpecError, match="No module named 'no'"):
        whole.entries()


def test_announced_files_judge_what_they_are_announced_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = announced(
        monkeypatch, "part", Nothing("lemma-1", "a"), Nothing("lemma-2", "a")
    )
    for claims in (["lemma-1"], ["lemma-1", "lemma-2", "lemma-3"]):
        whole = PaperChecks("demo", "checks")
        whole.announce(module, claims)
        with pytest.raises(
            ValueError,
            match=r"announced_part must judge the claims .* got lemma-[23]\.",
        ):
            whole.of("lemma-1")
    other = PaperChecks("demo", "checks")
    other.announce(
        announced(monkeypatch, "other", Nothing("lemma-1", "a"), key="another"),
        ["lemma-1"],
    )
    with pytest.raises(ValueError, match="must belong to demo"):
        other.of("lemma-1")
    twice = PaperChecks("demo", "checks")
    for _ in range(2):
        twice.announce(module, ["lemma-1", "lemma-2"])
    with pytest.raises(ValueError, match="twice"):
        twice.of("lemma-1")
    with pytest.raises(ValueError, match="twice"):
        twice.entries()


@for_each("name", ["", "two words", "a|b", "a[b", "x=1", "a:b"])
def test_names_must_fit_into_an_id(name: str) -> None:
    with pytest.raises(ValueError, match="must be a word"):
        PaperChecks("demo", "checks").add(Nothing("lemma-1", name))


def test_a_check_applies_by_variant_and_reading(statements: dict[str, Any]) -> None:
    walk = statements["walk"]  # start=zero, printed
    assert Nothing("walk", "a").applies(walk)
    assert Nothing("walk", "a", readings={"start": "zero"}).applies(walk)
    assert not Nothing("walk", "a", readings={"start": "late"}).applies(walk)
    assert not Nothing("walk", "a", variants=("amended",)).applies(walk)


def test_a_bare_check_says_what_is_missing(context: Any) -> None:
    with pytest.raises(NotImplementedError, match="Nothing must define run_block"):
        Nothing("walk", "a").run_block(context, 0)
    for total in (None, [1, 2]):
        with pytest.raises(
            NotImplementedError, match="Nothing must define finish, or have one block"
        ):
            Nothing("walk", "a").finish(context, total)
    only: Any = object()
    assert Nothing("walk", "a").finish(context, [only]) is only
