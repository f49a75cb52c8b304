"""Certificates changed by a machine: refused, or still a proof of the same statement.

A change that is accepted is harmless only where the statement, with its expressions written out, is what it was: the
certificate is then another proof of the same. That happens where a fact is said in another true way, or is not needed.
"""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from dpverify.symbolic.certify.checker import k as checker
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import CLAIMS, certificate_of, refusal

Place = tuple[Any, ...]
OTHER = {"<=": ">=", ">=": "<=", "=": "!=", ">": "=", "!=": "=", "<": ">"}


def walk(data: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every part of a certificate with its place."""
    yield place, data
    pairs = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, value in pairs:
        yield from walk(value, (*place, key))


def changed(data: Any, place: Place, value: Any) -> Any:
    """A copy with another value at a place."""
    copied = copy.deepcopy(data)
    part = copied
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    return copied


def changes(data: Any) -> Iterator[tuple[str, Any]]:
    """Every single change of some kinds."""
    for place, part in walk(data):
        if isinstance(part, list) and part[:1] == ["q"] and len(part) == 2:
            top, _, under = part[1].partition("/")
            yield (
                f"constant at {place}",
                changed(
                    data, place, ["q", f"{int(top) + int(under or 1)}/{under or 1}"]
                ),
            )
        if isinstance(part, list) and part[:1] in (["sum"], ["integral"]):
            yield (
                f"range at {place}",
                changed(data, (*place, 2), ["+", part[2], ["q", "1"]]),
            )
            yield (
                f"range at {place}",
                changed(data, (*place, 3), ["+", part[3], ["q", "1"]]),
            )
        if isinstance(part, str) and part in OTHER:
            yield f"relation at {place}", changed(data, place, OTHER[part])
        if isinstance(part, dict):
            yield from _of_item(data, place, part)
    statement = data["statement"]
    for k in range(len(statement["conditions"])):
        fewer = statement["conditions"][:k] + statement["conditions"][k + 1 :]
        yield (
            f"condition {k} dropped",
            changed(data, ("statement", "conditions"), fewer),
        )
    for side in ("lhs", "rhs"):
        yield (
            f"{side} by 1",
            changed(data, ("statement", side), ["+", statement[side], ["q", "1"]]),
        )
        yield (
            f"{side} by -1",
            changed(data, ("statement", side), ["+", statement[side], ["q", "-1"]]),
        )
    for name in statement["letters"]:
        yield f"kind of {name}", changed(data, ("statement", "letters", name), "real")


def _of_item(data: Any, place: Place, part: Any) -> Iterator[tuple[str, Any]]:
    if "by" in part:
        method, *args = part["by"]
        yield (
            f"fact at {place}",
            changed(data, (*place, "is", 1), ["+", part["is"][1], ["q", "-1"]]),
        )
        if method == "instance":
            for other in ("bernoulli", "one-minus-exp", "no-such-rule"):
                yield f"rule at {place}", changed(data, (*place, "by", 2), other)
            for source in ("rule", "premise", "lemma", "induction"):
                yield f"source at {place}", changed(data, (*place, "by", 1), source)
            for name, value in args[2].items():
                new = ["+", value, ["q", "1"]]
                yield (
                    f"instance at {place}",
                    changed(data, (*place, "by", 3, name), new),
                )
        if method == "ratio":
            yield (
                f"ratio at {place}",
                changed(data, (*place, "by", 1), ["*", ["q", "1/2"], args[0]]),
            )
        if method == "congruent":
            yield (
                f"place at {place}",
                changed(data, (*place, "by", 3), ["+", args[2], ["q", "1"]]),
            )
        if method == "combine":
            for k, (weight, *_) in enumerate(args[1]):
                top, _, under = weight.partition("/")
                more = f"{int(top) + int(under or 1)}/{under or 1}"
                yield f"weight at {place}", changed(data, (*place, "by", 2, k, 0), more)
    if "split" in part:
        yield (
            f"case at {place}",
            changed(data, (*place, "split"), ["+", part["split"], ["q", "1"]]),
        )
        yield f"case at {place}", changed(data, (*place, "else"), [])
    if "within" in part:
        yield (
            f"range at {place}",
            changed(data, (*place, "within"), ["+", part["within"], ["q", "-1"]]),
        )


def written_out(data: Any) -> str:
    """The statement without the table."""

    def full(part: Any) -> Any:
        if isinstance(part, int) and not isinstance(part, bool):
            return full(data["table"][part])
        if isinstance(part, dict):
            return {key: full(value) for key, value in part.items()}
        return [full(x) for x in part] if isinstance(part, list) else part

    statement = data["statement"]
    parts = [statement[key] for key in ("conditions", "lhs", "relation", "rhs")]
    given = [
        statement["local"],
        statement["premises"],
        [[one["local"], one["premises"]] for one in data["lemmas"]],
    ]
    return json.dumps([statement["letters"], *map(full, parts), full(given)])


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_changed_certificate_is_refused_or_proves_the_same_statement(
    claim: str,
) -> None:
    data = certificate_of(claim)
    assert not refusal(data)
    before, refused, tried, accepted = written_out(data), 0, 0, []
    for what, new in changes(data):
        tried += 1
        if refusal(new):
            refused += 1
        elif written_out(new) != before:
            accepted.append(what)
    assert tried > 30
    assert refused > tried / 2
    assert accepted == []


def sealed(data: Any) -> Any:
    """The same with a seal that fits what is said now."""
    data["statement"]["seal"] = checker.seal(data["statement"], data["table"])
    return data


@for_each("claim", CLAIMS)
def test_another_statement_is_refused_under_its_own_seal(claim: str) -> None:
    data = certificate_of(claim)
    worse = "1" if data["statement"]["relation"] == ">=" else "-1"
    new = changed(
        data, ("statement", "rhs"), ["+", data["statement"]["rhs"], ["q", worse]]
    )
    assert "seal" in refusal(new)
    assert "claim" in refusal(sealed(new))
    turned = {"<=": ">=", ">=": "<=", "=": "<="}[data["statement"]["relation"]]
    assert (
        "claim" in refusal(sealed(changed(data, ("statement", "relation"), turned)))
        or turned == "<="
    )


@for_each("claim", CLAIMS)
def test_malformed_certificates_are_refused(claim: str) -> None:
    data = certificate_of(claim)
    for key in data:
        assert refusal({k: v for k, v in data.items() if k != key}).startswith(
            ("malformed", "the schema")
        )
    for key in (
        "letters",
        "conditions",
        "lhs",
        "rhs",
        "relation",
        "body",
        "local",
        "premises",
    ):
        broken = copy.deepcopy(data)
        del broken["statement"][key]
        assert refusal(broken).startswith(("malformed", "the seal"))
