"""Readers of data files: CSV and TSV with the label in the last column, and LIBSVM with ``label index:value ...``."""

from __future__ import annotations

import bz2
import csv
import gzip
import math
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import IO, Final, TypeAlias, cast

import numpy as np

from dpverify.kernels.typing import Vector
from dpverify.problems.errors import DataError
from dpverify.problems.sparse.rows import MOST_COLUMNS, RowBuilder, Rows, csr_rows

# separators by suffix, without a suffix for compression
TABLES = {".csv": ",", ".tsv": "\t"}
MISSING = {"", "?", "na", "n/a", "nan", "null", "none", "."}


def separator(path: Path) -> str | None:
    """Return the separator of a table, according to the file name; None if the file is not a table."""
    packed = path.suffix.lower() in {".gz", ".bz2"}
    return TABLES.get((path.with_suffix("") if packed else path).suffix.lower())


Progress: TypeAlias = Callable[[int, int], None]
"""``progress(done, whole)``: ``done`` of the ``whole`` bytes of a file were read."""

PART: Final = 1 << 18  # least number of bytes of a LIBSVM file that are read at a time
CELLS: Final = 1 << 17  # numbers of a table that are read at a time


def read_csv(
    path: Path, limit: int, *, dense: bool = False, progress: Progress | None = None
) -> tuple[Rows, list[str]]:
    """Return the rows and the texts of the last column of a CSV or TSV file in UTF-8, with or without a header.

    ``dense``: return a dense matrix; otherwise :func:`better_dense` decides. The file is read in one pass.
    """
    values = array("d")
    labels = list[str]()
    width = 0
    texts = dict[str, str]()
    builder = RowBuilder(path, limit)
    size = path.stat().st_size
    try:
        with (
            _opened(path) as (stream, raw),
            TextIOWrapper(stream, encoding="utf-8-sig", newline="") as file,
        ):
            reader = csv.reader(file, delimiter=separator(path) or ",", strict=True)
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                if not width:
                    width = len(cells)
                    if width < 2:
                        raise DataError(
                            path,
                            f"line {reader.line_num}: 1 column, features and a label are needed.",
                        )
                    if _is_header(cells[:-1]):
                        continue
                if len(cells) != width:
                    raise DataError(
                        path,
                        f"line {reader.line_num}: {len(cells)} columns, the first line has {width}.",
                    )
                values.extend(_numbers(path, reader.line_num, cells[:-1]))
                label = cells[-1].strip()
                labels.append(texts.setdefault(label, label))
                if not label:
                    raise DataError(
                        path,
                        f"line {reader.line_num}: the label in the last column is empty.",
                    )
                if len(values) >= CELLS:
                    builder.add(
                        np.frombuffer(values).reshape(-1, width - 1),
                        _share(raw, size, progress),
                    )
                    values = array("d")
    except (csv.Error, UnicodeDecodeError, *UNREADABLE) as error:
        raise DataError(path, f"not a CSV file: {error}") from error
    if not labels:
        raise DataError(path, "no example, at least one line of numbers is needed.")
    if len(values):
        builder.add(np.frombuffer(values).reshape(-1, width - 1), 1.0)
    return builder.build(dense=dense), labels


def _share(raw: IO[bytes], size: int, progress: Progress | None) -> float:
    """Return the fraction of a file that was read, in (0, 1], and report it to ``progress``."""
    done = min(raw.tell(), size)
    if progress is not None:
        progress(done, size)
    return max(done, 1) / max(size, 1)


def _is_header(cells: list[str]) -> bool:
    """Test whether the first line has column names; a line of numbers with missing values is not a header."""
    words = [cell.strip().lower() for cell in cells if not _is_number(cell)]
    return bool(words) and not (len(words) < len(cells) and MISSING.issuperset(words))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(path: Path, line: int, cells: list[str]) -> list[float]:
    """Return the features of one line; raise a DataError that names a cell that is not a finite number."""
    line_text = "".join(cells)
    # float() also reads 1_000, and digits of other scripts
    if line_text.isascii() and "_" not in line_text:
        with suppress(ValueError):
            numbers = list(map(float, cells))
            if all(map(math.isfinite, numbers)):
                return numbers
    numbers = []
    for column, cell in enumerate(cells, start=1):
        if not PLAIN_NUMBER.fullmatch(cell.strip(" \t").encode()) or not math.isfinite(
            float(cell)
        ):
            hint = (
                "leave its line out, or put a number that does not come from the data in its place"
                if cell.strip().lower() in MISSING
                else "give each of its values a column of 0 and 1"
            )
            problem = (
                f"column {column} is {cell[:40]!r}, a feature must be a finite number"
            )
            raise DataError(path, f"line {line}: {problem}; {hint}.")
        numbers.append(float(cell))
    return numbers


