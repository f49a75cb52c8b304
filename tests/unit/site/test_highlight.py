"""Source with few colours: what is marked, and that no letter is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest

pytest.importorskip("sphinx")

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.token import Text

from dpverify.site.highlight import COLOURED, PlainPythonLexer

SOURCE = 'class A:\n    """Text."""\n\n    def f(self, x):  # why\n        return f"{x + 1}" + str(self.y)\n'


def test_no_letter_is_lost_and_neighbours_differ() -> None:
    tokens = list(PlainPythonLexer().get_tokens(SOURCE))
    assert "".join(text for _, text in tokens) == SOURCE
    assert all(before[0] is not after[0] for before, after in pairwise(tokens))
    assert {kind for kind, _ in tokens} == {Text, *COLOURED}


def test_names_and_brackets_are_not_marked() -> None:
    made = highlight(SOURCE, PlainPythonLexer(), HtmlFormatter())
    assert '<span class="k">def</span> <span class="nf">f</span>(self, x):' in made
