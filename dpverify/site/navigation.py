"""A Sphinx extension that shortens the sidebar navigation and shares it between the pages of a folder.

The theme would put the tree of all pages on each page, and build it again for each page. With this extension, a branch
is open only on its own pages. The pages of a folder that are not in the tree, such as pages of claims, share one
navigation. It is the first list of the tree; the start page, one click away, has all lists.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from posixpath import dirname
from typing import Any

from sphinx.application import Sphinx

LISTENER_PRIORITY = 400  # priority of a listener; the theme has Sphinx's default, 500


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    navigation = Navigation()
    app.connect(
        "env-check-consistency",
        lambda _, environment: navigation.read(environment.toctree_includes),
    )
    app.connect("html-page-context", navigation.replace, priority=LISTENER_PRIORITY)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class Navigation:
    """The pages in the tree, and the navigation that was built so far."""

    def __init__(self) -> None:
        self.listed: set[str] = set()
        self.made: dict[tuple[str, str], str] = {}

    def read(self, includes: Mapping[str, list[str]]) -> None:
        """Store which pages the tree has, at the start of a build."""
        self.listed = {
            page for pages in includes.values() for page in pages
        } | includes.keys()
        self.made.clear()

    def replace(
        self,
        app: Sphinx,
        page: str,
        template: str,
        context: dict[str, Any],
        doctree: object,
    ) -> None:
        """Make the theme use the navigation of the page, or of its folder if the page is not in the tree."""
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
    """Return the HTML of a tree with closed branches up to the end of its first list."""
    end = "</ul>"
    head, closing, _ = tree.partition(end)
    return head + closing
