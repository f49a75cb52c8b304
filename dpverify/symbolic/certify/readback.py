"""Expressions of the checker's forms."""

from __future__ import annotations

from typing import Any

from dpverify.symbolic.certify.checker import checker


class Readback:
    """Writes forms as expressions."""

    def __init__(self, expressions: Any, forms: Any) -> None:
        self.e, self.forms = expressions, forms
        self.known: dict[int, int] = {}

    def form(self, form: Any) -> int:
        """Number of an expression with this form."""
        number = self.forms.number(form)
        if number not in self.known:
            terms = [self.monomial(m, c) for m, c in form.items()]
            self.known[number] = terms[0] if len(terms) == 1 else self.e.plus(*terms) if terms else self.e.rational(0)
        return self.known[number]

    def monomial(self, monomial: Any, coefficient: Any = 1) -> int:
        """One monomial with its coefficient."""
        factors = [self.power(a, self.forms.forms[x]) for a, x in monomial]
        if coefficient != 1 or not factors:
            factors.insert(0, self.e.rational(coefficient))
        return factors[0] if len(factors) == 1 else self.e.times(*factors)

    def power(self, atom: int, exponent: Any) -> int:
        """An atom to a power."""
        if self.forms.atoms[atom][0] == "e":
            return int(self.e.make("exp", self.form(exponent)))
        base = self.atom(atom)
        return base if checker().as_constant(exponent) == 1 else int(self.e.make("^", base, self.form(exponent)))

    def atom(self, atom: int) -> int:
        """One atom."""
        kind, *rest = self.forms.atoms[atom]
        if kind == "letter":
            return int(self.e.letter(rest[0]))
        if kind == "prime":
            return int(self.e.rational(int(rest[0])))
        if kind == "e":
            return int(self.e.make("exp", self.e.rational(1)))
        if kind == "pi":
            return int(self.e.make("pi"))
        if kind == "base":
            return self.form(self.forms.forms[rest[0]])
        if kind == "apply":
            return int(self.e.make("apply", rest[0], self.form(self.forms.forms[rest[1]])))
        if kind in ("sum", "integral"):
            return self._bound(kind, rest)
        return int(self.e.make(kind, *(self.form(self.forms.forms[n]) for n in rest)))

    def _free(self, form: Any) -> set[int]:
        """Numbers of the indices in a form that no sum in it binds."""
        found: set[int] = set()
        for monomial in form:
            for atom, exponent in monomial:
                found |= self._free(self.forms.forms[exponent])
                kind, *rest = self.forms.atoms[atom]
                if kind == "letter" and rest[0].startswith("#"):
                    found.add(int(rest[0][1:]))
                elif kind in ("sum", "integral"):
                    inner = self._free(self.forms.forms[rest[-1]])
                    found |= inner - {min(inner, default=0)}
                    found |= self._free(self.forms.forms[rest[0]]) if kind == "sum" and rest[0] != "oo" else set()
                else:
                    found = found.union(*(self._free(part) for part in self.forms.parts(atom)))
        return found

    def _bound(self, kind: str, rest: list[Any]) -> int:
        body = self.forms.forms[rest[-1]]
        index = f"#{min(self._free(body), default=0)}"  # those of sums around it have higher numbers
        self.e.bound += 1
        fresh = f"~{self.e.bound}"
        inner = self.e.put(self.form(body), {index: self.e.letter(fresh)})
        if kind == "integral":
            return int(self.e.make("integral", fresh, self.e.make("-oo"), self.e.make("oo"), inner))
        hi = self.e.make("oo") if rest[0] == "oo" else self.form(self.forms.forms[rest[0]])
        return int(self.e.make("sum", fresh, self.e.rational(0), hi, inner))
