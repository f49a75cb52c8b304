"""Pages and figures of the site without what browsers do not show."""

from __future__ import annotations

import pytest

from dpverify.site.shorten import shorten_figure, shorten_page
from tests.for_each import for_each


@for_each(
    ("page", "short"),
    [
        ("<div>\n    <p>a\n  b</p>  \n\n</div>", "<div>\n<p>a\nb</p>\n</div>"),
        ("<pre>  a\n\n    b</pre>\n  <p>", "<pre>  a\n\n    b</pre>\n<p>"),
        ("<script>\n  f();\n</script>", "<script>\n  f();\n</script>"),
        (
            '<code class="docutils literal notranslate"><span class="pre">a</span> <span class="pre">b</span></code>',
            '<code class="literal notranslate">a b</code>',
        ),
        ('<a href="x"><span class="std std-doc">a <b>c</b></span></a>', '<a href="x">a <b>c</b></a>'),
        ('<span class="std std-doc">a<span>b</span></span>', '<span class="std std-doc">a<span>b</span></span>'),
        (
            '<td class="linenos"><pre><span class="normal"> 1</span></pre></td>',
            '<td class="linenos"><pre> 1</pre></td>',
        ),
        ('<p>&lt;span class="pre"&gt;a&lt;/span&gt;</p>', '<p>&lt;span class="pre"&gt;a&lt;/span&gt;</p>'),
    ],
)
def test_a_page_loses_indentation_and_spans_outside_of_code(page: str, short: str) -> None:
    assert shorten_page(page) == short


STYLE = "fill: #1a1a1a; stroke: #000000"
USE = f'<use x="1.23456" y="-0.987654" style="{STYLE}"/>'
HEAD = "<svg><defs><style>*{stroke-linecap: butt}</style></defs>"


def test_a_figure_writes_a_style_once_and_coordinates_with_two_decimals() -> None:
    path = '<path transform="scale(0.015625)" d="M 1.999999 2\nL 3 4"/>'
    figure = f"{HEAD}<metadata>when</metadata>\n   {USE * 4}{path}</svg>"
    rules = f"*{{stroke-linecap: butt}}.s0{{{STYLE}}}"
    uses = '<use x="1.23" y="-0.98" class="s0"/>' * 4
    path = path.replace("1.999999", "1.99")
    assert shorten_figure(figure) == f"<svg><defs><style>{rules}</style></defs>\n{uses}{path}</svg>"


@pytest.mark.parametrize("figure", [HEAD + USE, USE * 9, f'{HEAD}<g class="a">' + USE * 9])
def test_a_style_stays_where_it_is_rare_or_cannot_have_a_name(figure: str) -> None:
    assert shorten_figure(figure).count(f'style="{STYLE}"') == figure.count("<use")


@pytest.mark.parametrize("bad", ["}*{fill: red", "@import x", "a/*", "\\7d"])
def test_what_could_end_a_rule_stays_in_its_element(bad: str) -> None:
    assert bad not in shorten_figure(f"{HEAD}" + f'<use style="{bad}"/>' * 9).partition("</style>")[0]
