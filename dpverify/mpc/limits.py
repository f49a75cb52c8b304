"""Limits on the parties of a secure sum, and the error that ends it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from dpverify.kernels.check import ArgumentError

Noise: TypeAlias = Literal["shares", "bits", "ratio"]
Inside: TypeAlias = Literal["bits", "ratio"]  # noise that is made in the computation

MODULUS: Final = (1 << 61) - 1  # prime
RANGE: Final = 1 << 58  # sums and noise are below it in size
LEAST_PARTIES: Final = 3  # two of two could not be a majority that is honest
MOST_PARTIES: Final = 16  # keys of MPyC's shared randomness grow as binomial(m, t)
LONGEST_TIMEOUT: Final = 60.0
MOST_NUMBERS: Final = 1 << 22  # of one opening
MOST_INSIDE: Final = 1 << 16  # numbers in a message of noise that is made inside: 256 bits of 256 coordinates


class PartyError(ArgumentError):
    """A run that cannot go on: another party died, hung, left, differs or gave up; or this one has a bad value."""

    def __init__(self, message: str) -> None:
        super().__init__("parties", None, "must go on")
        self.args = (" ".join(message.split()),)
