"""Parse formulas: scan characters, words and brackets, call Python's parser, and accept only listed kinds of nodes.

Nothing is evaluated. Text that passes the scan is short, has few nested brackets and consists of about twelve kinds of
tokens. So Python's parser cannot overflow, and it never sees a string, an attribute or a keyword.
"""

from __future__ import annotations

import ast
import keyword
import re
from fractions import Fraction
from functools import lru_cache

from dpverify.ledger.errors import FormulaError
from dpverify.ledger.formula.limits import MAX_BITS, bits
from dpverify.ledger.formula.tree import (
    BINDERS,
    BUILTINS,
    RESERVED,
    Bin,
    Call,
    Compare,
    Comparison,
    Formula,
    Inf,
    Integral,
    Name,
    Neg,
    Num,
    Operator,
    Sum,
    free_names,
    walk,
)

MAX_LENGTH = 2000  # characters
# the same text is parsed for each variant and
# reading of a claim, and trees are immutable
CACHED_TREES = 8192
MAX_DEPTH = 40  # of nested brackets, and of the tree

_TOKEN = re.compile(
    r"""(?P<space>[ \t\r\n]+)
      | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
      | (?P<name>[A-Za-z][A-Za-z0-9_]*)
      | (?P<operator>\*\*|<=|>=|==|!=|//|[-+*/<>(),%^=])""",
    re.VERBOSE,
)

_REFUSED_OPERATORS = {
    "^": "a power is written **",
    "=": "equality is written ==",
    "!=": "the comparisons are < <= > >= ==",
    "//": "integer division is written floor(a/b)",
    "%": "a remainder is written mod(a, b)",
}
_REFUSED_CHARACTERS = {
    "'": "strings are not part of the language",
    '"': "strings are not part of the language",
    ".": "attributes are not part of the language",
    "[": "subscripts and lists are not part of the language",
    "{": "sets and tables are not part of the language",
    "_": "a name begins with a letter",
    "\\": "formulas are plain text, not LaTeX",
    "≤": "it is written <=",
    "≥": "it is written >=",
    "∞": "it is written oo",
    "\N{MULTIPLICATION SIGN}": "a product is written *",
    "\N{MIDDLE DOT}": "a product is written *",
    "\N{MINUS SIGN}": "minus is the plain - of the keyboard",
}


def scan(text: str) -> str:
    """Check characters, words and brackets of a formula; return the text with tabs and line ends replaced by blanks."""
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            text,
            f"a formula has at most {MAX_LENGTH} characters, this one has {len(text)}",
        )
    if not text.strip():
        raise FormulaError(text, "a formula must not be empty")
    depth = 0
    position = 0
    previous = ""
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            rule = _REFUSED_CHARACTERS.get(
                text[position], "this character is not part of the language"
            )
            raise FormulaError(
                text, f"column {position + 1}: {text[position]!a}: {rule}"
            )
        kind = str(match.lastgroup)
        token = match.group()
        if kind in ("number", "name"):
            _check_word(text, position, kind, token, previous)
        elif token in _REFUSED_OPERATORS:
            raise FormulaError(
                text, f"column {position + 1}: {token!r}: {_REFUSED_OPERATORS[token]}"
            )
        depth += (token == "(") - (token == ")")
        if depth > MAX_DEPTH:
            raise FormulaError(text, f"brackets nest at most {MAX_DEPTH} deep")
        if depth < 0:
            raise FormulaError(
                text, f"column {position + 1}: this bracket was never opened"
            )
        if kind != "space":
            previous = kind
        position = match.end()
    if depth:
        raise FormulaError(text, "a bracket is not closed")
    return "".join(" " if c in "\t\r\n" else c for c in text)


def _check_word(text: str, position: int, kind: str, token: str, previous: str) -> None:
    """Refuse Python's keywords, and a word or number that follows another one without an operator."""
    if kind == "name" and keyword.iskeyword(token):
        rule = f"{token!r} is a word of Python; choose another name, such as {token.lower()}_"
        raise FormulaError(text, f"column {position + 1}: {rule}")
    if previous in ("number", "name"):
        raise FormulaError(
            text,
            f"column {position + 1}: {token!r}: an operator is missing before it (2*x, not 2x)",
        )


