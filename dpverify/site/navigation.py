"""A Sphinx extension: the navigation at the side shows the way to a page, and is made once for a folder of pages.

The theme would put the whole tree of all pages on each page, and resolve it anew for each. Here, a branch is open only
on its own pages. A page outside of the tree, such as that of a claim, shares its navigation with those beside it,
which is the tree's first list: the start page, one click away, has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import Any

from sphinx.application import Sphinx

BEFORE_THE_THEME = 400  # priority of a listener; the theme has Sphinx's default, 500


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    navigation = Navigation()
    app.connect("env-check-consistency", lambda _, environment: navigation.read(environment.toctree_includes))
    app.connect("html-page-context", navigation.replace, priority=BEFORE_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Navigation:
    """The pages that the tree has, and what was made of it so far."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self.made: dict[tuple[str, str], str] = {}

    def read(self, includes: Mapping[str, list[str]]) -> None:
        """Note which pages the tree has; a build begins."""
        self.listed = {page for pages in includes.values() for page in pages} | includes.keys()
        self.made.clear()

    def replace(self, app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: object) -> None:
        """Let the theme take the tree of a page's folder, or of the page itself if the tree has it."""
        make: Callable[..., str] | None = context.get("toctree")
        if make is None:
            return
        place = page if page in self.listed else f"{dirname(page)}/"

        def toctree(**options: Any) -> str:
            key = place, repr(sorted(options.items()))
            if key not in self.made:
                tree = make(**{**options, "collapse": True})
                self.made[key] = tree if page in self.listed else first_list(tree)
            return self.made[key]

        context["toctree"] = toctree


def first_list(tree: str) -> str:
    """Return a tree in which nothing is open up to the end of its first list."""
    end = "</ul>"
    head, closing, _ = tree.partition(end)
    return head + closing
