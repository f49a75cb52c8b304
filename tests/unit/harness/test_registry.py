from __future__ import annotations

from typing import Any

import pytest

from dpverify.harness import Check, PaperChecks
from dpverify.harness.registry import load_checks


class Nothing(Check):
    method = "search"


def test_checks_are_found_by_claim_and_name() -> None:
    checks = PaperChecks("demo", "module.one")
    first, second = Nothing("lemma-1", "a"), Nothing("lemma-2", "a")
    checks.add(first, second)
    assert checks.find("lemma-2", "a") is second
    assert checks.of("lemma-1") == [first]
    assert [entry.module for entry in checks.entries()] == ["module.one", "module.one"]
    with pytest.raises(KeyError):
        checks.find("lemma-3", "a")


def test_included_checks_keep_their_module() -> None:
    whole, topic = PaperChecks("demo", "checks"), PaperChecks("demo", "checks.topic")
    topic.add(Nothing("lemma-1", "a"))
    whole.include(topic)
    assert [entry.module for entry in whole.entries("lemma-1")] == ["checks.topic"]
    with pytest.raises(ValueError, match="twice"):
        whole.include(topic)
    with pytest.raises(ValueError, match="must belong to demo"):
        whole.include(PaperChecks("other", "checks"))


@pytest.mark.parametrize("name", ["", "two words", "a|b", "a[b", "x=1", "a:b"])
def test_names_must_fit_into_an_id(name: str) -> None:
    with pytest.raises(ValueError, match="must be a word"):
        PaperChecks("demo", "checks").add(Nothing("lemma-1", name))


def test_checks_are_loaded_from_a_module_and_function() -> None:
    loaded = load_checks("tests.unit.harness.demo.demo_checks:load", "demo")
    assert loaded is not None
    assert loaded.key == "demo"
    assert load_checks("tests.unit.harness.demo.demo_checks:load", "other") is None
    with pytest.raises(ValueError, match="module:function"):
        load_checks("dpverify.papers", "demo")


def test_a_check_applies_by_variant_and_reading(statements: dict[str, Any]) -> None:
    walk = statements["walk"]  # start=zero, printed
    assert Nothing("walk", "a").applies(walk)
    assert Nothing("walk", "a", readings={"start": "zero"}).applies(walk)
    assert not Nothing("walk", "a", readings={"start": "late"}).applies(walk)
    assert not Nothing("walk", "a", variants=("amended",)).applies(walk)


def test_a_bare_check_says_what_is_missing(context: Any) -> None:
    with pytest.raises(NotImplementedError, match="Nothing must define run_block"):
        Nothing("walk", "a").run_block(context, 0)
    with pytest.raises(NotImplementedError, match="Nothing must define finish"):
        Nothing("walk", "a").finish(context, None)
