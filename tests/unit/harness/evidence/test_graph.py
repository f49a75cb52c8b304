"""What the evidence hash of one check covers: each change of what it may depend on, and nothing beside it."""

from __future__ import annotations

import ast

from dpverify.harness.evidence.graph import WHOLE_MODULE, CodeGraph
from dpverify.harness.evidence.hashes import CodeHashes
from dpverify.harness.evidence.imports import SourceText
from dpverify.harness.evidence.source_code import CheckPlace
from dpverify.harness.run.registry import import_checks
from tests.for_each import for_each

CHECKS = """from toy import kernels, tables as t
from toy.bounds import Law, bound
from toy.registry import PaperChecks, Check, checks_of

LIMIT = 3
CHECKS = PaperChecks("toy", __name__)

def measure(x):
    LOCAL = 1
    return kernels.run(x) + LIMIT + t.depth(LOCAL)

def compare(x):
    from toy.late import judge
    return judge(Law(x), bound)

CHECKS.add(
    Check("one", measure),
    Check("two", compare),
    *checks_of("three", lambda x: LOCAL(x)),
    Check("four", t),
)
LOCAL = compare
for claim in ("five", "six"):
    CHECKS.add(Check(claim, measure))
"""
SOURCES = {
    "toy": "",
    "toy.checks": CHECKS,
    "toy.registry": """class PaperChecks:
    def __init__(self, key, module): pass
    def add(self, *checks): pass

class Check: pass

def checks_of(*arguments): return arguments
""",
    "toy.kernels": """import numpy as np
from toy.options import kernel
SCALE = 2

@kernel
def run(x):
    return inner(np.sqrt(x)) * SCALE

@kernel
def inner(x): return x

def unused(x): return x + 1
""",
    "toy.options": "def kernel(function): return function\n\ndef other(function): return function\n",
    "toy.tables": """_TABLE = {}

def depth(x): return _TABLE.get(x, 0)

def enter(key, value):
    _TABLE[key] = value

ENTRY = enter(1, 2)
OTHER = 5
""",
    "toy.bounds": """class Base:
    def holds(self): return allowed(True)

def allowed(x): return x

class Law(Base):
    size = 1
    def value(self): return self.size

def bound(x): return x

def stray(x): return x
""",
    "toy.late": "def judge(law, f): return law.value() <= f(1)\n",
}
LINE = CHECKS[: CHECKS.index("CHECKS.add(")].count("\n") + 1
LOOP = CHECKS[: CHECKS.index("for claim")].count("\n") + 1
PLACES = {
    "one": CheckPlace("toy.checks", LINE, 0, 5),
    "two": CheckPlace("toy.checks", LINE, 1, 5),
    "three": CheckPlace("toy.checks", LINE, 2, 5),
    "three again": CheckPlace("toy.checks", LINE, 3, 5),
    "four": CheckPlace("toy.checks", LINE, 4, 5),
    "five": CheckPlace("toy.checks", LOOP + 1, 0, 1),
}


def hashes(sources: dict[str, str]) -> dict[str, str]:
    def find(module: str) -> SourceText | None:
        return (
            SourceText(sources[module].encode(), module == "toy")
            if module in sources
            else None
        )

    graph = CodeHashes(CodeGraph(find))
    return {name: graph.evidence("record", [place]) for name, place in PLACES.items()}


def changed(
    module: str, old: str, new: str, sources: dict[str, str] | None = None
) -> set[str]:
    """Checks whose hash is another one after a change of one line, which moves no line of the checks."""
    sources = sources or SOURCES
    text = sources[module].replace(old, new, 1)
    assert text != sources[module]
    ast.parse(text)
    before, after = hashes(sources), hashes({**sources, module: text})
    return {name for name in before if before[name] != after[name]}


ALL = set(PLACES)
WITH_MEASURE = {"one", "five"}
WITH_COMPARE = {"two", "three", "three again"}


