"""The transcription of the momentum aggregation paper: whole, readable, and described by specs/README.md."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import get_args

from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.formula import to_text
from dpverify.ledger.formula.tree import BUILTINS
from dpverify.ledger.load import bundled_specs, load_specs
from dpverify.ledger.records import Kind, Status
from dpverify.ledger.specs import PaperSpec
from dpverify.ledger.vocabulary import ASSUMPTIONS
from tests.for_each import for_each

NUMBERED = [
    *(
        "theorem-4",
        "lemma-5",
        "theorem-6",
        "lemma-7",
        "theorem-8",
        "theorem-9",
        "theorem-10",
        "lemma-11",
        "lemma-12",
    ),
    *(
        "proposition-13",
        "proposition-14",
        "corollary-15",
        "proposition-16",
        "lemma-17",
        "proposition-18",
    ),
]
FURTHER_CONCLUSIONS = [
    *(
        "theorem-4-dp",
        "theorem-6-rate",
        "theorem-8-dp",
        "theorem-9-rate",
        "theorem-10-rdp-to-dp",
        "theorem-10-order",
    ),
    *(
        "theorem-10-dp-intermediate",
        "theorem-10-dp",
        "proposition-14-special",
        "proposition-18-prefix",
    ),
    "proposition-18-cover",
]
EQUATIONS = [
    "equation-1",
    "equation-2",
    "equation-3",
    "lemma-12-var",
    "equation-7",
    "equation-8",
    "equation-9",
]
BOXES = [f"algorithm-{number}-" for number in range(1, 6)]
VARIANCES = [f"lemma-7-var-{number}" for number in range(1, 6)]


@cache
def paper() -> PaperSpec:
    return load_specs().papers["tran2022"]


def claims() -> list[ClaimSpec]:
    return list(paper().claims.values())


def claim(name: str) -> ClaimSpec:
    return paper().claims[name]


@for_each("name", [*NUMBERED, *FURTHER_CONCLUSIONS, *EQUATIONS, *VARIANCES])
def test_every_numbered_statement_has_a_record(name: str) -> None:
    assert name in paper().claims


@for_each("box", BOXES)
def test_every_algorithm_box_has_records(box: str) -> None:
    assert sum(c.record.id.startswith(box) for c in claims()) >= 2


def test_where_names_the_number_in_the_id() -> None:
    pattern = re.compile(
        r"(theorem|lemma|proposition|corollary|algorithm|equation)-([0-9]+)"
    )
    for c in claims():
        match = pattern.match(c.record.id)
        if match and c.record.id in NUMBERED + EQUATIONS:
            assert re.search(
                rf"{match[1]} {match[2]}\b", c.record.where, re.IGNORECASE
            ), c.record.id


def test_every_record_is_complete() -> None:
    for c in claims():
        record = c.record
        assert record.where.strip(), record.id
        assert len(record.quote.strip()) >= 10, record.id
        assert record.source in paper().info.texts or record.source == "both", record.id
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", record.id), record.id
        for reading in c.readings():
            statement = c.statement(reading)
            assert (statement.rhs is None) != (statement.words is None), record.id


def test_every_formula_can_be_typeset() -> None:
    for c in claims():
        statement = c.statement()
        if statement.rhs is not None:
            assert statement.latex(), c.record.id
            assert "\\mathrm{T}" not in statement.latex(), c.record.id


def test_a_reading_is_the_same_wherever_it_occurs() -> None:
    known: dict[str, tuple[list[str], str]] = {}
    for c in claims():
        for reading in c.record.reading:
            said = (reading.choices, reading.meaning)
            assert known.setdefault(reading.name, said) == said, (
                c.record.id,
                reading.name,
            )
    assert {name: choices[0] for name, (choices, _) in known.items()} == {
        "ordering": "fresh",
        "depth": "levels",
        "epochs": "one-based",
        "evaluation": "one-pass",
        "previous": "rrsgd",
    }


def test_an_ordering_is_read_or_assumed_but_not_both() -> None:
    orderings = {"fresh-permutation", "one-permutation", "any-ordering"}
    for c in claims():
        if any(reading.name == "ordering" for reading in c.record.reading):
            assert not orderings & set(c.record.assumes), c.record.id


def test_where_v_is_defined_by_the_depth_the_depth_is_a_reading() -> None:
    for c in claims():
        if "depth" in c.statement().domains:
            assert any(reading.name == "depth" for reading in c.record.reading), (
                c.record.id
            )


def test_privacy_claims_bound_what_their_kind_says() -> None:
    for c in claims():
        statement = c.statement()
        if statement.rhs is None:
            continue
        if statement.kind == "dp":
            assert (statement.quantity, statement.relation) == (
                "delta_at_epsilon",
                "<=",
            ), c.record.id
            assert to_text(statement.rhs) == "delta", c.record.id
        if statement.kind == "rdp":
            assert statement.quantity is not None, c.record.id
            assert statement.quantity.startswith("renyi_divergence"), c.record.id
            assert "z" in statement.free, c.record.id


def test_everything_declared_is_used() -> None:
    statements = [c.statement() for c in claims()]
    amended = [
        c.statement(v.reading, "amended")
        for c in claims()
        for v in c.verdicts
        if v.amendment is not None
    ]
    named = {name for s in (*statements, *amended) for name in s.domains}
    assert set(paper().vocabulary.symbols) == named
    assert set(paper().vocabulary.quantities) == {
        s.quantity for s in statements if s.quantity
    }
    folder = bundled_specs() / "tran2022"
    text = "".join(
        (folder / name).read_text(encoding="utf-8")
        for name in ("claims.toml", "definitions.toml")
    )
    for function in paper().vocabulary.functions:
        assert len(re.findall(rf"\b{function}\(", text)) >= 2, function


def test_the_order_is_that_of_the_paper() -> None:
    names = list(paper().claims)
    order = [
        "abstract-rate",
        "section-2-ancestors",
        "algorithm-1-v",
        "theorem-4",
        "lemma-5",
        "theorem-6",
    ]
    order += [
        "algorithm-2-v-le-2n",
        "equation-1",
        "lemma-7",
        "theorem-8",
        "theorem-9",
        "section-5-run-time",
    ]
    order += [
        "algorithm-3-k",
        "algorithm-4-loop",
        "algorithm-5-index",
        "theorem-10",
        "lemma-11",
        "lemma-12",
    ]
    order += [
        "theorem-8-sensitivity-g",
        "equation-7",
        "lemma-5-cases",
        "proposition-13",
        "proposition-14",
    ]
    order += [
        "corollary-15",
        "proposition-16",
        "lemma-17",
        "proposition-18",
        "proposition-18-cover",
    ]
    places = [names.index(name) for name in order]
    assert places == sorted(places)


@for_each(
    ("name", "lhs", "relation", "printed"),
    [
        (
            "proposition-13",
            "sum((1-alpha)**(N*i), i, 0, oo)",
            "<=",
            "1/(1-exp(-1))*max(1, 1/(alpha*N))",
        ),
        (
            "proposition-16",
            "sum(bit(s, i)*gamma**(2*mod(s, 2**i)), i, 0, top_bit)",
            "<=",
            "1 + sum(gamma**(2**i), i, 1, top_bit)",
        ),
        ("proposition-18", "compose_count", "<=", "2*(1 + floor(log2(b - a + 1)))"),
        ("proposition-18-prefix", "compose_count_prefix", "<=", "1 + log2(b)"),
        ("theorem-10", "renyi_divergence", "<=", "V*z*rho**2/2"),
        (
            "theorem-10-order",
            "V*z*rho**2/2 + log(1/delta)/(z-1)",
            "=",
            "V*rho**2 + rho*sqrt(V*log(1/delta))",
        ),
        ("lemma-12", "expected_noise_norm", "<=", "4*alpha*G*sigma*sqrt(d*V*log2(T))"),
        ("lemma-12-count", "compose_count_prefix", "<=", "log2(T)"),
        ("lemma-12-var", "noise_variance", "<=", "16*alpha**2*G**2*sigma**2*V*log2(T)"),
    ],
)
def test_the_printed_formulas_stay_as_printed(
    name: str, lhs: str, relation: str, printed: str
) -> None:
    record = claim(name).record
    assert (record.lhs or record.quantity, record.relation, record.printed) == (
        lhs,
        relation,
        printed,
    )


def test_misprints_are_kept() -> None:
    assert claim("theorem-4-dp").record.requires[1] == "delta >= exp(-epsilon)"
    assert claim("algorithm-2-delta-delta").record.printed == "2*eta*N"
    assert (
        claim("theorem-9-alpha-proof").record.printed
        == "N**(5/4)*epsilon/(T**(3/4)*sqrt(d))"
    )
    assert (
        claim("lemma-5-smoothness").record.printed
        == "loss + eta*alignment + L*eta**2/2"
    )
    assert "i, 2, q-1" in str(claim("lemma-17-last-line").record.printed)


def test_the_readme_names_every_word_of_the_vocabulary() -> None:
    readme = (Path(bundled_specs()) / "README.md").read_text(encoding="utf-8")
    for tag, assumption in ASSUMPTIONS.items():
        assert f"`{tag}{'(' if assumption.arguments else '`'}" in readme, tag
    for word in (*get_args(Kind), *get_args(Status)):
        assert f"| `{word}` |" in readme, word
    for function in (*BUILTINS, "sum"):
        assert f"`{function}(" in readme, function
    for field in claim("lemma-12").record.__struct_fields__:
        assert f"| `{field}` |" in readme, field
    for reading in ("ordering", "depth", "epochs"):
        assert f"| `{reading}` |" in readme, reading
