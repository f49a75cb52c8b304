"""The navigation at the side: open on the way to a page only, and made once for the pages beside the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.for_each import for_each

pytest.importorskip("sphinx")

PAGES = {
    "README": "# Start\n\n```{toctree}\n:hidden:\n\nreports/one\nreports/two\n```\n",
    "reports/one": "# One\n\n```{toctree}\n:hidden:\n\none/a\none/b\n```\n",
    "reports/two": "# Two\n\n```{toctree}\n:hidden:\n\ntwo/c\n```\n",
    "reports/one/a": "# A\n",
    "reports/one/b": "# B\n",
    "reports/two/c": "# C\n",
    "claims/x": "---\norphan: true\n---\n\n# X\n",
    "claims/y": "---\norphan: true\n---\n\n# Y\n",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("furo")
    from sphinx.application import Sphinx

    folder = tmp_path_factory.mktemp("navigation")
    for name, text in PAGES.items():
        path = folder / "source" / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    extensions = ["myst_parser", "dpverify.site.navigation"]
    config: dict[str, Any] = {
        "root_doc": "README",
        "extensions": extensions,
        "html_theme": "furo",
    }
    paths = [str(folder / name) for name in ("source", "built", "doctrees")]
    Sphinx(paths[0], None, paths[1], paths[2], "html", config, status=None).build()
    return folder / "built"


def side(site: Path, page: str) -> str:
    text = (site / f"{page}.html").read_text(encoding="utf-8")
    return text.partition('<div class="sidebar-tree">')[2].partition("</div>")[0]


def test_a_branch_is_open_on_its_own_pages_only(site: Path) -> None:
    assert 'href="b.html"' in side(site, "reports/one/a")
    assert "two/c.html" not in side(site, "reports/one/a")
    assert "one/a.html" not in side(site, "reports/two/c")
    assert 'href="two/c.html"' in side(site, "reports/two")


@for_each("page", [page for page in PAGES if page.startswith("reports/")])
def test_a_page_of_the_tree_is_marked_on_itself(site: Path, page: str) -> None:
    marked = side(site, page).partition("current-page")[2]
    assert (
        marked.partition("</a>")[0].rpartition(">")[2]
        == page.rpartition("/")[2].title()
    )


def test_all_branches_can_be_reached_from_each_page(site: Path) -> None:
    for page in PAGES:
        for branch in ("one", "two"):
            assert f">{branch.title()}</a>" in side(site, page)


def test_pages_beside_the_tree_share_one_navigation(site: Path) -> None:
    assert side(site, "claims/x") == side(site, "claims/y")
    assert "current-page" not in side(site, "claims/x")


def test_what_is_outside_of_the_tree_is_made_once_for_a_folder() -> None:
    from dpverify.site.navigation import Navigation

    navigation = Navigation()
    navigation.read({"README": ["a"]})
    made: list[str] = []

    def toctree_of(page: str) -> str:
        def make(**options: object) -> str:
            assert options == {"maxdepth": -1, "collapse": True}
            made.append(page)
            return f"tree of {page}"

        context: dict[str, Any] = {"toctree": make}
        navigation.replace(None, page, "page.html", context, None)
        return str(context["toctree"](maxdepth=-1, collapse=False))

    assert [toctree_of(page) for page in ("c/x", "c/y", "d/z", "a", "README", "top")] == [
        "tree of c/x", "tree of c/x", "tree of d/z", "tree of a", "tree of README", "tree of top",
    ]  # fmt: skip
    assert made == ["c/x", "d/z", "a", "README", "top"]
    navigation.read({})
    assert toctree_of("c/y") == "tree of c/y"


def test_pages_beside_the_tree_show_its_first_list() -> None:
    from dpverify.site.navigation import first_list

    first = '<p class="caption">Findings</p><ul><li>a</li></ul>'
    assert first_list(f"{first}<p>Guides</p><ul><li>b</li></ul>") == first
    assert first_list("") == ""


def test_a_tree_with_other_options_is_another_one() -> None:
    from dpverify.site.navigation import Navigation

    navigation = Navigation()
    trees = []
    for page, depth in (("c/x", 1), ("c/y", -1), ("c/z", 1)):
        context: dict[str, Any] = {
            "toctree": lambda **options: f"depth {options['maxdepth']}"
        }
        navigation.replace(None, page, "page.html", context, None)
        trees.append(context["toctree"](maxdepth=depth))
    assert trees == ["depth 1", "depth -1", "depth 1"]
