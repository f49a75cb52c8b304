"""Records of ``proofs.toml``: found for a statement, hashed with the lemmas that they cite, strict in every field."""

from __future__ import annotations

from dpverify.ledger import load_specs
from dpverify.ledger.check import check_specs
from dpverify.ledger.claims import ClaimSpec
from tests.for_each import for_each
from tests.unit.ledger.conftest import Write

SOUND = """
[let]
"twice(x)" = "2*x"

[[given]]
id = "granted"
words = "A step is short"
says = "0 <= 1"

[[lemma]]
id = "first"
letters = {n = "integer, n >= 0"}
chain = '''
n
<= n + 1 by second
'''

[[lemma]]
id = "second"
letters = {n = "integer, n >= 0"}
chain = '''
n
<= n + 1
<= twice(n) + 1
'''

[[lemma]]
id = "third"
letters = {n = "integer"}
chain = "n"

[[proof]]
of = "CLAIM"
chain = '''
0
<= 1 by first
<= 1 by given granted
'''
"""


def loaded(write: Write, text: str = SOUND) -> ClaimSpec:
    folder = write()
    claim = next(
        claim for claim in load_specs(folder).claims() if claim.record.quantity
    )
    (folder / "toy2024" / "proofs.toml").write_text(
        text.replace("CLAIM", claim.record.id)
    )
    return load_specs(folder).claim(claim.key)


def test_a_statement_finds_its_proof(write: Write) -> None:
    claim = loaded(write)
    statement = claim.statement()
    assert statement.proofs is not None
    found = statement.proofs.find(statement)
    assert found is not None
    assert found.of == claim.record.id
    others = [one for one in statement.siblings.values() if one.key != claim.key]
    assert others
    assert all(one.proofs.find(one.statement()) is None for one in others)


def test_the_digest_covers_the_proof_and_all_lemmas_under_it(write: Write) -> None:
    claim = loaded(write)
    digest = claim.proofs.digest(claim.record.id)
    assert digest
    assert claim.proofs.digest("no-such-claim") == ""
    changes = {
        "<= n + 1\n": "<= n + 2\n",
        "2*x": "3*x",
        "<= 1 by": "<= 2 by",
        "0 <= 1": "0 <= 2",
    }
    for old, new in changes.items():
        changed = loaded(write, SOUND.replace(old, new))
        assert changed.proofs.digest(claim.record.id) != digest, old
    for old, new in {
        'n = "integer"}': 'n = "real"}',
        '"twice(x)"': '"thrice(x)" = "3*x"\n"twice(x)"',
    }.items():
        unused = loaded(write, SOUND.replace(old, new))
        assert unused.proofs.digest(claim.record.id) == digest, new


@for_each(
    ("old", "new", "said"),
    [
        ('of = "CLAIM"', 'of = "lemma-99"', "the paper has no such claim"),
        ('of = "CLAIM"', 'of = "CLAIM"\nproved = true', "unknown field"),
        ('of = "CLAIM"', 'of = "CLAIM"\nvariant = "held"', "no such statement"),
        ("<= 1 by first", "<= 1 by first(", "a reason is a name"),
        (
            "<= 1 by first",
            "<= open('x') by first",
            "strings are not part of the language",
        ),
        ('id = "second"', 'id = "first"', "an id is given once"),
        ('id = "second"', 'id = "Second Lemma"', "an id is words in small letters"),
        ('chain = "n"', "", "this field is required"),
        ('n = "integer"}', 'n = "whole"}', "a domain begins with real or integer"),
        ('"twice(x)"', '"twice(2)"', "an abbreviation is a name"),
        (
            '"twice(x)" = "2*x"',
            '"n" = "2*2"',
            "a letter must not have the name of an abbreviation",
        ),
        ('id = "second"', 'id = "granted"', "an id is given once"),
        ('says = "0 <= 1"', 'says = "0 <= 1 <= 2"', "a premise has two sides"),
        ('words = "A step is short"', 'words = " "', "is said in words"),
    ],
)
def test_what_breaks_a_rule_is_said(
    write: Write, old: str, new: str, said: str
) -> None:
    folder = write()
    proofs = folder / "toy2024" / "proofs.toml"
    proofs.unlink(missing_ok=True)
    claim = next(
        claim for claim in load_specs(folder).claims() if claim.record.quantity
    )
    text = SOUND.replace(old, new, 1).replace("CLAIM", claim.record.id)
    proofs.write_text(text)
    problems = [str(error) for error in check_specs(folder)]
    assert any(said in problem and "proofs.toml" in problem for problem in problems), (
        problems
    )
