"""The sets that are made up where there are no files have the kind of columns that the papers' sets have."""

from __future__ import annotations

import numpy as np

from dpverify.compare.experiments.tables import made_up
from dpverify.papers.wang2019.experiments.printed_results import TABLES


def test_rows_made_up_are_categories_written_out_and_numbers_after_them() -> None:
    wide, narrow = (
        np.asarray(made_up(TABLES[name]).problem.x) for name in ("table-2", "table-3")
    )
    assert set(np.unique(wide)) == {0.0, 1.0}
    assert (wide.sum(axis=1) == 14).all()
    assert (narrow[:, :10].sum(axis=1) == 1).all()
    assert len(np.unique(narrow[:, 10:])) > 1000
