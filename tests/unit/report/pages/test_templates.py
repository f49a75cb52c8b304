from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import UndefinedError

import dpverify.report
from dpverify.report.pages.templates import environment, render

FOLDER = Path(dpverify.report.__file__).parent / "templates"


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_every_template_can_be_read_and_its_filters_are_there(name: str) -> None:
    assert name.endswith(".md.j2")
    assert environment().get_template(name).name == name


def test_what_a_template_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'results' is undefined"):
        render("claim", shared=True, figures="figures", shown=())
