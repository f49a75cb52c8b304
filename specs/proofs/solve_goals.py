"""Give every fact that certificates combine from others to z3 and to cvc5: they look for values at which it is false.

    python solve_goals.py FILE_OR_FOLDER...

A fact follows from those before it. What is given to a solver: the factors of its combination, with the signs that are
known of them, and that the fact is false. Powers, logarithms, sums and other functions are letters of their own there,
with the axioms of `AXIOMS`. ``unsat`` confirms the fact. ``sat`` where no function became a letter refutes it, and the
exit code is 1. ``sat`` where one did says nothing: the solver knows less than the checker.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import check_certificate as k
import cvc5
import z3

MILLISECONDS = 150  # a tenth of a second of work where three processes share two cores
#: What is known of a letter that stands for a function: reviewed by hand, each a fact of every value of the function.
AXIOMS = {
    "e": "above 0", "prime": "above 0", "pi": "between 3 and 4", "norm": "not below 0", "bit": "0 or 1",
    "popcount": "not below 0", "binomial": "not below 0",
    "floor": "whole, at most its argument, and above it minus 1",
}  # fmt: skip


class Recording(k.Proof):
    """A proof that notes every combination once it is accepted."""

    goals = []  # one list for all

    def combine(self, scope, relation, e, divisors, terms):
        """Note what is combined, and to what."""
        super().combine(scope, relation, e, divisors, terms)
        read = [(self.read(f)) for _, factors in terms for f in factors] + [self.read(d) for d in divisors]
        forms = [scope.form(f) for f in read]
        below = [k.alone(a) for f in (*forms, scope.form(e)) for m in f for a, x in m if (x.constant() or 0) < 0]
        known = [(f, "=" if scope.holds("=", f) else ">" if scope.sign(f) == 3 else ">=" if scope.sign(f) & 1 else "!=")
                 for f in dict.fromkeys([*forms, *below]) if scope.sign(f)]  # fmt: skip
        self.goals.append((known, relation, scope.form(e), dict(scope.kinds)))


class Written:
    """One goal as text for solvers: functions become letters."""

    def __init__(self, known, relation, goal, kinds):
        self.letters, self.lines, self.abstract, self.kinds = {}, [], False, kinds
        for form, sign in known:
            self.lines.append(f"(assert {self.compared(sign, form)})")
        self.lines.append(f"(assert (not {self.compared(relation, goal)}))")
        names = [f"(declare-const {name} {sort})" for name, sort in self.letters.values()]
        self.text = "\n".join([*names, *self.lines])

    def compared(self, relation, form):
        """A relation of a form to 0."""
        text = self.form(form)
        return f"(not (= {text} 0.0))" if relation == "!=" else f"({relation} {text} 0.0)"

    def form(self, form):
        """A form as a sum of products."""
        terms = [" ".join([number(c), *(self.power(a, x) for a, x in m)]) for m, c in form.items()]
        return f"(+ 0.0 0.0 {' '.join(f'(* 1.0 {t})' for t in terms)})"

    def power(self, atom, exponent):
        """A whole power of a letter is a product; any other power is a letter of its own."""
        value = exponent.constant()
        if value is not None and value.q == 1 and 0 < value <= 12:
            return " ".join([self.letter(atom)] * int(value.p))
        if value is not None and value.q == 1 and -12 <= value < 0:
            return self.inverse(atom, -int(value.p))
        return self.letter((atom, exponent))

    def inverse(self, atom, count):
        """A letter whose product with the base is 1, where that is not 0."""
        base = self.form(k.alone(atom))
        name = self.letter(("inverse", atom), plain=True)
        line = f"(assert (=> (not (= {base} 0.0)) (= (* {name} {base}) 1.0)))"
        if line not in self.lines:
            self.lines.append(line)
        return " ".join([name] * count)

    def letter(self, what, plain=False):
        """A letter for an atom, with what is known of it."""
        if what not in self.letters:
            is_letter = isinstance(what, k.Row) and what[0] == "letter"
            self.abstract = self.abstract or not (is_letter or plain)
            whole = is_letter and self.kinds.get(what[1]) == "integer"
            self.letters[what] = (f"x{len(self.letters)}", "Real")
            name = self.letters[what][0]
            if whole:
                self.lines.append(f"(assert (is_int {name}))")
            self.lines += [f"(assert {line})" for line in self.axioms(what, name)]
        return self.letters[what][0]

    def axioms(self, what, name):
        """What is known of a function's values."""
        kind = what[0] if isinstance(what, k.Row) else what[0][0] if isinstance(what[0], k.Row) else ""
        if kind in ("e", "prime"):
            return [f"(> {name} 0.0)"]
        if not isinstance(what, k.Row):
            return []
        if kind == "pi":
            return [f"(< 3.0 {name} 4.0)"]
        if kind in ("norm", "popcount", "binomial"):
            return [f"(>= {name} 0.0)"]
        if kind == "bit":
            return [f"(or (= {name} 0.0) (= {name} 1.0))"]
        if kind == "floor":
            inner = self.form(what[1])
            return [f"(<= {name} {inner})", f"(< {inner} (+ {name} 1.0))", f"(is_int {name})"]
        return []


def number(value):
    """A rational number."""
    top, under = abs(int(value.p)), int(value.q)
    text = f"(/ {top}.0 {under}.0)"
    return text if value >= 0 else f"(- {text})"


def by_z3(text):
    """What z3 says."""
    solver = z3.Solver()
    solver.set("timeout", MILLISECONDS)
    solver.from_string(text)
    return str(solver.check())


def by_cvc5(text):
    """What cvc5 says."""
    solver = cvc5.Solver()
    solver.setOption("tlimit-per", str(MILLISECONDS))
    solver.setLogic("ALL")
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "goal")
    symbols = parser.getSymbolManager()
    while not (command := parser.nextCommand()).isNull():
        command.invoke(solver, symbols)
    found = solver.checkSat()
    return "unsat" if found.isUnsat() else "sat" if found.isSat() else "unknown"


def main(words):
    """Check certificates, give their combinations to both solvers, and count."""
    files = [f for w in words for f in (sorted(Path(w).glob("*.json")) if Path(w).is_dir() else [Path(w)])]
    rules = json.loads(Path(k.__file__).with_name("rules.json").read_text())["rules"]
    k.Proof = Recording
    counts, refuted = Counter(), 0
    for file in files:
        Recording.goals.clear()
        k.run(json.loads(file.read_text()), rules)
        for goal in Recording.goals:
            written = Written(*goal)
            answers = {"z3": by_z3(written.text), "cvc5": by_cvc5(written.text)}
            for name, answer in answers.items():
                counts[name, answer if answer != "sat" or not written.abstract else "sat, with letters"] += 1
            counts["goals", "confirmed"] += "unsat" in answers.values()
            counts["goals", "all"] += 1
            if "sat" in answers.values() and not written.abstract:
                refuted += 1
                print(f"refuted in {file.name}:\n{written.text}")
    for (name, answer), count in sorted(counts.items()):
        print(f"{name}: {answer}: {count}")
    return 1 if refuted or not counts else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
