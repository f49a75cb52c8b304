from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from dpverify.ledger import SpecError, Specs, load_specs
from dpverify.ledger.claims import ClaimSpec
from dpverify.ledger.formula import parse, parse_relation
from dpverify.ledger.records import Claim, Regime
from dpverify.ledger.statements import Variant
from dpverify.ledger.vocabulary import Tag, Vocabulary, parse_domain
from tests.for_each import for_each

Write = Callable[..., Path]


@pytest.fixture
def specs(write: Write) -> Specs:
    return load_specs(write())


def test_a_formula_claim(specs: Specs) -> None:
    claim = specs.claim("toy2024:proposition-1")
    statement = claim.statement()
    assert (claim.paper, claim.key, claim.record.id) == (
        "toy2024",
        "toy2024:proposition-1",
        "proposition-1",
    )
    assert statement.key == claim.key
    assert statement.variant == "printed"
    assert statement.kind == "inequality"
    assert statement.lhs == parse("sum((1 - alpha)**(N*i), i, 0, oo)")
    assert statement.rhs == parse("max(1, 1/(alpha*N))/(1 - exp(-1))")
    assert statement.relation == "<="
    assert (statement.quantity, statement.words, statement.requires, statement.let) == (
        None,
        None,
        (),
        (),
    )
    assert statement.free == ("N", "alpha")
    assert statement.domains == {
        "N": parse_domain("integer, N >= 1"),
        "alpha": parse_domain("real, 0 < alpha <= 1"),
    }
    assert statement.symbols["alpha"].meaning == "momentum weight"
    assert statement.latex() == (
        r"\sum_{i=0}^{\infty} (1 - \alpha)^{N i} \le "
        r"\frac{\max\left(1, \frac{1}{\alpha N}\right)}{1 - \exp(-1)}"
    )


def test_a_claim_on_a_quantity_with_definitions(specs: Specs) -> None:
    statement = specs.claim("toy2024:lemma-2").statement()
    assert statement.quantity == "expected_noise_norm"
    assert statement.lhs is None
    assert statement.requires == (parse_relation("alpha >= 1/N"),)
    assert statement.assumes == (Tag("lipschitz", ("G",)), Tag("fresh-permutation"))
    assert statement.let == (("V", parse("floor(log2(N)) + T/N")), ("W", parse("2*V")))
    assert statement.let_names == ("V", "W")
    assert statement.free == ("G", "N", "T", "alpha")
    assert set(statement.domains) == {"G", "N", "T", "V", "W", "alpha"}
    assert (
        statement.latex()
        == r"\mathbb{E}[\|\hat{m}_t - m_t\|] \le 4 \alpha G \sqrt{W \log_2 T}"
    )


def test_a_claim_in_words(specs: Specs) -> None:
    statement = specs.claim("toy2024:algorithm-1-range").statement()
    assert statement.words == "b runs over 0, ..., R - 1"
    assert (statement.lhs, statement.rhs, statement.relation, statement.free) == (
        None,
        None,
        None,
        (),
    )
    assert statement.latex() == ""


def test_symbols_of_a_domain_belong_to_the_statement(write: Write) -> None:
    specs = load_specs(
        write(
            (
                'statement = "b runs',
                'relation = "="\nlhs = "T"\nprinted = "T"\ntranscription = "b runs',
            )
        )
    )
    statement = specs.claim("toy2024:algorithm-1-range").statement()
    assert statement.free == ("N", "T")
    assert set(statement.symbols) == {"N", "T"}


def test_readings(specs: Specs) -> None:
    assert specs.claim("toy2024:proposition-1").readings() == [{}]
    claim = specs.claim("toy2024:lemma-2")
    assert claim.readings() == [{"ordering": "fresh"}, {"ordering": "once"}]
    assert claim.statement().reading == {"ordering": "fresh"}
    assert claim.statement({"ordering": "once"}).reading == {"ordering": "once"}


def test_the_product_of_readings_has_the_default_first(write: Write) -> None:
    old = ', meaning = "how often a permutation is drawn"}'
    specs = load_specs(
        write((old, f'{old}, {{name = "order", choices = ["a", "b"], meaning = "m"}}'))
    )
    readings = specs.claim("toy2024:lemma-2").readings()
    assert readings[0] == {"ordering": "fresh", "order": "a"}
    assert len(readings) == 4