@for_each(
    ("module", "old", "new", "stale"),
    [
        ("toy.checks", '"one"', '"1"', {"one"}),
        ("toy.checks", '"two"', '"2"', {"two"}),
        ("toy.checks", '"three"', '"3"', {"three", "three again"}),
        ("toy.checks", '"four"', '"4"', {"four"}),
        ("toy.checks", '"six"', '"seven"', {"five"}),
        ("toy.checks", "LIMIT = 3", "LIMIT = 4", WITH_MEASURE),
        ("toy.checks", 'PaperChecks("toy"', 'PaperChecks("toys"', ALL),
        ("toy.checks", "LOCAL = compare", "LOCAL = measure", {"three", "three again"}),
        (
            "toy.registry",
            "def add(self, *checks): pass",
            "def add(self, *checks): return 1",
            ALL,
        ),
        ("toy.kernels", "SCALE = 2", "SCALE = 3", WITH_MEASURE),
        ("toy.kernels", "return inner(", "return 2 * inner(", WITH_MEASURE),
        (
            "toy.kernels",
            "def inner(x): return x",
            "def inner(x): return -x",
            WITH_MEASURE,
        ),
        ("toy.kernels", "return x + 1", "return x + 2", set()),
        ("toy.kernels", "import numpy as np", "import jax.numpy as np", WITH_MEASURE),
        ("toy.kernels", "import kernel", "import other as kernel", WITH_MEASURE),
        (
            "toy.options",
            "def kernel(function): return function",
            "def kernel(function): return 1",
            WITH_MEASURE,
        ),
        (
            "toy.options",
            "def other(function): return function",
            "def other(function): return 1",
            set(),
        ),
        (
            "toy.tables",
            "def depth(x): return",
            "def depth(x): return 1 +",
            {*WITH_MEASURE, "four"},
        ),
        ("toy.tables", "OTHER = 5", "OTHER = 6", {"four"}),
        # it fills a table while the module is imported
        ("toy.tables", "enter(1, 2)", "enter(1, 3)", ALL),
        ("toy.tables", "_TABLE[key] = value", "_TABLE[key] = -value", ALL),
        ("toy.bounds", "size = 1", "size = 2", WITH_COMPARE),
        ("toy.bounds", "return self.size", "return 2 * self.size", WITH_COMPARE),
        ("toy.bounds", "allowed(True)", "allowed(False)", WITH_COMPARE),
        (
            "toy.bounds",
            "def allowed(x): return x",
            "def allowed(x): return 1",
            WITH_COMPARE,
        ),
        (
            "toy.bounds",
            "def bound(x): return x",
            "def bound(x): return 1",
            WITH_COMPARE,
        ),
        ("toy.bounds", "def stray(x): return x", "def stray(x): return 1", set()),
        ("toy.late", "<=", "<", WITH_COMPARE),
    ],
)
def test_a_change_makes_what_depends_on_it_stale_and_nothing_else(
    module: str, old: str, new: str, stale: set[str]
) -> None:
    assert changed(module, old, new) == stale


@for_each(
    ("statement", "is_effect"),
    [
        ("LIST = [1]\n", False),
        ("LIST = [1]\nLIST.append(2)\n", True),
        ("TABLE = {}\nTABLE[1] = 2\n", True),
        ("if 1:\n    LIST = 1\nelse:\n    LIST = 2\n", False),
        ("import os\nif 1:\n    os.environ['A'] = '1'\n", True),
        ("while 1:\n    break\n", True),
        ("from functools import cache\n@cache\ndef f(): return 1\n", False),
        (
            "from numba.extending import overload\n@overload(len)\ndef f(): return 1\n",
            True,
        ),
        (
            "from numba import extending\n@extending.overload(len)\ndef f(): return 1\n",
            True,
        ),
        (
            "from functools import singledispatch\n@singledispatch\ndef f(x): return 1\n",
            False,
        ),
        ("from .options import kernel\n@kernel.register\ndef f(x): return 1\n", True),
        ("def g(x): return x\n@g.register\ndef f(x): return 1\n", True),
        (
            "class A:\n    @property\n    def x(self): return 1\n    @x.setter\n    def x(self, y): pass\n",
            False,
        ),
        ("class A:\n    def __init_subclass__(cls): pass\nclass B(A): pass\n", True),
        (
            "ALL = []\nclass A:\n    def __init__(self): ALL.append(self)\nB = A()\n",
            True,
        ),
        ("ALL = []\nclass A:\n    def __init__(self): self.all = []\nB = A()\n", False),
        ("COUNT = 0\ndef f():\n    global COUNT\n    COUNT += 1\nX = f()\n", True),
        ("import scipy.linalg\n", True),
        ("import scipy.linalg\nX = scipy.linalg\n", False),
        ("from typing import Any\n", False),
    ],
)
def test_what_an_import_executes_beside_binding_names_counts_for_all_who_import_it(
    statement: str, is_effect: bool
) -> None:
    """Here, the module is loaded by one that the checks import."""
    sources = {
        **SOURCES,
        "toy.kernels": SOURCES["toy.kernels"] + "from toy import patches\n",
        "toy.patches": "",
    }
    before, after = hashes(sources), hashes({**sources, "toy.patches": statement})
    assert {name: before[name] != after[name] for name in before} == dict.fromkeys(
        PLACES, is_effect
    )


def test_where_two_definitions_are_exchanged_the_hash_changes() -> None:
    """Also where the same definitions are used, and each of them looks the same."""
    module = "def f():\n    return helper()\n\ndef helper():\n    return {}\n"
    sources = {**SOURCES, "toy.a": module.format(1), "toy.b": module.format(2)}
    both = "from toy.a import f as judge\nfrom toy.b import f as other\n\ndef both(): return judge() - other()\n"
    sources["toy.bounds"] += (
        "\ndef bound(x):\n    from toy import c\n    return c.both()\n"
    )
    sources["toy.c"] = both
    exchanged = (
        both.replace("toy.a", "toy.x")
        .replace("toy.b", "toy.a")
        .replace("toy.x", "toy.b")
    )
    before, after = hashes(sources), hashes({**sources, "toy.c": exchanged})
    assert {name for name in before if before[name] != after[name]} == WITH_COMPARE


