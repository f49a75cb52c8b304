"""Real parties, a process each: what they open, and how a run ends when one of them dies, hangs or differs."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest

from dpverify.kernels.check import ArgumentError
from dpverify.mpc.session import Session
from dpverify.privacy.binomial_noise import DEVIATION
from tests.for_each import for_each
from tests.unit.mpc.plain import twin

pytest.importorskip("mpyc", reason="the extra mpc is not installed")

PARTY = """
import sys, time
import numpy as np
from dpverify.mpc.fixed_point import PartyError
from dpverify.mpc.session import Session
index, ports = int(sys.argv[1]), [int(p) for p in sys.argv[2].split(",")]
time.sleep({late})
try:
    with Session(
        index, [("127.0.0.1", p) for p in ports], {same}, {{"n": index}}, timeout={timeout}, patience={patience}
    ) as session:
        {body}
except PartyError as error:
    print(error, file=sys.stderr)
    raise SystemExit(2)
"""


@contextmanager
def running(
    body: str,
    parties: int = 3,
    same: str = "{}",
    timeout: float = 60.0,
    patience: float = 60.0,
    late: str = "0",
) -> Iterator[list[subprocess.Popen[str]]]:
    """Start parties, each after ``late`` seconds, an expression; none is left. On a busy machine all may be silent."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(parties)]
    ports = ",".join(str(s.getsockname()[1]) for s in held)
    for s in held:
        s.close()
    program = PARTY.format(
        body=body.replace("\n", "\n        "),
        same=same,
        timeout=timeout,
        patience=patience,
        late=late,
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(i), ports],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for i in range(parties)
    ]
    try:
        yield children
    finally:
        for child in children:
            child.kill()
            child.communicate()


def ends(
    children: Sequence[subprocess.Popen[str]], within: float = 300.0
) -> list[tuple[int, str, str]]:
    found = []
    for child in children:
        out, err = child.communicate(timeout=within)
        found.append((child.returncode, out.strip(), err.strip()))
    return found


LOOP = "for k in range(10**6):\n    session.open_sum(np.arange(4))\n    if k == 3: print('on', flush=True)"
BEFORE = "print('on', flush=True)\nif index == 1: time.sleep(100)\nsession.open_sum(np.arange(4))"
AFTER = "session.open_sum(np.arange(4))\nprint('on', flush=True)\nif index == 1: time.sleep(100)"