@for_each(
    ("reading", "rule"),
    [
        ({"order": "x"}, "did you mean 'ordering'"),
        ({"ordering": "x"}, "offers fresh, once"),
    ],
)
def test_a_reading_that_is_not_offered(
    specs: Specs, reading: dict[str, str], rule: str
) -> None:
    claim = specs.claim("toy2024:lemma-2")
    for ask in (claim.statement, claim.verdict):
        with pytest.raises(SpecError, match=rule):
            ask(reading)


def test_the_most_specific_verdict_counts(specs: Specs) -> None:
    claim = specs.claim("toy2024:lemma-2")
    default, once = claim.verdict(), claim.verdict({"ordering": "once"})
    assert default is not None
    assert once is not None
    assert (default.status, once.status) == ("not refuted", "refuted")
    assert claim.verdict({"ordering": "fresh"}) is default


def test_an_amendment_changes_what_it_names_and_nothing_else(specs: Specs) -> None:
    claim = specs.claim("toy2024:lemma-2")
    statement = claim.statement({"ordering": "once"}, "amended")
    assert statement.variant == "amended"
    assert statement.rhs == parse("8*alpha*G*sqrt(V)")
    assert (statement.quantity, statement.relation) == ("expected_noise_norm", "<=")
    assert statement.requires == ()
    assert statement.let == (("V", parse("T")),)
    assert statement.assumes == claim.statement().assumes
    with pytest.raises(SpecError, match="this reading has no amendment"):
        claim.statement({"ordering": "fresh"}, "amended")


def test_an_amendment_may_inherit_and_turn_the_relation(write: Write) -> None:
    edits = (('let = [{symbol = "V", value = "T"}]\nrequires = []', 'relation = "="'),)
    specs = load_specs(write(verdict_edits=edits))
    statement = specs.claim("toy2024:lemma-2").statement(
        {"ordering": "once"}, "amended"
    )
    assert statement.relation == "="
    assert statement.let_names == ("V", "W")
    assert len(statement.requires) == 1


def test_an_amendment_may_take_all_definitions_away(write: Write) -> None:
    edits = (
        ('let = [{symbol = "V", value = "T"}]', "let = []"),
        ("sqrt(V)", "sqrt(T)"),
    )
    statement = (
        load_specs(write(verdict_edits=edits))
        .claim("toy2024:lemma-2")
        .statement({"ordering": "once"}, "amended")
    )
    assert statement.let == ()


def test_each_variant_of_a_claim_has_a_pin_of_its_own(specs: Specs) -> None:
    claim = specs.claim("toy2024:lemma-2")
    verdict = claim.verdict({"ordering": "once"})
    assert verdict is not None
    assert verdict.amendment is not None
    mended = msgspec.structs.replace(verdict.amendment, status="argued")
    held = Regime(requires=["T >= N"], status="proved", why="it is so")
    both = replace(
        claim,
        verdicts=(msgspec.structs.replace(verdict, amendment=mended, holds=held),),
    )
    pins = {
        variant: both.pinned({"ordering": "once"}, variant)
        for variant in get_args(Variant)
    }
    assert pins == {"printed": "refuted", "amended": "argued", "held": "proved"}
    assert both.pinned({"ordering": "fresh"}, "held") == "untested"


def test_an_amendment_in_words_drops_both_sides(write: Write) -> None:
    edits = (('formula = "8*alpha*G*sqrt(V)"', 'statement = "no bound holds"'),)
    specs = load_specs(write(verdict_edits=edits))
    statement = specs.claim("toy2024:lemma-2").statement(
        {"ordering": "once"}, "amended"
    )
    assert statement.words == "no bound holds"
    assert (statement.rhs, statement.relation) == (None, None)


def test_verdicts_may_name_a_claim_in_full(write: Write) -> None:
    specs = load_specs(
        write(
            verdict_edits=(
                ('claim = "proposition-1"', 'claim = "toy2024:proposition-1"'),
            )
        )
    )
    verdict = specs.claim("toy2024:proposition-1").verdict()
    assert verdict is not None
    assert verdict.status == "proved"