def test_definitions_that_call_each_other_count_with_all_that_they_reach() -> None:
    even = (
        "def bound(x): return odd(x)\n\ndef odd(x): return {} and bound(x) and "
        "far(x)\n\ndef far(x): return odd({})\n"
    )
    sources = {
        **SOURCES,
        "toy.bounds": SOURCES["toy.bounds"].replace(
            "def bound(x): return x\n", even.format(1, 1)
        ),
    }
    assert (
        changed("toy.bounds", "return 1 and", "return 2 and", sources) == WITH_COMPARE
    )
    assert changed("toy.bounds", "odd(1)", "odd(2)", sources) == WITH_COMPARE


@for_each(
    "body",
    [
        "globals()['unused'](x)",
        "eval('unused')(x)",
        "__import__('sys').modules[__name__].unused(x)",
        "vars()['unused']",
        "importlib.import_module(x)",
        "open(__file__)",
    ],
)
def test_code_that_may_look_up_any_name_counts_with_its_module(body: str) -> None:
    kernels = SOURCES["toy.kernels"].replace("return x\n", f"return {body}\n", 1)
    sources = {**SOURCES, "toy.kernels": kernels}
    assert (
        changed("toy.kernels", "return x + 1", "return x + 2", sources) == WITH_MEASURE
    )


def test_a_module_that_is_imported_by_a_written_text_counts_whole() -> None:
    kernels = SOURCES["toy.kernels"].replace(
        "return x\n", "return import_module('toy.late').judge(x, x)\n", 1
    )
    sources = {
        **SOURCES,
        "toy.kernels": "from importlib import import_module\n" + kernels,
    }
    assert changed("toy.late", "<=", "<", sources) == {*WITH_MEASURE, *WITH_COMPARE}


@for_each(
    ("old", "new"),
    [
        ("for x in", "for SCALE in"),
        ("lambda x:", "lambda SCALE:"),
        ("def f(x)", "def f(SCALE)"),
        ("global none", "SCALE = 1"),
        ("except E as e", "except E as SCALE"),
        ("case {'a': b}", "case {'a': SCALE}"),
        ("with w as y", "with w as SCALE"),
        ("(z := 1)", "(SCALE := 1)"),
    ],
)
def test_a_local_variable_is_not_that_of_the_module(old: str, new: str) -> None:
    inner = (
        "def inner(x):\n    global none\n    def f(x): return SCALE\n    match x:\n        case {'a': b}: pass\n"
        "    try:\n        with w as y: pass\n    except E as e: pass\n"
        "    return [(z := 1) for x in x if f(x)], lambda x: SCALE, SCALE\n"
    )
    # local everywhere in it
    rest = {"global none", "except E as e", "case {'a': b}", "with w as y", "(z := 1)"}
    kernels = (
        SOURCES["toy.kernels"]
        .replace("def inner(x): return x\n", inner)
        .replace(" * SCALE", "")
    )
    sources = {**SOURCES, "toy.kernels": kernels}
    assert changed("toy.kernels", "SCALE = 2", "SCALE = 3", sources) == WITH_MEASURE
    sources["toy.kernels"] = kernels.replace(old, new, 1)
    is_local = old in rest
    assert changed("toy.kernels", "SCALE = 2", "SCALE = 3", sources) == (
        set() if is_local else WITH_MEASURE
    )


@for_each(
    ("expression", "is_local"),
    [
        ("[SCALE for SCALE in x]", True),
        ("[SCALE for SCALE in x] and SCALE", False),
        ("[1 for SCALE in SCALE]", False),
        ("[1 for y in x for SCALE in SCALE]", True),
        ("{y: SCALE for y in x}", False),
        ("(lambda SCALE: SCALE)(x)", True),
        ("(lambda y=SCALE: y)(x)", False),
    ],
)
def test_a_variable_of_a_comprehension_or_a_lambda_is_local_to_it(
    expression: str, is_local: bool
) -> None:
    inner = f"def inner(x): return {expression}"
    kernels = (
        SOURCES["toy.kernels"]
        .replace("def inner(x): return x", inner)
        .replace(" * SCALE", "")
    )
    stale = changed(
        "toy.kernels", "SCALE = 2", "SCALE = 3", {**SOURCES, "toy.kernels": kernels}
    )
    assert stale == (set() if is_local else WITH_MEASURE)


@for_each("place", [CheckPlace("toy.checks"), CheckPlace("toy.checks", 1, 0, 1)])
def test_where_it_is_not_certain_what_makes_a_check_the_whole_module_counts(
    place: CheckPlace,
) -> None:
    graph = CodeGraph(
        lambda module: (
            SourceText(SOURCES[module].encode(), False) if module in SOURCES else None
        )
    )
    assert graph.made_at(place) == [("toy.checks", WHOLE_MODULE)]


def test_checks_of_papers_are_found_by_the_lines_that_add_them() -> None:
    """The module that registers checks knows its line while it is being imported."""
    graph = CodeGraph()
    entries = import_checks("dpverify.papers.tran2022.noise.checks.lemma_12").entries()
    nodes = [graph.made_at(entry.place) for entry in entries]
    assert all(len(each) == 1 and each[0][1] != WHOLE_MODULE for each in nodes)
    assert len({each[0] for each in nodes}) == len(entries)
