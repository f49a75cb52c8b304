"""The fast draw gives numpy's own numbers, bit for bit, and leaves the source where numpy leaves it."""

import numpy as np
import pytest
from numpy.random import MT19937, Generator

from dpverify.kernels import normal as module
from dpverify.kernels import numba_internals
from dpverify.kernels.check import ArgumentError
from dpverify.kernels.jit import python_of
from dpverify.kernels.tape import generator
from dpverify.kernels.typing import Vector
from tests.for_each import for_each

# about 540 numbers come from the tail of the ziggurat, and 15 000 from its slow path
MANY = 2_000_000


def drawn(seed: int, n: int) -> tuple[Vector, module.Words]:
    words, out = module.take_words(generator(seed)), np.empty(n)
    module.fill_normal_from(words, out)
    return out, words


@for_each("seed", [0, 1, 2**40])
def test_numbers_and_state_are_numpys(seed: int) -> None:
    rng = generator(seed)
    want = rng.standard_normal(MANY)
    got, words = drawn(seed, MANY)
    assert np.array_equal(got.view(np.uint64), want.view(np.uint64))
    assert np.array_equal(words, module.take_words(rng))
    assert (np.abs(want) > numba_internals.TAIL).sum() > 400


def test_pieces_give_the_numbers_of_the_whole() -> None:
    want, end = drawn(4, 1000)
    words, pieces = (
        module.take_words(generator(4)),
        [np.empty(n) for n in (0, 1, 499, 500)],
    )
    for piece in pieces:
        module.fill_normal_from(words, piece)
    assert np.array_equal(np.concatenate(pieces), want)
    assert np.array_equal(words, end)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python bodies call Python bodies: compiled code would hand them plain integers, which do not wrap around."""
    # compiled before its parts are replaced, also
    # where no other test ran in this process
    drawn(0, 1)
    for name in ("next_word", "accept_or_reject", "point_of", "number_after"):
        monkeypatch.setattr(module, name, python_of(getattr(module, name)))


@pytest.mark.usefixtures("plain")
def test_jitted_and_python_agree() -> None:
    n = 30_000  # eight numbers of the tail, 220 of the slow path
    want, end = drawn(5, n)
    words, out = module.take_words(generator(5)), np.empty(n)
    with module.wrapping():
        python_of(module.fill_normal_from)(words, out)
    assert np.array_equal(out, want)
    assert np.array_equal(words, end)
    assert (np.abs(want) > numba_internals.TAIL).any()


def test_the_python_bodies_of_the_parts_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, cases, compiled = (
        generator(6, bits="pcg64"),
        [],
        (module.next_word, module.accept_or_reject),
    )
    for layer in (0, 0, 0, 1, 7, 255) * 20:
        bits = rng.integers(0, 2**64, 5, dtype=np.uint64)
        word = (bits[0] & ~np.uint64(0xFF)) | np.uint64(layer)
        x = float(
            np.int64((word >> np.uint64(9)) & np.uint64((1 << 52) - 1))
            * numba_internals.WIDTHS[layer]
        )
        state = tuple(bits[1:])
        cases.append(
            (word, x, state, compiled[0](*state), compiled[1](word, x, *state))
        )
    monkeypatch.setattr(module, "next_word", python_of(compiled[0]))
    with module.wrapping():
        for word, x, state, after, found in cases:
            assert module.next_word(*state) == after
            assert python_of(compiled[1])(word, x, *state) == found
    assert {found[0] for *_, found in cases} == {True, False}


def one_layer_wider() -> Vector:
    widths = numba_internals.WIDTHS.copy()
    widths[200] *= 1 + 1e-9
    return widths


@pytest.mark.usefixtures("plain")
@for_each(
    ("name", "value"),
    [
        ("WIDTHS", one_layer_wider()),  # moments would need 10^16 numbers to see it
        ("WIDTHS", np.abs(numba_internals.WIDTHS)),
        ("TAIL", numba_internals.TAIL * (1 + 1e-9)),
        ("PER_TAIL", 1 / numba_internals.PER_TAIL),
        ("HEIGHTS", np.roll(numba_internals.HEIGHTS, 1)),
        ("LAYERS", np.full(256, 1 << 52)),
        ("_BY_8", np.uint64(7)),  # another bit for the sign of the tail
    ],
)
def test_faults_of_a_port_are_seen(
    name: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    want = generator(5).standard_normal(30_000)
    monkeypatch.setattr(module, name, value)
    words, out = module.take_words(generator(5)), np.empty_like(want)
    with module.wrapping():
        python_of(module.fill_normal_from)(words, out)
    assert not np.array_equal(out, want)


def test_a_generator_is_read_and_set() -> None:
    rng, other = generator(8), generator(8)
    # half a word is held back
    rng.integers(0, 2, dtype=np.uint32), other.integers(0, 2, dtype=np.uint32)
    words, out = module.take_words(rng), np.empty(100)
    module.fill_normal_from(words, out)
    # a copy
    assert np.array_equal(words != module.take_words(rng), [True, True, True, True])
    module.put_words(rng, words)
    assert np.array_equal(out, other.standard_normal(100))
    assert (
        rng.integers(0, 2**32, 5, dtype=np.uint32).tolist()
        == other.integers(0, 2**32, 5, dtype=np.uint32).tolist()
    )
    words[:] = 0
    assert rng.random() == other.random()  # the words were copied


@for_each("rng", [generator(0, bits="pcg64"), Generator(MT19937(0))])
def test_other_sources_are_refused(rng: Generator) -> None:
    assert not module.has_words(rng)
    with pytest.raises(
        ArgumentError, match="rng must draw its bits from SFC64, got rng="
    ):
        module.take_words(rng)
    with pytest.raises(
        ArgumentError, match="rng must draw its bits from SFC64, got rng="
    ):
        module.put_words(rng, np.zeros(4, dtype=np.uint64))