MAX_DIGITS = 40  # of a number written out without an exponent
MAX_EXPONENT = 10**4  # of a number in an exponent

_OPERATORS: dict[type[ast.operator], Operator] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
_BINDERS = {name: kind for kind, name in BINDERS.items()}
_COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
}


@lru_cache(maxsize=CACHED_TREES)
def parse(text: str) -> Formula:
    """Parse a formula to a tree of the same shape. The loader checks whether its names are declared."""
    reader = _Reader(text)
    return reader.checked(reader.formula(reader.python_tree(), 1, frozenset()))


@lru_cache(maxsize=CACHED_TREES)
def parse_relation(text: str) -> Compare:
    """Parse a comparison or a chain of comparisons."""
    reader = _Reader(text)
    node = reader.python_tree()
    if not isinstance(node, ast.Compare):
        raise FormulaError(text, "a condition is a comparison, such as alpha >= 1/N")
    ops = []
    for op in node.ops:
        if type(op) not in _COMPARISONS:
            raise FormulaError(text, "the comparisons are < <= > >= ==")
        ops.append(_COMPARISONS[type(op)])
    operands = (node.left, *node.comparators)
    return Compare(
        tuple(ops),
        tuple(
            reader.checked(reader.formula(operand, 2, frozenset()))
            for operand in operands
        ),
    )


