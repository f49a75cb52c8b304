"""Every rule of a specs folder, each broken once: one line, with file, claim, field, value and rule."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from dpverify.ledger import SpecError, Specs, bundled_specs, check_specs, load_specs
from dpverify.ledger.files import MAX_BYTES
from dpverify.ledger.formula import to_text
from tests.for_each import for_each

Write = Callable[..., Path]


def broken(folder: Path | str) -> SpecError:
    with pytest.raises(SpecError) as caught:
        load_specs(folder)
    assert str(caught.value).isprintable()
    return caught.value


def test_a_sound_folder_loads(write: Write) -> None:
    specs = load_specs(write())
    assert isinstance(specs, Specs)
    assert list(specs.papers) == ["toy2024"]
    assert list(specs.papers["toy2024"].claims) == [
        "proposition-1",
        "lemma-2",
        "algorithm-1-range",
    ]
    assert load_specs(str(specs.directory)).papers.keys() == specs.papers.keys()


def test_an_error_names_file_claim_field_value_and_rule(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(('"alpha >= 1/N"', '"alhpa >= 1/N"'))
    monkeypatch.chdir(folder.parent)
    assert str(broken(folder)) == (
        "specs/toy2024/claims.toml: lemma-2: requires[0]: 'alhpa >= 1/N': unknown symbol 'alhpa'; did you mean 'alpha'?"
    )


CLAIM_FAULTS = {
    # records: unknown, missing, wrong
    "unknown field": (
        ('where = "Lemma 2"', 'wehre = "Lemma 2"'),
        "lemma-2",
        "wehre",
        "did you mean 'where'",
    ),
    "missing field": (
        ('where = "Lemma 2"\n', ""),
        "lemma-2",
        "where",
        "this field is required",
    ),
    "no id": (('id = "lemma-2"\n', ""), "claim[1]", "id", "this field is required"),
    "wrong type": (
        ('where = "Lemma 2"', "where = 2"),
        "lemma-2",
        "where",
        "Expected `str`, got `int`",
    ),
    "a date": (
        ('where = "Lemma 2"', "where = 2024-01-01"),
        "lemma-2",
        "where",
        "Expected `str`, got `date`",
    ),
    "wrong type inside": (
        ('value = "2*V"', "value = 2"),
        "lemma-2",
        "let[0].value",
        "Expected `str`",
    ),
    "unknown field inside": (
        ('value = "2*V"', 'valeu = "2*V"'),
        "lemma-2",
        "let[0].valeu",
        "unknown field",
    ),
    "unknown kind": (
        ('kind = "inequality"', 'kind = "inequalty"'),
        "proposition-1",
        "kind",
        "'inequality'",
    ),
    "unknown relation": (
        ('relation = "<="\nlhs', 'relation = "=<"\nlhs'),
        "proposition-1",
        "relation",
        "one of: <=",
    ),
    "unknown source": (
        ('source = "both"', 'source = "all"'),
        "lemma-2",
        "source",
        "one of: full, main, both",
    ),
    "unknown table": (("[paper]", "[papers]"), "", "papers", "did you mean 'paper'"),
    "an array for a table": (
        ("[functions.G_win]", "[[functions]]"),
        "",
        "functions",
        "Expected `table`, got `array`",
    ),
    "a table for an array": (
        ("requires = [", "requires.a = ["),
        "lemma-2",
        "requires",
        "Expected `array`",
    ),
    "bad symbol": (
        ('meaning = "steps"', "meaning = 1"),
        "",
        "symbols.T.meaning",
        "Expected `str`",
    ),
    "unknown in symbol": (
        ('api = "steps"', 'apl = "steps"'),
        "",
        "symbols.T.apl",
        "did you mean 'api'",
    ),
    # names
    "key is not the folder": (
        ('key = "toy2024"', 'key = "toy"'),
        "",
        "paper.key",
        "name of the folder, 'toy2024'",
    ),
    "bad key": (('key = "toy2024"', 'key = "../toy"'), "", "paper.key", "small letter"),
    "bad id": (
        ('id = "lemma-2"', 'id = "Lemma 2"'),
        "Lemma 2",
        "id",
        "kind-number-slug",
    ),
    "id twice": (
        ('id = "lemma-2"', 'id = "proposition-1"'),
        "proposition-1",
        "id",
        "this one twice",
    ),
    "symbol is a function": (
        ("[symbols.W]", "[symbols.log]"),
        "",
        "symbols.log",
        "belongs to the formula language",
    ),
    "symbol is a keyword": (
        ("[symbols.W]", "[symbols.lambda]"),
        "",
        "symbols.lambda",
        "choose another",
    ),
    "symbol is no name": (
        ("[symbols.W]", '[symbols."a b"]'),
        "",
        "symbols.a b",
        "a name is a letter",
    ),
    "symbol and function": (
        ("[functions.G_win]", "[functions.G]"),
        "",
        "functions.G",
        "not both",
    ),
    "arity": (("arity = 2", "arity = 0"), "", "functions.G_win.arity", "from 1 to 20"),
    "places": (("arity = 2", "arity = 3"), "", "functions.G_win.latex", "#1 to #3"),
    "empty latex": (
        ('latex = "N"', 'latex = " "'),
        "",
        "symbols.N.latex",
        "must not be empty",
    ),
    # domains
    "domain kind": (
        ('"integer, N >= 1"', '"int, N >= 1"'),
        "",
        "symbols.N.domain",
        "begins with real or integer",
    ),
    "domain names": (
        ('"integer, N >= 1"', '"integer, M >= 1"'),
        "",
        "symbols.N.domain",
        "unknown symbol 'M'",
    ),
    "domain of another": (
        ('"integer, N >= 1"', '"integer, T >= 1"'),
        "",
        "symbols.N.domain",
        "does not mention it",
    ),
    # formulas
    "outside the language": (
        ("4*alpha*G*sqrt", "__import__('os')"),
        "lemma-2",
        "printed",
        "begins with a letter",
    ),
    "unknown symbol": (
        ("4*alpha*G*", "4*beta*G*"),
        "lemma-2",
        "printed",
        "unknown symbol 'beta'",
    ),
    "unknown function": (
        ("4*alpha*G*sqrt(", "4*alpha*G*sqr("),
        "lemma-2",
        "printed",
        "did you mean 'sqrt'",
    ),
    "arity of ours": (
        ("log2(T)", "log2(T, 2)"),
        "lemma-2",
        "printed",
        "log2 takes 1 argument(s), got 2",
    ),
    "arity of the paper's": (
        ("*log2(T)", "*G_win(T)"),
        "lemma-2",
        "printed",
        "G_win takes 2 argument(s), got 1",
    ),
    "index is a symbol": (
        ("**(N*i), i,", "**(N*G), G,"),
        "proposition-1",
        "lhs",
        "index 'G' of a sum is a symbol",
    ),
    "condition": (
        ('"alpha >= 1/N"', '"alpha"'),
        "lemma-2",
        "requires[0]",
        "a condition is a comparison",
    ),
    "no divisor": (
        ('(N*i), i, 0, oo)"', '(N*i), i, 0, oo)"\ndivisors = ["alpha"]'),
        "proposition-1",
        "divisors[0]",
        "where it is 0",
    ),
    # shape
    "both": (
        ('requires = ["alpha', 'statement = "so"\nrequires = ["alpha'),
        "lemma-2",
        "printed",
        "exactly one of",
    ),
    "neither": (
        ('statement = "b runs', 'transcription = "b runs'),
        "algorithm-1-range",
        "printed",
        "exactly one of",
    ),
    "no relation": (
        ('relation = "<="\nlhs', "lhs"),
        "proposition-1",
        "relation",
        "a formula needs a relation",
    ),
    "no left side": (
        ('quantity = "expected_noise_norm"\n', ""),
        "lemma-2",
        "lhs",
        "exactly one of lhs and quantity",
    ),
    "two left sides": (
        ('lhs = "', 'quantity = "expected_noise_norm"\nlhs = "'),
        "proposition-1",
        "lhs",
        "exactly one",
    ),
    "words and relation": (
        ('statement = "b', 'relation = "="\nstatement = "b'),
        "algorithm-1-range",
        "relation",
        "no",
    ),
    "words and lhs": (
        ('statement = "b', 'lhs = "T"\nstatement = "b'),
        "algorithm-1-range",
        "lhs",
        "has no lhs",
    ),
    "no words": (
        ('"b runs over 0, ..., R - 1"', '" "'),
        "algorithm-1-range",
        "statement",
        "must not be empty",
    ),
    "unknown quantity": (
        ('y = "expected_noise_norm', 'y = "expected_noise'),
        "lemma-2",
        "quantity",
        "did you mean",
    ),
    # definitions
    "solved twice": (
        ('{symbol = "W"', '{symbol = "V"'),
        "lemma-2",
        "let[1].symbol",
        "this one twice",
    ),
    "unknown let": (
        ('{symbol = "W"', '{symbol = "X"'),
        "lemma-2",
        "let[0].symbol",
        "unknown symbol",
    ),
    "let of itself": (
        ('value = "2*V"', 'value = "W + 1"'),
        "lemma-2",
        "let",
        "circle: W -> W",
    ),
    "let tower": (
        ('value = "2*V"', 'value = "(V**9999)**390"'),
        "lemma-2",
        "let",
        "at most 4000000 bits",
    ),
    "let cycle": (
        ('"floor(log2(N))', '"W*floor(log2(N))'),
        "lemma-2",
        "let",
        "in a circle: V -> W -> V",
    ),
    "let formula": (
        ('value = "2*V"', 'value = "2V"'),
        "lemma-2",
        "let[0].value",
        "an operator is missing",
    ),
    # tags
    "unknown tag": (
        ("fresh-permutation", "fresh-permutations"),
        "lemma-2",
        "assumes[1]",
        "'fresh-permutation'",
    ),
    "tag of a stranger": (
        ("lipschitz(G)", "lipschitz(H)"),
        "lemma-2",
        "assumes[0]",
        "unknown symbol 'H'",
    ),
    # readings
    "one choice": (
        ('["fresh", "once"]', '["fresh"]'),
        "lemma-2",
        "reading[0].choices",
        "two choices or more",
    ),
    "no choice": (
        ('["fresh", "once"]', "[]"),
        "lemma-2",
        "reading[0].choices",
        "two choices or more",
    ),
    "choice twice": (
        ('["fresh", "once"]', '["fresh", "fresh"]'),
        "lemma-2",
        "reading[0].choices",
        "twice",
    ),
    "choice is no word": (
        ('"once"]', '"one perm"]'),
        "lemma-2",
        "reading[0]",
        "are words of",
    ),
    # uses
    "unknown use": (
        ('"toy2024:proposition-1"', '"toy2024:prop-1"'),
        "lemma-2",
        "uses[0]",
        "did you mean",
    ),
    "unknown paper": (
        ('"toy2024:proposition-1"', '"toy:proposition-1"'),
        "lemma-2",
        "uses[0]",
        "no paper here has",
    ),
    "quote of itself": (
        ("uses = [", 'quotes = [{claim = "toy2024:lemma-2", says = "so"}]\nuses = ['),
        "lemma-2",
        "quotes[0].claim",
        "of another paper",
    ),
    "use of itself": (
        ('"toy2024:proposition-1"', '"lemma-2"'),
        "lemma-2",
        "uses",
        "toy2024:lemma-2 -> toy2024:lemma",
    ),
}


@for_each(("edit", "claim", "field", "rule"), CLAIM_FAULTS.values(), ids=CLAIM_FAULTS)
def test_faults_of_claims(
    write: Write, edit: tuple[str, str], claim: str, field: str, rule: str
) -> None:
    error = broken(write(edit))
    assert error.file.endswith("claims.toml")
    assert (error.claim, error.field) == (claim, field)
    assert rule in f"{error.value}: {error.rule}"


AMENDMENT = 'formula = "8*alpha*G*sqrt(V)"'
AMENDED_CONDITIONS = '\nlet = [{symbol = "V", value = "T"}]\nrequires = []'
VERDICT_FAULTS = {
    "unknown claim": (('claim = "proposition-1"', 'claim = "proposition-2"'), "proposition-2", "claim", "did you mean"),
    "claim of another": (('claim = "prop', 'claim = "x:prop'), "x:proposition-1", "claim", "has no such claim"),
    "unknown reading": (("{ordering = ", "{order = "), "lemma-2", "reading", "did you mean 'ordering'"),
    "unknown choice": (('= "once"}', '= "twice"}'), "lemma-2", "reading", "ordering offers fresh, once"),
    "unknown status": (('status = "refuted"', 'status = "false"'), "lemma-2", "status", "one of: proved"),
    "verdict twice": (('reading = {ordering = "once"}\n', ""), "lemma-2", "reading", "two verdicts fit equally well"),
    "report of no error": (
        ('reason = "n', 'reported = "by us"\nreason = "n'), "algorithm-1-range", "reported", "of a refuted claim",
    ),
    "no why": (("why = ", "note = "), "lemma-2", "amendment.note", "unknown field"),
    "amendment formula": ((AMENDMENT, 'formula = "8*alpha*H"'), "lemma-2", "amendment.formula", "unknown symbol 'H'"),
    "amendment outside": ((AMENDMENT, 'formula = "a.b"'), "lemma-2", "amendment.formula", "attributes"),
    "both": ((AMENDMENT, AMENDMENT + '\nstatement = "so"'), "lemma-2", "amendment.formula", "exactly one of"),
    "neither": (
        (AMENDMENT + AMENDED_CONDITIONS, ""), "lemma-2", "amendment.formula", "exactly one of",
    ),
    "requires": (("requires = []", 'requires = ["V"]'), "lemma-2", "amendment.requires[0]", "a condition is"),
    "let": (('value = "T"', 'value = "V"'), "lemma-2", "amendment.let", "circle: V -> V"),
    "words and relation": (
        (AMENDMENT, 'statement = "so"\nrelation = "="'), "lemma-2", "amendment.relation", "has no relation",
    ),
    "unknown table": (("[[verdict]]", "[[verdicts]]"), "", "verdicts", "did you mean 'verdict'"),
}  # fmt: skip


@for_each(
    ("edit", "claim", "field", "rule"), VERDICT_FAULTS.values(), ids=VERDICT_FAULTS
)
def test_faults_of_verdicts(
    write: Write, edit: tuple[str, str], claim: str, field: str, rule: str
) -> None:
    error = broken(write(verdict_edits=(edit,)))
    assert error.file.endswith("verdicts.toml")
    assert (error.claim, error.field) == (claim, field)
    assert rule in f"{error.value}: {error.rule}"


def test_an_amendment_may_change_conditions_alone(write: Write) -> None:
    alone = ((AMENDMENT + AMENDED_CONDITIONS, '\nrequires = ["T >= 3"]'),)
    claim = load_specs(write(verdict_edits=alone)).claim("toy2024:lemma-2")
    printed, amended = (
        claim.statement({"ordering": "once"}, variant)
        for variant in ("printed", "amended")
    )
    assert (amended.lhs, amended.relation, amended.rhs) == (
        printed.lhs,
        printed.relation,
        printed.rhs,
    )
    assert (
        list(map(to_text, amended.requires))
        == ["T >= 3"]
        != list(map(to_text, printed.requires))
    )


def test_an_amendment_with_a_formula_needs_a_left_side(write: Write) -> None:
    amendment = 'reason = "needs the kernel"\n[verdict.amendment]\nformula = "T"\nrelation = "="\nwhy = "so"'
    error = broken(write(verdict_edits=(('reason = "needs the kernel"', amendment),)))
    assert (error.claim, error.field) == ("algorithm-1-range", "lhs")


@for_each("count", [4, 40, 15_000])
def test_too_many_readings(write: Write, count: int) -> None:
    more = "".join(
        f'{{name = "r{i}", choices = ["a", "b", "c"], meaning = "m"}}, '
        for i in range(count)
    )
    error = broken(write(("reading = [", f"reading = [{more}")))
    assert (error.claim, error.field) == ("lemma-2", "reading")
    assert "at most 64 combinations" in error.rule


def test_a_cycle_of_uses_is_named(write: Write) -> None:
    edit = ('printed = "max(', 'uses = ["algorithm-1-range"]\nprinted = "max(')
    error = broken(
        write(edit, ('statement = "b runs', 'uses = ["lemma-2"]\nstatement = "b runs'))
    )
    assert error.field == "uses"
    assert error.rule.endswith(
        "toy2024:algorithm-1-range -> toy2024:lemma-2 -> toy2024:proposition-1 -> toy2024:algorithm-1-range"
    )


def test_claims_may_use_claims_of_other_papers(write: Write) -> None:
    write()
    other = write(
        ('key = "toy2024"', 'key = "other"'),
        ('"toy2024:proposition-1"', '"toy2024:lemma-2"'),
        key="other",
    )
    specs = load_specs(other)
    assert specs.claim("other:lemma-2").uses == ("toy2024:lemma-2",)
    assert specs.uses()["toy2024:lemma-2"] == ("toy2024:proposition-1",)


def test_verdicts_are_optional(write: Write) -> None:
    folder = write()
    (folder / "toy2024" / "verdicts.toml").unlink()
    assert load_specs(folder).claim("toy2024:lemma-2").verdict() is None


def test_missing_claims(write: Write) -> None:
    folder = write()
    (folder / "toy2024" / "claims.toml").unlink()
    assert broken(folder).rule == "the file is missing"


@for_each("name", ["claims.toml", "verdicts.toml"])
@for_each(
    ("text", "rule"),
    [
        (b"[paper", "malformed TOML"),
        (b"a = 1\na = 2", "malformed TOML"),
        (b"a = " + b"9" * 5000, "malformed TOML"),
        (b'a = "\xff"', "not UTF-8"),
        (b"\x00", "malformed TOML"),
        (b"a = " + b"[" * 50_000, "nested too deeply"),
        (b"#" * (MAX_BYTES + 1), "at most 2000000 bytes"),
    ],
    ids=["unfinished", "twice", "huge number", "latin", "nul", "nested", "huge"],
)
def test_damaged_text(write: Write, name: str, text: bytes, rule: str) -> None:
    folder = write()
    (folder / "toy2024" / name).write_bytes(text)
    error = broken(folder)
    assert error.file.endswith(name)
    assert rule in error.rule


def test_malformed_toml_says_where(write: Write) -> None:
    assert "line 2" in broken(write(('key = "toy2024"', 'key = "toy'))).rule


@for_each("name", ["claims.toml", "verdicts.toml"])
@for_each("kind", ["folder", "link", "broken link", "pipe", "socket"])
def test_only_regular_files_are_read(
    write: Write, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write()
    path = folder / "toy2024" / name
    path.rename(folder / "kept.toml")
    match kind:
        case "folder":
            path.mkdir()
        case "link":
            path.symlink_to(folder / "kept.toml")
        case "broken link":
            path.symlink_to(path)
        case "pipe":
            os.mkfifo(path)
        case _:
            monkeypatch.chdir(path.parent)  # the name of a socket has to be short
            with socket.socket(socket.AF_UNIX) as server:
                server.bind(name)
    assert "where a regular file must be" in broken(folder).rule
    shutil.rmtree(folder)


def test_an_unreadable_file(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder = write()
    monkeypatch.setattr(Path, "open", deny)
    assert broken(folder).rule == "the file cannot be read: Permission denied"


def test_a_folder_that_may_not_be_looked_into(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    def deny(*_args: object, **_kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    folder = write()
    monkeypatch.setattr(Path, "lstat", deny)
    findings = [finding.text for finding in check_specs(folder)]
    monkeypatch.undo()
    assert len(findings) == 4  # claims, verdicts, definitions, proofs
    assert all(
        "the file cannot be read: Permission denied" in text for text in findings
    )


def test_folders_that_hold_no_paper(write: Write, tmp_path: Path) -> None:
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    (tmp_path / "empty" / "__pycache__").mkdir()
    assert "there is no paper here" in broken(tmp_path / "empty").rule
    assert "give the folder above it" in broken(write() / "toy2024").rule
    assert "No such file" in broken(tmp_path / "nowhere").rule
    assert (
        "Not a directory" in broken(tmp_path / "specs" / "toy2024" / "claims.toml").rule
    )
    assert "null" in broken("a\0b").rule


def test_the_proofs_of_rules_are_no_paper(write: Write) -> None:
    folder = write()
    (folder / "proofs").mkdir()
    assert list(load_specs(folder).papers) == ["toy2024"]


def test_errors_escape_what_a_terminal_would_obey(write: Write) -> None:
    error = broken(write(('where = "Lemma 2"', r'"wh\u001b[2Jere" = "Lemma 2"')))
    assert r"wh\x1b[2Jere" in str(error)


def test_bundled_specs_in_a_wheel_and_in_a_checkout(tmp_path: Path) -> None:
    package = tmp_path / "dpverify"
    with pytest.raises(SpecError, match="no bundled specs"):
        bundled_specs(package)
    (tmp_path / "specs").mkdir()
    assert bundled_specs(package) == tmp_path / "specs"
    (package / "_specs").mkdir(parents=True)
    assert bundled_specs(package) == package / "_specs"


def test_without_a_folder_the_bundled_specs_are_loaded(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dpverify.ledger.load.bundled_specs", write)
    assert list(load_specs().papers) == ["toy2024"]


def test_pi_is_read_as_the_number_in_formulas_conditions_and_domains(
    write: Write,
) -> None:
    specs = load_specs(write(('"alpha >= 1/N"', '"alpha >= pi/N"')))
    statement = specs.claim("toy2024:lemma-2").statement()
    assert to_text(statement.requires[0]) == "alpha >= pi()/N"
    assert "pi" not in statement.free


def test_a_function_of_the_paper_has_no_name_of_the_language(write: Write) -> None:
    extra = """
[functions.gamma]
latex = "g"
arity = 1
meaning = "a function"
"""
    assert "belongs to the formula language" in str(broken(write(extra=extra)))
