"""Data files: CSV and TSV with the label in the last column, and LIBSVM, ``label index:value ...`` on each line."""

from __future__ import annotations

import bz2
import csv
import gzip
import math
from array import array
from collections.abc import Iterator
from contextlib import closing
from io import TextIOWrapper
from pathlib import Path
from typing import IO

import numpy as np

from dpverify.kernels.typing import Matrix, Vector
from dpverify.problems.errors import DataError, check_memory, human_bytes

TABLES = {".csv": ",", ".tsv": "\t"}  # what separates columns, by the suffix before that of a compression
MISSING = {"", "?", "na", "n/a", "nan", "null", "none", "."}


def separator(path: Path) -> str | None:
    """What separates the columns of a table, by its name; None where it is none."""
    packed = path.suffix.lower() in {".gz", ".bz2"}
    return TABLES.get((path.with_suffix("") if packed else path).suffix.lower())


def read_csv(path: Path, limit: int) -> tuple[Matrix, list[str]]:
    """Read a CSV or TSV file in UTF-8, with or without a header: a dense array, and the texts of its last column."""
    values, labels, width = array("d"), list[str](), 0
    try:
        with TextIOWrapper(_open(path), encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=separator(path) or ",", strict=True)
            for cells in reader:
                if not any(cell.strip() for cell in cells):
                    continue
                if not width:
                    width = len(cells)
                    if width < 2:
                        raise DataError(path, f"line {reader.line_num}: 1 column, features and a label are needed.")
                    if not all(map(_is_number, cells[:-1])):
                        continue
                if len(cells) != width:
                    raise DataError(path, f"line {reader.line_num}: {len(cells)} columns, the first line has {width}.")
                values.extend(_numbers(path, reader.line_num, cells[:-1]))
                labels.append(cells[-1].strip())
                if not labels[-1]:
                    raise DataError(path, f"line {reader.line_num}: the label in the last column is empty.")
                if len(labels) % 1000 == 0:
                    check_memory(path, len(labels), width, limit)
    except (csv.Error, UnicodeDecodeError, EOFError, OSError) as error:
        raise DataError(path, f"not a CSV file: {error}") from error
    if not labels:
        raise DataError(path, "no example, at least one line of numbers is needed.")
    check_memory(path, len(labels), width, limit)
    return np.frombuffer(values).reshape(len(labels), width - 1).copy(), labels


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _numbers(path: Path, line: int, cells: list[str]) -> list[float]:
    """Read the features of one line."""
    found = []
    for column, cell in enumerate(cells, start=1):
        if not _is_number(cell) or not math.isfinite(float(cell)):
            hint = (
                "leave its line out, or put a number that does not come from the data in its place"
                if cell.strip().lower() in MISSING
                else "give each of its values a column of 0 and 1"
            )
            said = f"column {column} is {cell[:40]!r}, a feature must be a finite number"
            raise DataError(path, f"line {line}: {said}; {hint}.")
        found.append(float(cell))
    return found


def read_libsvm(path: Path, limit: int) -> tuple[Matrix, Vector]:
    """Read a LIBSVM file into dense arrays of rows and labels."""
    from sklearn.datasets import load_svmlight_file

    if path.stat().st_size > limit:  # a number takes more memory than text
        raise DataError(path, f"the file alone has {human_bytes(path.stat().st_size)}, more than the memory available.")
    try:
        x, labels = load_svmlight_file(str(path), dtype=np.float64)
    except (ValueError, OverflowError, IndexError, EOFError, OSError) as error:
        raise DataError(path, _first_bad_line(path) or f"not a LIBSVM file: {error}") from error
    if min(x.shape) == 0 or x.nnz == 0:
        raise DataError(path, f"{x.shape[0]} examples and no feature value, at least one of each is needed.")
    if not np.isfinite(x.data).all() or not np.isfinite(labels).all():
        raise DataError(path, _first_bad_line(path) or "a value is NaN or infinite, every value must be finite.")
    check_memory(path, x.shape[0], x.shape[1], limit)
    return x.toarray(), labels


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    """Open as scikit-learn does: by the suffix."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".bz2":
        return bz2.open(path, "rb")
    return path.open("rb")


def _first_bad_line(path: Path) -> str:
    """Find the first line that is not LIBSVM and say why; empty where every line looks right."""
    try:
        with closing(_open(path)) as file:
            for number, line in enumerate(file, start=1):
                for fault in _faults(line.partition(b"#")[0].split()):
                    return f"line {number}: {fault}"
    except (OSError, EOFError) as error:
        return f"cannot be read: {error}"
    return ""


def _faults(words: list[bytes]) -> Iterator[str]:
    """Say what is wrong with one line, split at blanks and without its comment."""
    if not words:
        return
    label = _show(words[0])
    try:
        if not math.isfinite(float(words[0])):
            yield f"label {label} must be finite."
    except ValueError:
        yield f"label {label} must be a number."
    last = -1
    for position, word in enumerate(words[1:]):
        index, colon, value = word.partition(b":")
        if position == 0 and index == b"qid":
            continue
        try:
            column, number = int(index), float(value)
        except ValueError:
            yield f"{_show(word)} must have the form index:value" + ("." if colon else ", the colon is missing.")
            return
        if column < 0 or column >= 2**31:
            yield f"index of {_show(word)} must lie in [0, 2**31)."
        if column <= last:
            yield f"index of {_show(word)} must be above the one before it, {last}."
        if not math.isfinite(number):
            yield f"value of {_show(word)} must be finite."
        last = column


def _show(word: bytes) -> str:
    """Quote a word of the file, shortened; unprintable bytes are escaped."""
    return repr(word[:40].decode("utf-8", errors="backslashreplace"))
