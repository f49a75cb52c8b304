"""Settings of an optimizer. Each field has the paper's symbol, a domain, a default and a line of help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from types import NoneType
from typing import Annotated, Any, Final, Literal, NamedTuple, get_args, get_origin

import msgspec

from dpverify.kernels import check
from dpverify.ledger.records import Record
from dpverify.problems.rows import RowScaling

MOST_STEPS: Final = 1 << 53  # floats represent all integers up to here
DEFAULT_EPOCHS: Final = 10


@dataclass(frozen=True)
class SettingInfo:
    """Metadata of a setting, besides its name, type and default value; for ``Annotated``.

    Parameters
    ----------
    letter : str
        Symbol in the paper, such as ``eta``.
    help : str
        Help text for the command line.
    take : callable, optional
        A check such as those in ``dpverify.kernels.check``: it takes the value as a
        keyword argument and returns it. By default, the choices of a ``Literal`` are
        the domain.
    default : str
        Description of a default that depends on the size of the data.
    is_option : bool
        Whether a user may choose the value; otherwise it follows from other settings.

    Examples
    --------
    >>> from dpverify.kernels import check
    >>> SettingInfo("eta", "Step size.", check.positive, default="1/sqrt(N T)").take(eta=0.5)
    0.5
    """

    letter: str
    help: str
    take: Callable[..., Any] | None = None
    default: str = ""
    is_option: bool = True


def whole(least: int, most: int | None = None) -> Callable[..., int]:
    """Return a check for an integer in a range."""
    return partial(check.whole, least, most)


def fraction(**named: Any) -> float:
    """Return a number above 0 and below 1, such as delta."""
    (name,) = named
    value = check.positive(**named)
    if not value < 1.0:
        raise check.ArgumentError(name, value, "must be above 0 and below 1")
    return value


def momentum(**named: Any) -> float:
    """Return a number in [0, 1), such as the weight of the momentum."""
    (name,) = named
    value = check.proportion(**named)
    if not value < 1.0:
        raise check.ArgumentError(name, value, "must lie in [0, 1)")
    return value


class Settings(Record, frozen=True, kw_only=True):
    """Settings of every run. Subclasses add the settings of an optimizer.

    Examples
    --------
    >>> Settings(steps=10).lam
    0.001
    """

    steps: Annotated[
        int,
        SettingInfo("T", "Number of steps.", whole(1, MOST_STEPS), default="10 epochs"),
    ]
    lam: Annotated[
        float,
        SettingInfo("lam", "Weight of the nonconvex regularizer.", check.not_negative),
    ] = 0.001
    scale: Annotated[
        RowScaling,
        SettingInfo(
            "scale", "Rows: scaled to length 1, clipped at length 1, or unchanged."
        ),
    ] = "unit"
    seed: Annotated[
        int,
        SettingInfo(
            "seed",
            "Seed of the random numbers; the same seed gives the same result.",
            whole(0),
        ),
    ] = 0
    sigma: float = 0.0  # value for optimizers without noise


class NoisySettings(Settings, frozen=True, kw_only=True):
    """Settings of a run with noise.

    Examples
    --------
    >>> NoisySettings(steps=10).sigma
    1.0
    """

    sigma: Annotated[
        float, SettingInfo("sigma", "Noise multiplier.", check.not_negative)
    ] = 1.0


class Option(NamedTuple):
    """A field of the settings, described for a command line or a form."""

    name: str
    type: Any
    setting: SettingInfo
    is_required: bool
    # None if there is no default, or if it depends on the size of the data
    default: object

    def checked(self, value: Any) -> Any:
        """Return the value if it is in the domain, or raise an ArgumentError."""
        if self.setting.take is not None:
            return self.setting.take(**{self.name: value})
        if get_origin(self.type) is Literal and value not in get_args(self.type):
            raise check.ArgumentError(
                self.name, value, f"must be one of {', '.join(get_args(self.type))}"
            )
        return value


@cache
def described(kind: type[Record]) -> dict[str, Option]:
    """Return the fields of a record that have a :class:`SettingInfo`, in order, including those a user may not set.

    Examples
    --------
    >>> described(Settings)["steps"].setting.letter
    'T'
    """
    options_by_name = {}
    for field in msgspec.structs.fields(kind):
        value_type, *marks = (
            get_args(field.type)
            if get_origin(field.type) is Annotated
            else (field.type,)
        )
        setting = next((mark for mark in marks if isinstance(mark, SettingInfo)), None)
        if setting is not None:
            default = None if field.required else field.default
            options_by_name[field.name] = Option(
                field.name, _without_none(value_type), setting, field.required, default
            )
    return options_by_name


def options(kind: type[Record]) -> dict[str, Option]:
    """Return the fields of a class that a user may set.

    Examples
    --------
    >>> [*options(NoisySettings)]
    ['steps', 'lam', 'scale', 'seed', 'sigma']
    """
    return {
        name: option
        for name, option in described(kind).items()
        if option.setting.is_option
    }


def _without_none(value_type: Any) -> Any:
    """Return the type without None if it is an optional type."""
    kinds = [kind for kind in get_args(value_type) if kind is not NoneType]
    return (
        kinds[0] if NoneType in get_args(value_type) and len(kinds) == 1 else value_type
    )
