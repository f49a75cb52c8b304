"""CSV files: features, and the label in the last column."""

from __future__ import annotations

import csv
import math
from array import array
from pathlib import Path

import numpy as np

from dpverify.kernels.typing import Matrix
from dpverify.problems.errors import DataError, check_memory


def read_csv(path: Path, limit: int) -> tuple[Matrix, list[str]]:
    """Read a CSV file in UTF-8 into a dense array and the texts of its last column.

    Blank lines are skipped; a first line whose features are not all numbers is a header.
    """
    values, labels, width = array("d"), list[str](), 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
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
    except (csv.Error, UnicodeDecodeError, OSError) as error:
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
            raise DataError(path, f"line {line}: column {column} is {cell[:40]!r}, a feature must be a finite number.")
        found.append(float(cell))
    return found