class _Reader:
    """Turns Python's syntax tree into a formula, and refuses everything outside the language."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.source = scan(text).strip()

    def python_tree(self) -> ast.expr:
        """Return Python's tree of a text that has passed the scan."""
        try:
            return ast.parse(self.source, mode="eval").body
        except SyntaxError as error:
            raise FormulaError(
                self.text, f"this is not a formula: {error.msg}"
            ) from None
        except (RecursionError, MemoryError):
            raise FormulaError(
                self.text, f"a formula is at most {MAX_DEPTH} deep"
            ) from None

    def checked(self, tree: Formula) -> Formula:
        """Refuse a formula whose exact value could exhaust memory; return any other formula."""
        if bits(tree) > MAX_BITS:
            raise FormulaError(
                self.text, f"the exact value of a formula has at most {MAX_BITS} bits"
            )
        return tree

    def error(self, node: ast.expr, rule: str) -> FormulaError:
        """Make an error that quotes the text of `node`."""
        piece = self.source[node.col_offset : node.end_col_offset]
        return FormulaError(self.text, f"{piece[:40]!r}: {rule}")

    def formula(self, node: ast.expr, depth: int, bound: frozenset[str]) -> Formula:
        """Convert one node; `depth` is 1 at the root, and `bound` has the indices in scope."""
        if depth > MAX_DEPTH:
            raise FormulaError(self.text, f"a formula is at most {MAX_DEPTH} deep")
        match node:
            case ast.Constant():
                return self.number(node)
            case ast.Name(id="oo"):
                return Inf()
            case ast.Name(id=name):
                if name in RESERVED:
                    raise self.error(
                        node, f"{name} is a function and needs its arguments"
                    )
                return Name(name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return Neg(self.formula(operand, depth + 1, bound))
            case ast.UnaryOp(op=ast.UAdd()):
                raise self.error(node, "a plus sign stands between two operands")
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
                symbol = _OPERATORS[type(op)]
                tree = Bin(
                    symbol,
                    self.formula(left, depth + 1, bound),
                    self.formula(right, depth + 1, bound),
                )
                if symbol == "**":
                    self.check_exponent(right, tree.right)
                elif symbol == "/" and _constant(tree.right) == 0:
                    raise self.error(node, "a formula must not divide by 0")
                return tree
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self.call(node, name, args, depth, bound)
            case ast.Compare():
                raise self.error(
                    node, "a comparison stands alone, in conditions and domains only"
                )
            case _:
                raise self.error(
                    node,
                    "numbers, names, + - * / **, unary minus and calls are all there is",
                )

    def number(self, node: ast.Constant) -> Num:
        """Read a number from the text, because Python's tree has a rounded float."""
        literal = self.source[node.col_offset : node.end_col_offset]
        mantissa, _, exponent = literal.lower().partition("e")
        integer_digits, _, decimals = mantissa.partition(".")
        if len(exponent) > 4 or len(integer_digits) + len(decimals) > MAX_DIGITS:
            raise self.error(node, f"a number has at most {MAX_DIGITS} digits")
        shift = int(exponent or "0")
        digits = max(len(integer_digits) + shift, 1) + max(len(decimals) - shift, 0)
        if digits > MAX_DIGITS:
            raise self.error(
                node, f"a number has at most {MAX_DIGITS} digits, written out"
            )
        return Num(
            int(integer_digits + decimals or "0")
            * Fraction(10) ** (shift - len(decimals))
        )

    def call(
        self,
        node: ast.Call,
        name: str,
        args: list[ast.expr],
        depth: int,
        bound: frozenset[str],
    ) -> Formula:
        """Convert a call of a binder such as ``sum``, of a built-in function, or of a function of the paper."""
        if name == "oo":
            raise self.error(node, "oo is a number, not a function")
        if any(isinstance(arg, ast.Starred) for arg in args):
            raise self.error(node, "arguments are formulas, one by one")
        if name in _BINDERS:
            return self.binder(node, name, args, depth, bound)
        fewest, largest = BUILTINS.get(name, (1, 20))
        if not fewest <= len(args) <= largest:
            expected = str(fewest) if fewest == largest else f"{fewest} to {largest}"
            raise self.error(
                node, f"{name} takes {expected} argument(s), got {len(args)}"
            )
        formulas = tuple(self.formula(arg, depth + 1, bound) for arg in args)
        if name == "mod" and _constant(formulas[1]) == 0:
            raise self.error(node, "a formula must not divide by 0")
        return Call(name, formulas)

    def binder(
        self,
        node: ast.Call,
        name: str,
        args: list[ast.expr],
        depth: int,
        bound: frozenset[str],
    ) -> Sum:
        """Convert ``sum(body, i, lo, hi)``, an extremum, or an integral, whose limits may be left out."""
        kind = f"{'an' if name[0] == 'i' else 'a'} {name}"
        if not (
            len(args) == 4 or (name == "integral" and len(args) == 2)
        ) or not isinstance(args[1], ast.Name):
            letter = "i" if name == "sum" else "x"
            over_line = f" or {name}(body, {letter})" if name == "integral" else ""
            written = f"{name}(body, {letter}, lo, hi){over_line}"
            raise self.error(
                node, f"{kind} is written {written}, with a plain name as its index"
            )
        index = args[1].id
        if index in RESERVED:
            raise self.error(
                args[1], f"{index} cannot be an index: it is a word of the language"
            )
        if index in bound:
            raise self.error(
                node,
                f"index {index} already belongs to an outer sum, integral or extremum; choose another letter",
            )
        if len(args) == 2:
            return Integral(
                self.formula(args[0], depth + 1, bound | {index}),
                index,
                Neg(Inf()),
                Inf(),
            )
        lo = self.formula(args[2], depth + 1, bound)
        hi = self.formula(args[3], depth + 1, bound)
        if index in free_names(lo) | free_names(hi):
            raise self.error(
                node, f"the limits of {kind} cannot use its own index {index}"
            )
        return _BINDERS[name](
            self.formula(args[0], depth + 1, bound | {index}), index, lo, hi
        )

    def check_exponent(self, node: ast.expr, exponent: Formula) -> None:
        """Refuse exponents that could exhaust memory: big numbers and powers of numbers."""
        for part in walk(exponent):
            if isinstance(part, Num) and part.value > MAX_EXPONENT:
                raise self.error(
                    node, f"a number in an exponent is at most {MAX_EXPONENT}"
                )
        if not free_names(exponent):
            value = _constant(exponent)
            if value is None or abs(value) > MAX_EXPONENT:
                rule = f"an exponent without names is a number up to {MAX_EXPONENT}, in + - * / alone"
                raise self.error(node, rule)


def _constant(node: Formula) -> Fraction | None:
    """Return the value of a formula made of numbers and + - * /; None for any other formula and for division by 0."""
    match node:
        case Num(value):
            return value
        case Neg(arg):
            inner = _constant(arg)
            return None if inner is None else -inner
        case Bin(op, left, right):
            a = _constant(left)
            b = _constant(right)
            if a is None or b is None or op == "**" or (op == "/" and b == 0):
                return None
            return {"+": a + b, "-": a - b, "*": a * b}[op] if op != "/" else a / b
        case _:
            return None
