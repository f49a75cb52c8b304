"""No committed certificate proves the statement of a changed record, and no changed certificate that of the record.

No changed record says what follows from the statement that was proved.
"""

import copy
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpverify.ledger.load import bundled_specs
from dpverify.symbolic.certify.checker import k, reader, rules
from tests.unit.symbolic.certify.test_false_certificates import sealed

CERTIFICATES = Path(__file__).parents[4] / "reports" / "certificates"
CLAIMS = 12
TURNED = {"<=": ">=", ">=": "<=", "<": ">", ">": "<", "=": "<"}
NUMBERS = ("0", "-1", "101/100", "7")


def short_certificates() -> list[Any]:
    """Certificates of printed statements, the shortest ones first, with a left side in the record."""
    found: list[Any] = []
    for file in sorted(
        CERTIFICATES.glob("*-printed.json"),
        key=lambda path: (path.stat().st_size, path.name),
    ):
        data = json.loads(file.read_text())
        statement = data["statement"]
        if (
            statement["relation"] in TURNED
            and statement["body"]
            and not statement["quantity"]
        ):
            found.append(data)
        if len(found) == CLAIMS:
            break
    return found


def refusal(data: Any, records: Any) -> str:
    """Why a certificate is refused as one of the record; empty if it is accepted."""
    try:
        records.bound(k.run(data, rules()))
    except k.Refused as error:
        return str(error)
    return ""


def changed_records(data: Any, paper: Any) -> Iterator[tuple[str, Any]]:
    """Claims and domains, where the claim says what does not follow: other sides, relations, wider domains."""
    statement = data["statement"]
    claim = statement["claim"].partition(":")[2]
    record = paper.claims[claim]
    # the domain of a symbol that ``let`` defines bounds other letters
    if "lhs" not in record or "let" in record:
        return
    worse = "-" if record["relation"] in {"<=", "<"} else "+"
    for name, fields in {
        "another right side": {"printed": f"({record['printed']}) {worse} 1/100"},
        "another relation": {"relation": TURNED[record["relation"]]},
        "a part without a value": {"printed": f"({record['printed']}) + 0*log(0)"},
        "a quotient that cancels": {"printed": f"({record['printed']}) + 1/0 - 1/0"},
    }.items():
        yield name, ({**paper.claims, claim: {**record, **fields}}, paper.domains)
    for letter in statement["letters"]:
        # a bound that they imply may go
        conditions = " ".join(record.get("requires", []))
        if (
            letter in paper.domains
            and paper.domains[letter][1]
            and not re.search(rf"\b{letter}\b", conditions)
        ):
            kind, _ = paper.domains[letter]
            yield (
                f"no bounds of {letter}",
                (paper.claims, {**paper.domains, letter: (kind, [])}),
            )
        if paper.domains.get(letter, ("",))[0] == "integer":
            real = "real", paper.domains[letter][1]
            yield f"a real {letter}", (paper.claims, {**paper.domains, letter: real})


def test_a_changed_record_is_not_proved_by_its_certificate() -> None:
    records = reader().Records(bundled_specs())
    accepted, tried = [], 0
    for data in short_certificates():
        assert refusal(data, records) == ""
        paper = records.papers[data["statement"]["claim"].partition(":")[0]]
        said = paper.claims, paper.domains
        for name, changed in list(changed_records(data, paper)):
            paper.claims, paper.domains = changed
            tried += 1
            if not refusal(data, records):
                accepted.append((data["statement"]["name"], name))
        paper.claims, paper.domains = said
    assert tried >= 30
    assert accepted == []


def places_of_numbers(
    data: Any, place: tuple[Any, ...] = ()
) -> Iterator[tuple[Any, ...]]:
    """Where a certificate has numbers."""
    if isinstance(data, list) and data[:1] == ["q"]:
        yield place
    pairs = (
        data.items()
        if isinstance(data, dict)
        else enumerate(data)
        if isinstance(data, list)
        else ()
    )
    for key, part in pairs:
        yield from places_of_numbers(part, (*place, key))


def test_a_certificate_with_another_number_is_refused_but_where_the_number_is_not_needed() -> (
    None
):
    """The statement that is printed is the record's in any case."""
    records, drawn = reader().Records(bundled_specs()), random.Random(40)
    tried = refused = 0
    for data in short_certificates():
        places = list(places_of_numbers(data))
        for place in drawn.sample(places, min(len(places), 6)):
            changed = copy.deepcopy(data)
            part = changed
            for key in place:
                part = part[key]
            part[1] = drawn.choice([number for number in NUMBERS if number != part[1]])
            tried += 1
            refused += bool(refusal(sealed(changed), records))
    assert tried >= 40
    assert refused >= tried * 0.9
