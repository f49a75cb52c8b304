"""One party of a computation that only outputs sums of integer vectors, with noise that no party knows.

Values are shared by Shamir's scheme over the integers modulo p = 2^61 - 1, with threshold t = floor((m - 1)/2). Any t
parties together learn nothing but the opened values. The run ends if any party is missing. The protocol protects
against semi-honest parties only, which follow the protocol.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import socket
import sys
import warnings
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from dpverify.kernels import check
from dpverify.kernels.typing import Indices
from dpverify.mpc.fixed_point import (
    LEAST_PARTIES,
    LONGEST_TIMEOUT,
    MODULUS,
    MOST_NUMBERS,
    MOST_PARTIES,
    RANGE,
    Inside,
    PartyError,
    from_residues,
    to_residues,
)
from dpverify.mpc.noise import binomial_noise, ratio_noise

T = TypeVar("T")


def load_mpyc() -> ModuleType:
    """Import MPyC, and prevent it from reading the command line, logging to stdout and issuing warnings."""
    words = sys.argv
    root = logging.getLogger()
    handlers = root.handlers[:]
    level = root.level
    disabled = root.manager.disable
    sys.argv = sys.argv[:1]
    logging.disable(logging.CRITICAL)
    try:
        # MPyC uses the current event loop, or makes one
        if "mpyc.runtime" not in sys.modules:
            asyncio.set_event_loop(asyncio.new_event_loop())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return importlib.import_module("mpyc.runtime")
    except ImportError:
        raise PartyError(
            "MPyC is not installed: pip install -e '.[mpc]' in a checkout"
        ) from None
    finally:
        sys.argv = words
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.disable(disabled)


class Session:
    """One party's part in a computation; a context manager that tells the other parties if it ends early.

    Parameters
    ----------
    index : int
        Index of this party, from 0.
    peers : sequence of (host, port)
        Addresses of all parties, including this one.
    same, own : mapping
        Settings that must be the same for all parties, and facts about this party;
        values must be valid JSON. The attribute ``told`` has the facts about all
        parties, in their order.
    timeout : float
        Seconds after which a silent party ends the run.
    patience : float
        Seconds within which all parties must have connected.
    listener : socket or None
        A listening socket of this party; None opens a socket at its address.

    Raises
    ------
    ArgumentError, PartyError
        If there are fewer than three parties, a party does not connect, or settings
        differ.
    """

    def __init__(
        self,
        index: int,
        peers: Sequence[tuple[str, int]],
        same: Mapping[str, Any],
        own: Mapping[str, Any],
        *,
        timeout: float = 30.0,
        patience: float = 60.0,
        listener: socket.socket | None = None,
    ) -> None:
        m = check.whole(LEAST_PARTIES, MOST_PARTIES, parties=len(peers))
        check.whole(0, m - 1, index=index)
        if not 0.0 < timeout <= LONGEST_TIMEOUT:
            raise check.ArgumentError(
                "timeout", timeout, "must be above 0 and at most 60 seconds"
            )
        module = load_mpyc()
        from dpverify.mpc.links import Peers

        self.index = index
        self.parties = m
        self.threshold = (m - 1) // 2
        self.mpc = start_runtime(module, index, peers)
        self._watch = Peers(self.mpc, same, own, timeout)
        self._field = self.mpc.SecFld(modulus=MODULUS)
        if listener is None:
            try:
                listener = socket.create_server(peers[index])
            except OSError as error:
                raise PartyError(
                    f"cannot listen at {peers[index][0]}:{peers[index][1]}: {error}"
                ) from None
        try:
            self.told = self._run(
                self._watch.connect(listener, check.positive(patience=patience))
            )
        except PartyError as error:
            self.__exit__(None, error, None)
            raise

    def __enter__(self) -> Session:
        return self

    def __exit__(
        self, kind: object, error: BaseException | None, trace: object
    ) -> None:
        if error is None:
            self._run(self._watch.finish())
        else:
            self._watch.fail(
                str(error)
                if isinstance(error, PartyError)
                else f"party {self.index}: {error}"
            )
            closing = self.mpc._loop.create_task(self._watch.close())
            while not closing.done():  # `close` has a time limit
                with suppress(
                    RuntimeError
                ):  # MPyC stops the loop if one of its tasks fails; the peers must still read the reason
                    self.mpc._loop.run_until_complete(closing)

    def open_sum(self, values: Indices, *, inside: Inside | None = None) -> Indices:
        """Return the sum over the parties of ``values``, shape (d,), with noise made ``inside`` the computation.

        ``inside``: ``bits`` for :mod:`dpverify.privacy.binomial_noise`, ``ratio`` for
        :mod:`dpverify.privacy.ratio_noise`, None for no noise.
        """
        check.whole(0, MOST_NUMBERS, numbers=len(values))
        mine = self._checked(values)
        how = {
            None: "",
            "bits": ", with noise from bits",
            "ratio": ", with noise by the ratio of uniforms",
        }
        self._watch.announce(f"{len(values)} numbers{how[inside]}")
        return np.asarray(
            self._run(self._watch.until(self._opened(mine, inside))), dtype=np.int64
        )

    def _checked(self, values: Indices) -> Indices:
        limit = RANGE // (2 * self.parties)
        if len(values) and int(np.abs(values).max()) > limit:
            raise check.ArgumentError(
                "values", int(np.abs(values).max()), f"must be at most {limit} in size"
            )
        return values

    async def _opened(self, values: Indices, inside: Inside | None) -> list[int]:
        shares = self._field.array(np.array(to_residues(values), dtype=object))
        first, *remaining = self.mpc.input(shares)
        total = sum(remaining, start=first)
        if inside == "bits":
            total = total + binomial_noise(self.mpc, self._field, len(values))
        elif inside == "ratio":
            total = total + await ratio_noise(self.mpc, self._field, len(values))
        opened = await self.mpc.output(total)
        return from_residues(opened.value.tolist())

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            result: T = self.mpc._loop.run_until_complete(work)
        except RuntimeError:  # MPyC stops the loop if it cannot read a message
            failed = self._watch.failed
            raise PartyError(
                failed.result() if failed.done() else "a party sent what cannot be read"
            ) from None
        return result


def start_runtime(
    module: ModuleType, index: int, peers: Sequence[tuple[str, int]]
) -> Any:
    """Return MPyC's runtime for these parties, set up so that it never unpickles a message."""
    import mpyc

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = mpyc._get_arg_parser().parse_args([])
        options.no_log, options.no_prss, options.no_async = True, False, len(peers) == 1
        options.mix32_64bit = True  # send numbers as bytes; by default they are pickled
        options.threshold = (len(peers) - 1) // 2
        runtime = module.Runtime(
            index, [module.Party(i, *peer) for i, peer in enumerate(peers)], options
        )
    for name in (
        "sectypes",
        "asyncoro",
        "mpctools",
        "seclists",
        "secpols",
        "secgroups",
        "random",
        "statistics",
    ):
        sys.modules[f"mpyc.{name}"].runtime = runtime  # type: ignore[attr-defined]  # as MPyC's own set-up does
    return runtime
