"""The certificate of Lemma B.1: an induction that ends at k, by a fact about all k mechanisms, and no further."""

import copy
from collections.abc import Callable
from typing import Any

from dpverify.symbolic.certify.checker import k
from tests.for_each import for_each
from tests.unit.symbolic.certify.examples import certified, refusal

LAST = ["+", "mechanisms", ["q", "-1"]]
Change = Callable[[Any], None]


def composition() -> Any:
    """A fresh copy, with no table of expressions."""
    data = copy.deepcopy(k.json.loads(certified("wang2019:lemma-b-1").text or ""))
    rows: list[Any] = []
    for one in data["table"]:
        rows.append(_full(one, rows))
    return {**_full({name: part for name, part in data.items() if name not in ("table", "schema")}, rows),
            "schema": 3, "table": []}  # fmt: skip


def _full(part: Any, rows: list[Any]) -> Any:
    if isinstance(part, int) and not isinstance(part, bool):
        return rows[part]
    if isinstance(part, dict):
        return {key: _full(value, rows) for key, value in part.items()}
    return [_full(one, rows) for one in part] if isinstance(part, list) else part


def after(change: Change) -> str:
    """Why the certificate is refused with a change, all seals as they must be then; empty if it is accepted."""
    data = composition()
    change(data)
    for proof in (*data["lemmas"], data["statement"]):
        for one in (proof, *proof["premises"].values()):
            one["seal"] = k.seal(one, [])
    return refusal(data)


def lemma(data: Any, start: str) -> Any:
    return next(one for one in data["lemmas"] if one["name"].startswith(start))


def put(data: Any, old: Any, new: Any) -> Any:
    """Something else in the place of a letter."""
    if data == old:
        return new
    if isinstance(data, dict):
        return {key: put(value, old, new) for key, value in data.items()}
    return [put(one, old, new) for one in data] if isinstance(data, list) else data


def no_end(name: str) -> Change:
    def change(data: Any) -> None:
        one = lemma(data, name)
        kept = [
            c
            for c in one["conditions"]
            if "t" not in k.letters_in(k.condition(c, ())[2]) or "mechanisms" not in c
        ]
        assert len(kept) == len(one["conditions"]) - 1
        one["conditions"] = kept

    return change


def shorter(data: Any) -> None:
    """The fact leaves the last mechanism out, and all that is said of it does."""
    one = lemma(data, "lemma one-output-more")
    one["premises"] = put(one["premises"], "mechanisms", LAST)
    one["body"] = [
        item if item["by"] == ["whole"] else put(item, "mechanisms", LAST)
        for item in one["body"]
    ]


def longer(data: Any) -> None:
    """The statement is about one mechanism more than the fact."""
    statement, more = data["statement"], ["+", "mechanisms", ["q", "1"]]
    item = next(
        item for item in statement["body"] if item["by"][:2] == ["instance", "lemma"]
    )
    for part, key in ((statement, "lhs"), (statement, "rhs"), (item, "is")):
        part[key] = put(part[key], "mechanisms", more)
    item["by"][3]["t"] = more


def about_the_step(data: Any) -> None:
    """The fact is about so many mechanisms as the step has outputs, and that number is what the induction is over."""
    one = lemma(data, "lemma one-output-more")
    one |= {
        key: put(one[key], "mechanisms", ["+", "t", ["q", "1"]])
        for key in ("premises", "body")
    }
    fact = next(iter(one["premises"].values()))
    fact["conditions"] = []


def test_it_is_given_the_tower_property_alone() -> None:
    assert after(lambda data: None) == ""
    assert len(k.given_in(composition())) == 1
    (fact,) = lemma(composition(), "lemma one-output-more")["premises"].values()
    assert (fact["kind"], fact["letters"]) == ("fact", {})


@for_each(
    ("change", "why"),
    [
        (no_end("lemma one-output-more"), "condition 1 is not known"),
        (no_end("lemma first-outputs, step, by induction"), "may be negative"),
        (shorter, "condition 1 is not known"),
        (longer, "is not known"),
        (about_the_step, "t is what a premise is about"),
    ],
)
def test_nothing_follows_beyond_the_mechanisms_that_the_fact_is_about(
    change: Change, why: str
) -> None:
    assert why in after(change)
