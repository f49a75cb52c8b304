"""Parts of blocks as bytes, without pickles: only plain values, arrays, and the types that a check names."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import msgspec

LIST = "list"
TUPLE = "tuple"
ARRAY = "array"
RECORD = "record"


class NotStorableError(ValueError):
    """A part holds something that the check does not name among the types of its parts."""


def packed(part: Any, types: tuple[type, ...]) -> bytes:
    """Write a part; `NotStorableError` where it holds what `unpacked` would not read."""
    try:
        return msgspec.msgpack.encode(_plain(part, types))
    except (TypeError, OverflowError) as error:
        raise NotStorableError(str(error)) from None


def unpacked(data: bytes, types: tuple[type, ...]) -> Any:
    """Read a part again; ``ValueError`` where the bytes are not one."""
    return _part(msgspec.msgpack.decode(data), types)


def _plain(part: Any, types: tuple[type, ...]) -> Any:
    """Plain values as they are; all else as a list that begins with what it is."""
    if part is None or type(part) in (bool, int, float, str):
        return part
    if type(part) in (list, tuple):
        return [LIST if type(part) is list else TUPLE, *(_plain(item, types) for item in part)]
    import numpy as np  # not above: a whole run that is over has no arrays

    if isinstance(part, np.ndarray) and part.dtype.kind in "iufb":
        return [ARRAY, part.dtype.str, part.shape, part.tobytes()]
    if type(part) in types:
        values: Any
        if isinstance(part, msgspec.Struct):
            values = msgspec.to_builtins(part)
        else:
            values = {item.name: _plain(getattr(part, item.name), types) for item in fields(part)}
        return [RECORD, type(part).__name__, values]
    raise NotStorableError(f"a part holds a {type(part).__name__}")


def _part(value: Any, types: tuple[type, ...]) -> Any:
    if not isinstance(value, list):
        return value
    kind, *arguments = value
    if kind == LIST:
        return [_part(item, types) for item in arguments]
    if kind == TUPLE:
        return tuple(_part(item, types) for item in arguments)
    if kind == ARRAY:
        import numpy as np

        dtype, shape, data = arguments
        return np.frombuffer(data, dtype).reshape(shape).copy()
    if kind != RECORD:
        raise ValueError(f"a part must be of a known kind, got {kind!r}.")
    name, values = arguments
    record_type = next((item for item in types if item.__name__ == name), None)
    if record_type is None:
        raise ValueError(f"a part must be of a type that its check names, got {name!r}.")
    if issubclass(record_type, msgspec.Struct):
        return msgspec.convert(values, record_type)
    return record_type(**{key: _part(item, types) for key, item in values.items()})
