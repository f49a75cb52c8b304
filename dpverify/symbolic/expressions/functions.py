"""Functions that derivations use and sympy lacks: log2, bits, popcounts, binomials; moments, norms and inner products.

Norms, inner products and moments are uninterpreted scalars. Their arguments are symbols for vectors and random
variables. The only facts about them are the rules of the catalogue.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

import sympy

#: The place in an expression where a rule is applied, for steps that give it explicitly (``Step.context``).
HOLE: Final = sympy.Symbol("HOLE", real=True)


class Log2(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """Logarithm to base 2, exact at powers of two."""

    nargs: ClassVar[int] = 1

    @classmethod
    def eval(cls, arg: Any) -> Any:
        """Evaluate at powers of two and at ``2**k`` with real k."""
        if arg.is_Rational and arg.is_positive:
            p = int(arg.p)
            q = int(arg.q)
            if not (p & (p - 1) or q & (q - 1)):
                return sympy.Integer(p.bit_length() - q.bit_length())
        if arg.is_Pow and arg.base == 2 and arg.exp.is_real:
            return arg.exp
        return None

    def fdiff(self, argindex: int = 1) -> Any:
        """Derivative, ``1/(x*log(2))``."""
        return 1 / (self.args[argindex - 1] * sympy.log(2))

    def _eval_rewrite_as_log(self, arg: Any, **kwargs: Any) -> Any:
        return sympy.log(arg) / sympy.log(2)

    def _eval_evalf(self, prec: int) -> Any:
        return self.rewrite(sympy.log)._eval_evalf(prec)

    def _eval_is_real(self) -> bool | None:
        return True if self.args[0].is_positive else None

    def _eval_is_nonnegative(self) -> bool | None:
        return True if (self.args[0] - 1).is_nonnegative else None

    def _eval_is_positive(self) -> bool | None:
        return True if (self.args[0] - 1).is_positive else None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        raised = "" if exp is None else f"^{{{exp}}}"
        return rf"\log_{{2}}{raised}\left({printer._print(self.args[0])}\right)"


class Bit(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """``Bit(s, i)`` is bit i of the integer s, for i >= 0."""

    nargs: ClassVar[int] = 2
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, s: Any, i: Any) -> Any:
        """Evaluate at integers."""
        if s.is_Integer and i.is_Integer and i.is_nonnegative:
            return sympy.Integer(int(s) >> int(i) & 1)
        return None

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        s, i = (printer._print(arg) for arg in self.args)
        return _raised(rf"\mathrm{{bit}}_{{{i}}}\left({s}\right)", exp)


class PopCount(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """Number of ones in the binary expansion of a nonnegative integer."""

    nargs: ClassVar[int] = 1
    is_integer = True
    is_nonnegative = True

    @classmethod
    def eval(cls, n: Any) -> Any:
        """Evaluate at integers."""
        return (
            sympy.Integer(int(n).bit_count())
            if n.is_Integer and n.is_nonnegative
            else None
        )

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _raised(
            rf"\mathrm{{popcount}}\left({printer._print(self.args[0])}\right)", exp
        )


class Binomial(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """``Binomial(n, k)`` is the number of ways to choose k of n elements.

    It is not evaluated; only rules apply to it.
    """

    nargs: ClassVar[int] = 2
    is_integer = True
    is_nonnegative = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        n, k = (printer._print(arg) for arg in self.args)
        return _raised(rf"\binom{{{n}}}{{{k}}}", exp)


class Moment(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """``Moment(X, p)`` is E|X|**p for a random variable X (of a vector: E||X||**p)."""

    nargs: ClassVar[int] = 2
    is_real = True
    is_nonnegative = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        x, p = (printer._print(arg) for arg in self.args)
        power = "" if self.args[1] == 1 else f"^{{{p}}}"
        return _raised(rf"\left(\mathbb{{E}}\lVert {x} \rVert{power}\right)", exp)


class Norm(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """Euclidean norm of a vector; the argument may be a linear combination of vectors."""

    nargs: ClassVar[int] = 1
    is_real = True
    is_nonnegative = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        return _raised(rf"\lVert {printer._print(self.args[0])} \rVert", exp)


class Inner(sympy.Function):  # type: ignore[misc]  # sympy ships no types
    """Inner product of two vectors."""

    nargs: ClassVar[int] = 2
    is_real = True

    def _latex(self, printer: Any, exp: str | None = None) -> str:
        u, v = (printer._print(arg) for arg in self.args)
        return _raised(rf"\langle {u}, {v} \rangle", exp)


def _raised(latex: str, exp: str | None) -> str:
    return latex if exp is None else f"{latex}^{{{exp}}}"