def read_libsvm(
    path: Path, limit: int, *, dense: bool = False, progress: Progress | None = None
) -> tuple[Rows, Vector]:
    """Return the rows and labels of a LIBSVM file. Indices begin at 0 if one of them is 0, otherwise at 1."""
    from sklearn.datasets import load_svmlight_file

    builder = RowBuilder(path, limit)
    labels = list[Vector]()
    least = MOST_COLUMNS
    size = path.stat().st_size
    try:
        with _opened(path) as (stream, raw):
            while part := stream.read(max(PART, raw.tell() // 64)):
                part += stream.readline()
                if UNUSUAL.search(part) and (fault := _first_fault(part.splitlines())):
                    raise DataError(path, _first_bad_line(path) or fault)
                x, part_labels = load_svmlight_file(
                    BytesIO(part), dtype=np.float64, zero_based=True
                )
                if not np.isfinite(x.data).all() or not np.isfinite(part_labels).all():
                    rule = "a value is NaN or infinite, every value must be finite."
                    raise DataError(path, _first_bad_line(path) or rule)
                if len(part_labels):
                    least = min(least, int(x.indices.min(initial=MOST_COLUMNS)))
                    builder.first = min(least, 1)
                    labels.append(part_labels)
                    x.resize(len(part_labels), max(x.shape[1], 1))
                    builder.add(csr_rows(x), _share(raw, size, progress))
    except DataError:
        raise
    except (ValueError, OverflowError, IndexError, *UNREADABLE) as error:
        raise DataError(
            path, _first_bad_line(path) or f"not a LIBSVM file: {error}"
        ) from error
    if least == MOST_COLUMNS:
        raise DataError(
            path,
            f"{builder.examples} examples and no feature value, at least one of each is needed.",
        )
    return builder.build(dense=dense), np.concatenate(labels)


PLAIN_NUMBER = re.compile(rb"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
WHOLE_NUMBER = re.compile(rb"-?[0-9]{1,4000}")
NOT_FINITE = (b"nan", b"inf", b"infinity")
# accepted by Python's int and float, but not valid in a LIBSVM file
UNUSUAL = re.compile(rb"_|\+[0-9]+:")
UNREADABLE = EOFError, OSError, zlib.error


@contextmanager
def _opened(path: Path) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
    """Open a file, decompressed by its suffix as scikit-learn does it; yield the stream and the file on disk."""
    with path.open("rb") as raw:
        if path.suffix == ".gz":
            with gzip.open(raw, "rb") as stream:
                yield cast("IO[bytes]", stream), raw
        elif path.suffix == ".bz2":
            with bz2.open(raw, "rb") as stream:
                yield cast("IO[bytes]", stream), raw
        else:
            yield raw, raw


def _first_bad_line(path: Path) -> str:
    """Return a message about the first line that is not valid LIBSVM, or an empty text if every line is valid."""
    try:
        with _opened(path) as (file, _):
            return _first_fault(file)
    except UNREADABLE as error:
        return f"cannot be read: {error}"


def _first_fault(lines: Iterable[bytes]) -> str:
    for number, line in enumerate(lines, start=1):
        for fault in _faults(line.partition(b"#")[0].split()):
            return f"line {number}: {fault}"
    return ""


def _faults(words: list[bytes]) -> Iterator[str]:
    """Yield what is wrong with one line, given as its words without the comment."""
    if not words:
        return
    label = _show(words[0])
    if words[0].lower().lstrip(b"+-") in NOT_FINITE:
        yield f"label {label} must be finite."
    elif not PLAIN_NUMBER.fullmatch(words[0]):
        yield f"label {label} must be a number."
    elif not math.isfinite(float(words[0])):
        yield f"label {label} must be finite."
    last = -1
    for position, word in enumerate(words[1:]):
        index, colon, value = word.partition(b":")
        if position == 0 and index == b"qid":
            continue
        finite = value.lower().lstrip(b"+-") not in NOT_FINITE
        if not WHOLE_NUMBER.fullmatch(index) or (
            finite and not PLAIN_NUMBER.fullmatch(value)
        ):
            yield f"{_show(word)} must have the form index:value" + (
                "." if colon else ", the colon is missing."
            )
            return
        column = int(index)
        number = float(value)
        if column < 0 or column >= 2**31:
            yield f"index of {_show(word)} must lie in [0, 2**31)."
        if column <= last:
            yield f"index of {_show(word)} must be above the one before it, {last}."
        if not math.isfinite(number):
            yield f"value of {_show(word)} must be finite."
        last = column


def _show(word: bytes) -> str:
    """Return a word of the file in quotes, shortened, with unprintable bytes escaped."""
    return repr(word[:40].decode("utf-8", errors="backslashreplace"))