def test_noise_by_the_ratio_of_uniforms_is_its_twin_on_the_bits_that_were_shared() -> (
    None
):
    """Whatever parties share the bits, the opened number is what the plain sampler makes of them."""
    body = (
        "given, real = [], session.mpc.np_random_bits\n"
        "def kept(field, count):\n    given.append(real(field, count))\n    return given[-1]\n"
        "session.mpc.np_random_bits = kept\n"
        "print(*session.open_sum(np.array([index, 10**15, -(1 << 54)] * 4), inside='ratio'))\n"
        "async def shown():\n    return [(await session.mpc.output(bits)).value.tolist() for bits in given]\n"
        "for bits in session._run(session._watch.until(shown())):\n    print(*bits)"
    )
    with running(body, timeout=30.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {0}, found
    assert len({out for _, out, _ in found}) == 1
    opened, *given = [
        [int(v) for v in line.split()] for line in found[0][1].splitlines()
    ]
    noise = twin([np.array(bits) for bits in given], 12)
    assert opened == [
        v + n for v, n in zip([3, 3 * 10**15, -3 << 54] * 4, noise, strict=True)
    ]


@for_each(("parties", "most"), [(3, 60e3), (5, 120e3)])
def test_noise_by_the_ratio_of_uniforms_sends_few_bytes(
    parties: int, most: float
) -> None:
    """Bytes that a party sends for each of 16 numbers; with more there are fewer, as 8 pairs are drawn to spare."""
    body = (
        "session.open_sum(np.arange(16), inside='ratio')\n"
        "print(sum(link.nbytes_sent for link in session._watch.links) / 16)"
    )
    with running(body, parties=parties, timeout=30.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {0}, found
    assert all(5e3 < float(out) < most for _, out, _ in found), found


def test_openings_keep_no_memory() -> None:
    """Objects that Python holds after two openings, and after two more: of thousands that are made, none is kept."""
    body = (
        "import gc\n"
        "def held():\n"
        "    for _ in range(2): session.open_sum(np.arange(2), inside='ratio')\n"
        "    gc.collect()\n    return len(gc.get_objects())\n"
        "print(-held() + held())"
    )
    with running(body, timeout=30.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {0}, found
    assert all(abs(int(out)) < 100 for _, out, _ in found), found


def test_sums_are_exact_and_noise_from_bits_has_its_law() -> None:
    body = (
        "own = np.array([7 - 3 * index, -(1 << 55), 0])\n"
        "print(session.open_sum(own).tolist(), [t['n'] for t in session.told])\n"
        "print(*session.open_sum(np.zeros(300, dtype=np.int64), inside='bits'))"
    )
    with running(body, timeout=30.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {0}
    assert len({out for _, out, _ in found}) == 1
    first, second = found[0][1].splitlines()
    assert first == f"[12, {-3 << 55}, 0] [0, 1, 2]"
    noise = np.array([int(v) for v in second.split()]) / DEVIATION
    # the sum of 300 squares: chance 1e-6 beyond these, were they Gaussian
    assert 190.0 < float((noise**2).sum()) < 440.0
    assert abs(float(noise.sum())) < 5.0 * np.sqrt(300)


def with_ratio(body: str) -> str:
    """The same openings, with noise by the ratio of uniforms."""
    return body.replace("(np.arange(4))", "(np.arange(4), inside='ratio')")


TOLD = """
import signal
from dpverify.mpc import links
links.BEAT_FRACTION, done = links.BEAT_FRACTION / 30, links.Link.done
links.Link.done = property(lambda link: link.peer_pid != 1 or done.__get__(link), done.__set__)
signal.signal(signal.SIGUSR1, lambda *_: setattr(session._watch, 'timeout', 2.0))
"""
"""Only party 1 can count as silent, and only once this party is told that it was stopped: no load can name another."""

BODIES = [*(BEFORE, LOOP, AFTER), *map(with_ratio, (BEFORE, LOOP, AFTER))]


@for_each(
    "body",
    BODIES,
    ids=[f"{at}{how}" for how in ("", ", ratio") for at in ("first", "middle", "last")],
)
@for_each(
    ("what", "word"),
    [(signal.SIGSTOP, "silent for 2 s"), (signal.SIGKILL, "left, or died")],
)
def test_a_party_that_is_stopped_or_killed_ends_all_others_by_name(
    what: signal.Signals, word: str, body: str
) -> None:
    check_that_party_1_is_named(what, word, body)


def test_a_party_that_is_stopped_is_not_waited_for() -> None:
    check_that_party_1_is_named(signal.SIGSTOP, "silent for 2 s", LOOP, within=120.0)


def check_that_party_1_is_named(
    what: signal.Signals, word: str, body: str, within: float = 300.0
) -> None:
    with running(TOLD + body) as children:
        for child in children:
            assert child.stdout is not None
            assert child.stdout.readline() == "on\n"
        os.kill(children[1].pid, what)
        others = [children[0], children[2]]
        for child in others if what == signal.SIGSTOP else ():
            child.send_signal(signal.SIGUSR1)
        found = ends(others, within)
    assert [(code, out) for code, out, _ in found] == [(2, ""), (2, "")], found
    assert {err for _, _, err in found} == {
        f"party 1 {'was ' if what == signal.SIGSTOP else ''}{word}"
    }


@for_each(("at", "late"), [(0, None), (3, None), (0, 2)])
@for_each("size", [3, 5])
def test_a_party_that_opens_another_shape_ends_all_before_anything_is_opened(
    at: int, size: int, late: int | None
) -> None:
    """``late``: who comes to its first opening when the others have given up, and must still read why."""
    body = (
        f"time.sleep(1.0 * (index == {late}))\n"
        f"for k in range(8):\n    print(session.open_sum(np.arange({size} if (k, index) == ({at}, 1) else 4)).tolist())"
    )
    # nobody is silent: a busy machine must not look so
    with running(body, timeout=20.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {2}
    assert all(
        out.splitlines() == ["[0, 3, 6, 9]"] * len(out.splitlines()[:at])
        for _, out, _ in found
    ), found
    assert all(
        "party 1" in err and f"{size} numbers" in err and "4 numbers" in err
        for _, _, err in found
    ), found


@for_each("at", [0, 1, 3])
def test_so_does_one_whose_noise_is_by_the_ratio_of_uniforms(at: int) -> None:
    """At the first, a middle and the last opening."""
    body = f"for k in range(4):\n    session.open_sum(np.arange(3 if (k, index) == ({at}, 1) else 4), inside='ratio')"
    with running(body, timeout=20.0) as children:
        found = ends(children)
    assert {(code, out) for code, out, _ in found} == {(2, "")}
    words = (
        "party 1",
        "3 numbers, with noise by the ratio of uniforms",
        "4 numbers, with noise by the ratio",
    )
    assert all(word in err for _, _, err in found for word in words), found


def test_a_party_that_gives_up_says_why_to_all() -> None:
    """And all end once all know it, not after LINGER_SECONDS, which is weeks here."""
    body = (
        "from dpverify.mpc import links\nlinks.LINGER_SECONDS = session._watch.timeout = 1e7\n"
        # all have it so
        "session.open_sum(np.arange(4))\nif index == 2: raise PartyError('party 2 has a NaN')\n"
    )
    with running(body + LOOP) as children:
        assert [(code, err) for code, _, err in ends(children, 120.0)] == 3 * [
            (2, "party 2 has a NaN")
        ]


def test_who_does_not_come_is_named_by_all_and_nobody_else_is() -> None:
    """Party 1 never listens: party 0 reaches party 2 all the same, and party 2 has no word against party 0."""
    with running("pass", patience=4.0, late="100 * (index == 1)") as children:
        found = ends([children[0], children[2]])
    assert {(code, out) for code, out, _ in found} == {(2, "")}
    assert all(
        re.fullmatch(r"party 1( \(127.0.0.1:\d+\))? did not come within 4 s", err)
        for _, _, err in found
    ), found


def test_who_waits_for_a_late_party_is_not_silent() -> None:
    """The third of four comes after more than the others' timeout; those who wait for it show that they live."""
    with running(
        "print(session.open_sum(np.arange(2)).tolist())",
        parties=4,
        timeout=8.0,
        late="10 * (index == 2)",
    ) as children:
        assert [(code, out) for code, out, _ in ends(children)] == 4 * [(0, "[0, 4]")]


def test_parties_with_different_settings_say_so() -> None:
    with running(
        "session.open_sum(np.arange(4))", same="{'d': 7 + (index == 1), 'seed': 3}"
    ) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {2}
    errors = [err for _, _, err in found]
    assert set(errors) <= {
        "party 0 has d = 7, and party 1 has 8",
        "party 1 has d = 8, and party 2 has 7",
    }, errors


@for_each(
    ("inside", "clear"),
    [(None, False), ("bits", False), ("ratio", False), (None, True)],
)
def test_no_party_sends_its_own_numbers_in_the_clear(
    inside: str | None, clear: bool
) -> None:
    """In all that it sends; a threshold of 0 is the planted fault, with which they are found, as bytes of residues."""
    body = (
        "from dpverify.mpc.links import Link\n"
        "real, sent = Link.send, bytearray()\n"
        "def kept(link, label, payload):\n    sent.extend(payload)\n    real(link, label, payload)\n"
        "Link.send = kept\n"
        f"if {clear}: session.mpc.threshold = 0\n"
        "own = np.array([(1 << 50) + 987654321 * (index + 1), -(1 << 49) - 123456789 * (index + 1)])\n"
        f"session.open_sum(own, inside={inside!r})\n"
        "forms = [f(int(v)) for v in own for f in (lambda v: (v % ((1 << 61) - 1)).to_bytes(8, 'little'),\n"
        "    lambda v: str(v).encode(), lambda v: np.float64(v).tobytes())]\n"
        "print(sum(sent.count(form) for form in forms), len(sent) > 30)"
    )
    with running(body, timeout=30.0) as children:
        found = ends(children)
    assert {code for code, _, _ in found} == {0}, found
    assert {(out.split()[0] != "0", out.split()[1]) for _, out, _ in found} == {
        (clear, "True")
    }, found


def test_shares_hide_from_any_minority() -> None:
    """A threshold of 0 would open the same sums, and send each party's values to all others."""
    code = (
        "from dpverify.mpc.session import load_mpyc, start_runtime\n"
        "for m in (3, 4, 5, 16):\n"
        "    runtime = start_runtime(load_mpyc(), 0, [('127.0.0.1', 1 + i) for i in range(m)])\n"
        "    print(runtime.threshold, runtime.options.no_prss, runtime.options.mix32_64bit)"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert told.splitlines() == [f"{t} False True" for t in (1, 1, 2, 7)]


@for_each("index", [-1, 3])
def test_an_index_that_no_party_has_is_refused(index: int) -> None:
    with pytest.raises(ArgumentError, match="at least 0 and at most 2, got index="):
        Session(index, [("localhost", 1)] * 3, {}, {})


def test_small_messages_do_not_wait_for_each_other() -> None:
    """Nagle's algorithm, with acknowledgements that are delayed, makes an opening wait for 40 ms."""
    body = (
        "import socket\n"
        "found = [link.transport.get_extra_info('socket') for link in session._watch.links]\n"
        "print([bool(s.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)) for s in found])"
    )
    with running(body, timeout=20.0) as children:
        assert [(code, out.strip()) for code, out, _ in ends(children)] == 3 * [
            (0, "[True, True]")
        ]