def test_the_hash_is_that_of_the_record_without_its_transcription(
    specs: Specs, write: Write
) -> None:
    claim = specs.claim("toy2024:lemma-2")
    fields = json.loads(msgspec.json.encode(claim.record))
    del (
        fields["transcription"],
        fields["quotes"],
        fields["hides"],
        fields["witnesses"],
        fields["divisors"],
    )
    fields["domains"] = {
        name: symbol.domain for name, symbol in claim.statement().symbols.items()
    }
    canonical = json.dumps(
        fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False
    ).encode()
    assert claim.record_hash == hashlib.sha256(canonical).hexdigest()[:16]

    same = load_specs(write(('"as printed"', '"read otherwise"'))).claim(claim.key)
    assert same.record_hash == claim.record_hash
    other = load_specs(write(("4*alpha*G", "5*alpha*G"))).claim(claim.key)
    assert other.record_hash != claim.record_hash


@for_each(
    ("edit", "changed"),
    [
        (
            ('domain = "real, 0 < alpha <= 1"', 'domain = "real, 0 < alpha < 1"'),
            {"proposition-1", "lemma-2"},
        ),
        (
            ('domain = "integer, N >= 1"', 'domain = "integer, N >= 2"'),
            {"proposition-1", "lemma-2"},
        ),
        (('domain = "real"', 'domain = "real, W > 0"'), {"lemma-2"}),
    ],
)
def test_the_hash_changes_with_the_domains_of_the_symbols_that_the_record_uses(
    specs: Specs, write: Write, edit: tuple[str, str], changed: set[str]
) -> None:
    edited = load_specs(write(edit))
    before, after = (
        {c.record.id: c.record_hash for c in each.claims()} for each in (specs, edited)
    )
    assert {claim for claim in before if before[claim] != after[claim]} == changed


def test_the_text_of_an_amendment_has_the_domains_of_its_own_symbols_and_of_those_that_they_mention(
    specs: Specs,
) -> None:
    claim = specs.claim("toy2024:lemma-2")
    verdict = claim.verdict({"ordering": "once"})
    assert verdict is not None
    assert verdict.amendment is not None
    domains = json.loads(claim.text(verdict.amendment))["domains"]
    assert domains == {
        name: specs.papers["toy2024"].vocabulary.symbols[name].domain
        for name in ("alpha", "G", "V", "T", "N")
    }


def test_what_a_constant_may_depend_on_belongs_to_the_record(specs: Specs) -> None:
    claim = specs.claim("toy2024:lemma-2")
    hidden = replace(claim, record=msgspec.structs.replace(claim.record, hides=["G"]))
    assert hidden.record_hash != claim.record_hash


def test_what_a_reference_may_mean_is_hashed_with_all_that_we_say_of_it(
    specs: Specs,
) -> None:
    claim = specs.claim("toy2024:lemma-2")
    held, other = (
        Regime(requires=[text], status="proved", why="it is so")
        for text in ("T >= N", "T >= 2*N")
    )
    verdict = claim.verdict({"ordering": "fresh"})
    assert verdict is not None
    hashes = {
        replace(
            claim, verdicts=(msgspec.structs.replace(verdict, holds=holds),)
        ).corrected_hash
        for holds in (None, held, other)
    }
    assert len(hashes) == 3


def test_what_a_claim_rests_on_is_found_at_any_depth() -> None:
    plain = Claim(
        id="a", where="w", source="full", quote="q", kind="count", statement="s"
    )
    siblings: dict[str, ClaimSpec] = {}
    for name, uses in (("a", ["b"]), ("b", ["p:c"]), ("c", []), ("d", ["a"])):
        record = msgspec.structs.replace(plain, id=name, uses=uses)
        siblings[name] = ClaimSpec(record, "p", Vocabulary(), siblings=siblings)
    assert {name: sorted(claim.below) for name, claim in siblings.items()} == {
        "a": ["b", "c"], "b": ["c"], "c": [], "d": ["a", "b", "c"]
    }  # fmt: skip


def test_the_hash_never_changes_by_itself() -> None:
    record = Claim(
        id="a-1", where="w", source="full", quote="é", kind="count", statement="s"
    )
    assert ClaimSpec(record, "p", Vocabulary()).record_hash == "9b51b30522a9b7d8"


def test_statements_and_claims_travel_between_processes(specs: Specs) -> None:
    claim = specs.claim("toy2024:lemma-2")
    copy = pickle.loads(pickle.dumps(claim))
    assert copy.statement() == claim.statement()
    assert pickle.loads(pickle.dumps(claim.statement())) == claim.statement()
