"""Damaged files: whatever stands in them, loading succeeds or raises `SpecError`, and nothing of it is executed."""

from __future__ import annotations

import builtins
import contextlib
import os
import subprocess
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpverify.ledger import SpecError, check_specs, load_specs
from tests.for_each import for_each

Write = Callable[..., Path]

SENTINEL = "executed.by.a.formula"
HOSTILE = [
    f"__import__('os').system('touch {SENTINEL}')",
    f"open('{SENTINEL}', 'w')",
    f"(lambda: exec('open({SENTINEL!r}, 1)'))()",
    f"[c for c in ().__class__.__base__.__subclasses__()][0]('{SENTINEL}')",
    "eval(alpha)",
    "exec(G)",
    "9**9**9**9",
    "2**(2**(2**(2**(2**2))))",
    "(" * 100_000 + "alpha" + ")" * 100_000,
    "(" * 1000,
    "-" * 1900 + "alpha",
    "alpha**" * 250 + "alpha",
    "+".join(["alpha"] * 300),
    "alpha\0",
    "\\u0000",
    "1e400",
    "9" * 5000,
    "0x" + "f" * 5000,
    "1if 2else 3",
    "f'{alpha}'",
    "alpha if True else G",
    "sum(sum(alpha, i, 0, 1), i, 0, 1)",
    "{}",
    "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16"),
    "\u202e<\u0661",
    "\x1b[2J",
    "\r",
]
TOKENS = [
    *(
        "=",
        "[",
        "]",
        "[[",
        "]]",
        "{",
        "}",
        '"',
        "'",
        "'''",
        '"""',
        "\\",
        "#",
        "\n",
        ",",
        ".",
        "\0",
        "\r",
        "\ufeff",
    ),
    *(
        "1",
        "-1",
        "true",
        "nan",
        "inf",
        "2024-01-01",
        "0x10",
        "1_0",
        '"a"',
        "claim",
        "paper",
        "symbols",
        "id",
        "lhs",
    ),
    *(
        "printed",
        "let",
        "uses",
        "reading",
        "choices",
        "relation",
        "alpha",
        "oo",
        "toy2024:",
        "lemma-2",
        "a.b.c",
    ),
]
FORMULAS = [
    "4*alpha*G*sqrt(W*log2(T))",
    "max(1, 1/(alpha*N))/(1 - exp(-1))",
    "alpha >= 1/N",
    "2*V",
    "0 < alpha <= 1",
]


@contextlib.contextmanager
def nothing_may_run() -> Iterator[list[str]]:
    """Replace everything that could run text or a program; the names of what was called are in the list."""
    called: list[str] = []
    doors = (
        (builtins, "eval"),
        (builtins, "exec"),
        (os, "system"),
        (os, "popen"),
        (subprocess, "Popen"),
    )
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("error")
        for owner, name in doors:
            patch.setattr(
                owner, name, lambda *_args, _name=name, **_kwargs: called.append(_name)
            )
        yield called


def load_damaged(folder: Path) -> bool:
    """Load and check a folder; return whether it is sound. Anything but `SpecError` goes through and fails the test."""
    message = ""
    with nothing_may_run() as called:
        findings = check_specs(folder)
        try:
            load_specs(folder)
        except SpecError as error:
            message = str(error)
    assert message.isprintable()
    assert len(message) < 3000
    assert called == []
    assert not (folder / SENTINEL).exists()
    assert not Path(SENTINEL).exists()
    assert all(str(finding).isprintable() for finding in findings)
    assert (message == "") == all(finding.level == "warning" for finding in findings)
    return message == ""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damage")


@pytest.fixture(scope="module")
def texts() -> dict[str, bytes]:
    """The sound files, as bytes."""
    return {
        path.name: path.read_bytes()
        for path in sorted(Path(__file__).with_name("toy2024").glob("*.toml"))
    }


def put(home: Path, texts: dict[str, bytes], name: str, damaged: bytes) -> Path:
    folder = home / "specs" / "toy2024"
    folder.mkdir(parents=True, exist_ok=True)
    for other, text in texts.items():
        (folder / other).write_bytes(damaged if other == name else text)
    return folder.parent


def test_the_sound_files_are_sound(home: Path, texts: dict[str, bytes]) -> None:
    assert load_damaged(put(home, texts, "", b""))


EDITS = st.lists(
    st.tuples(
        st.sampled_from(["insert", "delete", "replace", "copy"]),
        st.floats(0, 1),
        st.integers(0, 40),
        st.binary(min_size=1, max_size=4) | st.sampled_from(TOKENS).map(str.encode),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=250)
@given(name=st.sampled_from(["claims.toml", "verdicts.toml"]), edits=EDITS)
def test_bytes_put_in_cut_out_and_copied(
    home: Path,
    texts: dict[str, bytes],
    name: str,
    edits: list[tuple[str, float, int, bytes]],
) -> None:
    text = texts[name]
    for what, where, length, new in edits:
        start = int(where * len(text))
        end = start if what == "insert" else start + length
        put_in = {"delete": b"", "copy": text[start : start + 20 * length]}.get(
            what, new
        )
        text = text[:start] + put_in + text[end:]
    load_damaged(put(home, texts, name, text))


@settings(max_examples=150)
@given(
    name=st.sampled_from(["claims.toml", "verdicts.toml"]),
    swaps=st.lists(
        st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=3
    ),
    lines=st.booleans(),
)
def test_words_or_lines_swapped(
    home: Path,
    texts: dict[str, bytes],
    name: str,
    swaps: list[tuple[int, int]],
    lines: bool,
) -> None:
    mark = b"\n" if lines else b" "
    words = texts[name].split(mark)
    for one, other in swaps:
        i, j = one % len(words), other % len(words)
        words[i], words[j] = words[j], words[i]
    load_damaged(put(home, texts, name, mark.join(words)))


@settings(max_examples=150)
@given(
    old=st.sampled_from(FORMULAS),
    new=st.sampled_from(HOSTILE) | st.text(max_size=40),
    inside=st.booleans(),
)
@example(old=FORMULAS[0], new=HOSTILE[0], inside=False)
def test_hostile_formulas(
    home: Path, texts: dict[str, bytes], old: str, new: str, inside: bool
) -> None:
    claims = texts["claims.toml"].decode()
    assert old in claims
    quoted = new.replace("\\", "\\\\").replace('"', '\\"')
    quoted = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)
    damaged = claims.replace(old, f"{old} + {quoted}" if inside else quoted)
    load_damaged(put(home, texts, "claims.toml", damaged.encode("utf-8", "replace")))


@for_each("hostile", HOSTILE, ids=range(len(HOSTILE)))
@for_each("old", FORMULAS)
def test_no_hostile_formula_is_accepted(
    home: Path, texts: dict[str, bytes], old: str, hostile: str
) -> None:
    claims = texts["claims.toml"].decode()
    quoted = (
        hostile.replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\0", "\\u0000")
        .replace("\x1b", "\\u001b")
    )
    assert not load_damaged(
        put(home, texts, "claims.toml", claims.replace(old, quoted).encode())
    )


def test_the_watch_would_see_code_run() -> None:
    with nothing_may_run() as called:
        os.system("true")
        eval("1")
    assert called == ["system", "eval"]
