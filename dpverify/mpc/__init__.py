"""Multi-party computation with MPyC: only the noisy sum of the parties' vectors is opened (made public).

MPyC is an extra (``pip install -e '.[mpc]'`` in a checkout) and is imported only when a computation starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpverify.lazy import lazy_names

if TYPE_CHECKING:
    from dpverify.mpc.fixed_point import PartyError, Scale, choose_scale, encode
    from dpverify.mpc.session import Session

__all__ = ["PartyError", "Scale", "Session", "choose_scale", "encode"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"fixed_point": "PartyError Scale choose_scale encode", "session": "Session"},
)
