"""Check certificates against the records: is what a certificate proves what the record of its claim says?

    python read_statement.py [--specs FOLDER] FILE_OR_FOLDER...

The program shares no code with dpverify. It reads `claims.toml`, `verdicts.toml` and `definitions.toml`, rebuilds the
statement of a claim (sides, relation, conditions, domains, definitions, reading), and compares it with the certificate
in the forms of `check_certificate.py`, which checks the proof itself. It prints each proved statement in the formulas
of the record, to be compared with the paper. The exit code is 0 if all files are accepted, 1 if one is refused.

A certificate may prove more than the record says, never less: on the record's domain each condition of the certificate
holds, and both state the same relation between the same sides. What a certificate takes from elsewhere is compared in
the same way: definitions, facts of the literature and statements of other claims are those of the records.
"""

from __future__ import annotations

import ast
import json
import re
import sys
import tomllib
from fractions import Fraction
from pathlib import Path

if "check_certificate" not in sys.modules:
    sys.path.insert(0, str(Path(__file__).resolve().parent))
import check_certificate as k

MAX_BYTES = 2_000_000  # of a file
MAX_CERTIFICATE = 50_000_000  # bytes
CHARACTERS = re.compile(r"[A-Za-z0-9_+*/(),.<>= -]*\Z")  # of a formula
OPERATORS = {ast.Add: "+", ast.Mult: "*", ast.Pow: "^"}
COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "="}
FUNCTIONS = {name: name for name in (*k.ARITY, *k.SHORT, "max")} | {"dot": "inner"}
UNREAD = ("pi", "erf", "tanh", "gamma", "laplace_delta", "binomial_delta")  # functions that no certificate has
NUMBER = re.compile(r"[0-9]{0,50}\.?[0-9]{0,50}([eE][+-]?[0-9]{1,3})?\Z")
TWO = ["q", "2"]


# ---- formulas of the records, as expressions of the checker


def tree(text):
    """Python's tree of a formula, with its numbers as they are written; nothing is executed."""
    text = " ".join(text.split())
    k.need(CHARACTERS.match(text), f"{text!r} has a character that no formula has")
    root = ast.parse(text, mode="eval").body
    for node in ast.walk(root):
        if isinstance(node, ast.Constant):
            number = ast.get_source_segment(text, node)
            k.need(NUMBER.match(number), f"{number} is no number")
            node.value = Fraction(number)
    return root


def parsed(node):
    """A formula in the prefix format of certificates."""
    match node:
        case ast.Constant(value=value):
            return ["q", str(value)]
        case ast.Name(id=name):
            return letter_name(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return ["*", k.MINUS, parsed(operand)]
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return ["+", parsed(left), ["*", k.MINUS, parsed(right)]]
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return ["*", parsed(left), ["^", parsed(right), k.MINUS]]
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPERATORS:
            return [OPERATORS[type(operator)], parsed(left), parsed(right)]
        case ast.Call(func=ast.Name(id="sum"), args=[body, ast.Name(id=index), low, high], keywords=[]):
            return ["sum", index, parsed(low), parsed(high), parsed(body)]
        case ast.Call(func=ast.Name(id="integral"), args=[body, ast.Name(id=index)], keywords=[]):
            return ["integral", index, "-oo", "oo", parsed(body)]
        case ast.Call(func=ast.Name(id="sum" | "integral" | "infimum" | "supremum" as name)):
            raise k.Refused(f"{name} is not known in this form: integrals are over all reals, and sums have two limits")
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            return applied(name, [parsed(argument) for argument in arguments])
    raise k.Refused("a record has something that is no formula")


def letter_name(name):
    """Name of a letter in the checker, where pi is the number; in records it can only be a symbol of the paper."""
    return "pi_" if name == "pi" else name


def applied(name, arguments):
    """A function of the formula language, or one that the paper declares."""
    k.need(name not in UNREAD, f"{name} is a function that certificates do not have")
    if name == "min" and len(arguments) > 2:
        return ["min", arguments[0], applied(name, arguments[1:])]
    if name == "density":  # of a normal law with mean 0: exp(-x**2/(2*s**2))/(s*sqrt(2*pi))
        x, s = arguments
        exponent = ["*", k.MINUS, ["^", x, TWO], ["^", ["*", TWO, ["^", s, TWO]], k.MINUS]]
        return ["*", ["exp", exponent], ["^", ["*", s, ["sqrt", ["*", TWO, "pi"]]], k.MINUS]]
    return [FUNCTIONS[name], *arguments] if name in FUNCTIONS else ["apply", name, *arguments]


def formula(text):
    """The expression that a formula of a record is."""
    return k.read(parsed(tree(text)))


def compared(node):
    """A comparison, or a chain of them such as ``0 < alpha <= 1``, as relations of expressions to 0."""
    k.need(isinstance(node, ast.Compare), "a record has something that is no condition")
    sides = [k.read(parsed(side)) for side in (node.left, *node.comparators)]
    names = [COMPARISONS.get(type(operator)) for operator in node.ops]
    return [k.difference(name, left, right) for name, left, right in zip(names, sides, sides[1:], strict=False)]


def domain(text):
    """Kind and conditions of a domain, such as ``integer, N >= 1``."""
    node = tree(text)
    kind, *bounds = node.elts if isinstance(node, ast.Tuple) else [node]
    k.need(kind.id in ("real", "integer", "vector"), f"{text!r} is no domain")
    return kind.id, [fact for bound in bounds for fact in compared(bound)]


def solved(let):
    """Values of the symbols that ``let`` defines, in letters that it does not define."""
    values = {letter_name(one["symbol"]): formula(one["value"]) for one in let}
    k.need(len(values) == len(let), "a symbol is defined twice")
    for _ in let:
        values = {name: k.put(value, values) for name, value in values.items()}
    k.need(not any(k.letters_in(value) & values.keys() for value in values.values()), "definitions run in a circle")
    return values


# ---- statements


class Statement:
    """Letters with their kinds, conditions, and a relation between two sides; ``left`` is None where code measures."""

    def __init__(self, kinds, facts, left, relation, right, hides=()):
        self.kinds, self.facts = kinds, facts
        self.left, self.relation, self.right, self.hides = left, relation, right, frozenset(hides)
        self.values = {}  # of the symbols that ``let`` defines
        self.equations = []  # definitions of its functions, with their records
        self.own = frozenset()  # letters that are not of definitions alone
        self.quantity = ""  # what code measures, if no formula says what that is
        self.meaning = self.text = ""  # the definition of what is measured; the statement in the record's formulas
        self.given = {}  # what its certificate takes without proof

    def put(self, values):
        """The statement with expressions in the place of some letters."""
        kinds = {name: kind for name, kind in self.kinds.items() if name not in values}
        facts = [(relation, k.put(gap, values)) for relation, gap in self.facts]
        left = None if self.left is None else k.put(self.left, values)
        return Statement(kinds, facts, left, self.relation, k.put(self.right, values), self.hides)

    def rows(self):
        """The expressions that it is made of."""
        return [gap for _, gap in self.facts] + [side for side in (self.left, self.right) if side is not None]

    def names(self):
        """Letters and functions that occur."""
        return frozenset().union(*map(k.letters_in, self.rows()))


def scope_of(statement, *others):
    """A scope in which the conditions of a statement hold; it knows the signs of letters that their bounds say."""
    functions = frozenset().union(*(one.names() - one.kinds.keys() for one in (statement, *others)))
    scope = k.Scope(dict.fromkeys(functions, "sequence") | statement.kinds, statement.facts)
    for name in (name for name, kind in statement.kinds.items() if kind in k.NUMBERS):
        for relation in (relation for relation in (">=", ">") if k.granted(scope, relation, k.letter(name))):
            scope.learn(relation, k.letter(name))
    return scope


def follows(wanted, known, proven=None):
    """Refuse unless a wanted statement is what is known, at the same values of the letters, on its own domain.

    ``proven``: the scope of a proof of what is known, whose facts hold where its conditions do. There, all parts of the
    wanted sides have values: what is multiplied by 0 is in no form, and need not be in the certificate.
    """
    scope = scope_of(wanted, known)
    for name in known.kinds.keys() & (known.names() | wanted.kinds.keys()):
        wider = known.kinds[name] == "real" and wanted.kinds.get(name) == "integer"
        k.need(wider or wanted.kinds.get(name) == known.kinds[name], f"{name} is no {known.kinds[name]} there")
    for relation, gap in known.facts:
        k.need(k.granted(scope, relation, gap), f"it is not granted that it is {relation} 0", gap)
    enough = (wanted.relation, wanted.relation.strip("="), "=" if wanted.relation in ("<=", ">=") else wanted.relation)
    k.need(known.relation in enough and wanted.hides == known.hides, "the relation is another one")
    for side, one, other in (("left", wanted.left, known.left), ("right", wanted.right, known.right)):
        place = proven or scope
        k.need(one is None or place.form(one) is place.form(other), f"another {side} side", other)
        if proven and one is not None:
            proven.defined(one)


def is_infinite(e, divisor, scope):
    """Whether an expression grows without bound as a divisor falls to 0: as a maximum, or with a positive factor."""
    if e == k.row("^", divisor, k.read(k.MINUS)):
        return True
    op, *parts = e
    if op == "max":
        return any(is_infinite(part, divisor, scope) for part in parts)
    if op != "*":
        return False
    fixed = [part for part in parts if divisor not in k.parts_of(part)]
    growing = [part for part in parts if part not in fixed]
    return (
        len(growing) == 1
        and is_infinite(growing[0], divisor, scope)
        and all(scope.holds(">", scope.form(part)) for part in fixed)
    )


def divisors(record, made):
    """Divisors of the right side that the record names: where one is 0, that side is infinite, and nothing is claimed.

    Refuse one that leaves that side finite, or that is not known to be at least 0, itself or times a letter.
    """
    read = [k.put(formula(text), made.values) for text in record.get("divisors", [])]
    scope = scope_of(made)
    letters = [k.letter(name) for name, kind in made.kinds.items() if kind in k.NUMBERS]
    positive = [k.row("^", one, k.read(k.MINUS)) for one in letters if scope.holds(">", scope.form(one))]
    for divisor in read:
        k.need(record["relation"] == "<=", "a right side that is infinite says something")
        k.need(is_infinite(made.right, divisor, scope), "the right side is not infinite where it is 0", divisor)
        scaled = (divisor, *(k.row("*", divisor, factor) for factor in positive))
        k.need(any(k.granted(scope, ">=", one) for one in scaled), "it is not known to be at least 0", divisor)
    return read


class Paper:
    """The records of one paper."""

    def __init__(self, folder):
        self.key = folder.name
        claims, verdicts, definitions = (read_toml(folder / f"{name}.toml") for name in FILES)
        self.claims = {one["id"]: one for one in claims["claim"]}
        k.need(len(self.claims) == len(claims["claim"]), "two claims have one id")
        self.texts = {letter_name(name): one["domain"] for name, one in claims["symbols"].items()}
        self.functions = claims.get("functions", {}).keys()
        k.need(len(self.texts) == len(claims["symbols"]), "two symbols are one letter of the checker")
        self.domains = {name: domain(text) for name, text in self.texts.items()}
        self.verdicts = verdicts.get("verdict", [])
        self.definitions = definitions.get("definition", [])
        self.known = definitions.get("fact", [])

    def wording(self, claim, reading, variant):
        """The record of a statement: as printed, as amended, or as printed under more conditions."""
        k.need(claim in self.claims, f"there is no claim {claim!r}")
        record = self.claims[claim]
        choices = {one["name"]: one["choices"] for one in record.get("reading", [])}
        chosen = choices.keys() == reading.keys() and all(reading[name] in choices[name] for name in choices)
        k.need(chosen, f"{reading} is no reading of the claim")
        if variant == "printed":
            return record
        fitting = [one for one in self.verdicts if one["claim"] == claim and agrees(one, reading)]
        verdict = max(fitting, key=lambda one: len(one.get("reading", {})), default={})
        field = {"amended": "amendment", "held": "holds"}.get(variant)
        k.need(field in verdict, f"the reading has no statement {variant!r}")
        changes = verdict[field]
        k.need("statement" not in changes, "the statement is in words")
        changed = {name: value for name, value in changes.items() if name in ("relation", "requires", "let")}
        if variant == "held":
            changed["requires"] = record.get("requires", []) + changes["requires"]
        else:
            changed["divisors"] = []
        return record | changed | {"printed": changes.get("formula", record.get("printed"))}

    def definition(self, name, part, claim, reading):
        """What a claim means by a name: the definition that is for this claim, or names most of its choices."""
        fitting = [
            one
            for one in self.definitions
            if (one["name"], one.get("part", "")) == (name, part)
            and claim in (one.get("claims") or [claim])
            and agrees(one, reading)
        ]
        return max(fitting, key=lambda one: (bool(one.get("claims")), len(one.get("reading", {}))), default=None)

    def chosen(self, record, claim, reading):
        """Whether a definition is what a claim means by its name."""
        return self.definition(record["name"], record.get("part", ""), claim, reading) is record

    def statement(self, claim, reading, variant, measured=True):
        """The statement of a claim; what is measured is what its definition says, unless ``measured`` is false."""
        record = self.wording(claim, reading, variant)
        k.need(record.get("printed") and record.get("relation"), "the statement is in words")
        left = formula(record["lhs"]) if "lhs" in record else None
        made = self.made(record, left, formula(record["printed"]), record["relation"])
        made.facts += [(">", divisor) for divisor in divisors(record, made)]
        quantity = record.get("quantity", "")
        meant = self.definition(quantity, "", claim, reading) if quantity and measured else None
        if meant is not None and meant.get("argued"):
            meant = None  # the words are not proved, so that the formula is given
        own = frozenset(made.kinds)
        if meant is not None:
            made = self.measured(made, meant)
        made.quantity, made.reading = quantity if meant is None else "", reading
        made.own = own
        self.add_equations(made, claim, reading)
        which = {"claim": f"{self.key}:{claim}", "reading": reading, "variant": variant}
        made.meaning = "" if meant is None else text_of(meant)
        made.text = self.shown(k.reference(which), record, made, meant)
        return made

    def made(self, record, left, right, relation):
        """A statement of a record's fields: letters with their domains, conditions, and what ``let`` defines put in."""
        letters = {name: domain(one["domain"]) for name, one in record.get("letters", {}).items()}
        k.need(not letters.keys() & self.domains.keys(), "a letter of a definition is a symbol of the paper")
        domains = self.domains | letters
        values = solved(record.get("let", []))
        facts = [fact for text in record.get("requires", []) for fact in compared(tree(text))]
        made = Statement({}, facts, left, relation, right, record.get("hides", ()) if relation in k.ORDERS else ())
        read = made.names().union(*map(k.letters_in, values.values()))
        k.need("pi_" not in read - domains.keys(), "pi is the number here, which certificates do not have")
        names = made.names().union(values, made.hides, record.get("letters", ()), *map(k.letters_in, values.values()))
        while added := names & domains.keys() - made.kinds.keys():
            made.kinds |= {name: domains[name][0] for name in added}
            made.facts += [fact for name in sorted(added) for fact in domains[name][1]]
            names |= made.names()
        made = made.put(values)
        made.values = values
        return made

    def measured(self, statement, record):
        """The statement with the formula of what is measured on its left side, for all values of its letters."""
        meant = self.made(record, None, formula(record["formula"]), "=")
        stated = {name: value for name, value in meant.values.items() if name in statement.kinds}
        values = {name: k.put(value, stated) for name, value in statement.values.items()}
        meant, whole = meant.put(values), statement.put(stated)
        new = meant.kinds.keys() - whole.kinds.keys()
        about = [(relation, gap) for relation, gap in meant.facts if k.letters_in(gap) & new]
        whole.values, whole.left = values, meant.right
        whole.kinds, whole.facts = meant.kinds | whole.kinds, whole.facts + about
        scope = scope_of(whole)
        for relation, gap in meant.facts:
            k.need(k.granted(scope, relation, gap), "the definition of what is measured asks for more", gap)
        return whole

    def add_equations(self, statement, claim, reading):
        """Add the definitions of a statement's functions, and of those in these, and the letters that they add."""
        todo, seen = set(statement.names()), set()
        while todo:
            name = min(todo)
            todo.remove(name)
            seen.add(name)
            parts = {one.get("part", "") for one in self.definitions if one["name"] == name and "at" in one}
            for part in sorted(parts):
                record = self.definition(name, part, claim, reading)
                if record is None:
                    continue
                equation = self.equation(record, statement.values)
                scope_of(equation).defined(equation.right)
                bound = k.letters_in(formula(record["at"])) | record.get("letters", {}).keys()
                own = equation.kinds.keys() - bound - statement.kinds.keys()
                statement.kinds |= {name: equation.kinds[name] for name in own}
                statement.facts += [one for one in equation.facts if k.letters_in(one[1]) <= own]
                statement.equations.append((record, equation))
                todo |= equation.names() - seen

    def equation(self, record, values):
        """What a definition says of a function, or a fact of anything, in the letters of a statement."""
        left = formula(record.get("at") or record["lhs"])
        return self.made(record, left, formula(record["formula"]), record.get("relation", "=")).put(values)

    def shown(self, which, record, statement, meant):
        """A statement in the formulas of its record."""
        relation = {"O": "is O of", "O~": "is O, up to logarithms, of"}.get(record["relation"], record["relation"])
        parts = [f"{which}: {record.get('lhs') or record['quantity']} {relation} {record['printed']}"]
        parts += [f"where {one['symbol']} = {one['value']}" for one in record.get("let", [])]
        parts += [f"for {name}: {self.texts[name]}" for name in sorted(statement.kinds.keys() & self.texts.keys())]
        parts += [f"if {text}" for text in record.get("requires", [])]
        parts += [f"where {text} = 0, nothing is claimed" for text in record.get("divisors", [])]
        parts += (
            [f"up to a constant that may depend on {', '.join(sorted(statement.hides))}"] if statement.hides else []
        )
        said = ([] if meant is None else [meant]) + [one for one, _ in statement.equations]
        parts += [text_of(one) for one in said if not one.get("argued")]
        return " ".join("; ".join(parts).split())


FILES = ("claims", "verdicts", "definitions")


def read_toml(path):
    """The tables of a file; of one that is not there, none."""
    k.need(not path.is_file() or path.stat().st_size <= MAX_BYTES, f"{path.name} is too large")
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def agrees(record, reading):
    """Whether a verdict or a definition is for a choice of readings."""
    return record.get("reading", {}).items() <= reading.items()


def text_of(record):
    """A definition or a fact in words: its name in a certificate."""
    if "citation" in record:
        return " ".join(f"{record['words']} ({record['citation']})".split())
    domains = [one["domain"].partition(", ")[2] for one in record.get("letters", {}).values()]
    asked = ", ".join(filter(None, [*domains, *record.get("requires", [])]))
    let = ", ".join(f"{one['symbol']} = {one['value']}" for one in record.get("let", []))
    said = "argued in words: " if record.get("argued") else ""
    said += f"{record.get('at') or record['name']} = {record['formula']}{f' with {let}' if let else ''}"
    return " ".join((f"{said} for {asked}" if asked else said).split())


# ---- certificates


class Records:
    """The records of a folder, to which certificates are bound."""

    def __init__(self, folder):
        self.folder, self.papers = Path(folder), {}

    def statement(self, key, reading, variant, measured=True):
        """The paper of a claim by its full id, and the statement."""
        name, _, claim = key.partition(":")
        k.need(re.fullmatch("[A-Za-z0-9_]+", name) and (self.folder / name).is_dir(), f"there is no paper {name!r}")
        if name not in self.papers:
            self.papers[name] = Paper(self.folder / name)
        return self.papers[name], self.papers[name].statement(claim, reading, variant, measured)

    @k.untrusted()
    def accepted(self, file, rules):
        """The checker of a file's certificate, and the statement of the record that it proves."""
        k.need(file.is_file(), "there is no such file")
        k.need(file.stat().st_size <= MAX_CERTIFICATE, "the file is too large")
        checker = k.run(parsed_json(file.read_bytes()), rules)
        return checker, self.bound(checker)

    @k.untrusted()
    def bound(self, checker):
        """The statement of the record of a certificate that was checked, or Refused where it proves another one."""
        proof = checker.statement
        data = proof.data
        paper, wanted = self.statement(data["claim"], data["reading"], data["variant"])
        unknown = sorted(wanted.names() - wanted.kinds.keys() - paper.functions)
        k.need(not unknown, f"{', '.join(unknown)} of the record is declared nowhere")
        own = sorted(wanted.kinds.keys() & data["local"]["letters"].keys())
        k.need(not own, f"{', '.join(own)} of the statement is a letter of the proof alone")
        k.need(data["quantity"] == wanted.quantity, "it is about another quantity")
        follows(wanted, stated(proof, data, checker.table), proof.scope)
        free = wanted.left is None and proof.scope.form(proof.lhs) is proof.scope.form(proof.rhs)
        k.need(not free, "what is measured is said to be the right side itself, which proves nothing")
        k.need(proof.logged <= wanted.own, "a logarithm that is hidden is of a letter that the record does not have")
        for one in checker.lemmas.values():
            k.need(all(one.kinds.get(name) != "bits" for name in paper.functions), "a function of bits")
            for name, rule in one.premises.items():
                try:
                    self.compare_premise(paper, wanted, one, rule, one.data["premises"][name])
                except k.Refused as error:
                    raise k.Refused(f"the premise {name!r} is not what the record says: {error}") from None
        wanted.given = k.given_in(checker.data)
        return wanted

    def compare_premise(self, paper, statement, proof, rule, data):
        """Refuse a definition, a fact or a claim that is not the record's; what is given is shown as it stands."""
        if data["kind"] == "given":
            k.need(not re.match(r"\W*[A-Za-z0-9_]+:[a-z0-9-]", data["name"]), "it has the name of a claim")
            return
        premise = stated(rule, data, proof.table)
        premise.kinds = statement.kinds | proof.kinds | premise.kinds
        claim, reading = proof.checker.data["statement"]["claim"].partition(":")[2], statement.reading
        if data["kind"] == "claim":
            _, known = self.statement(data["claim"], data["reading"], data["variant"], not data.get("measured"))
            functions = known.names() - known.kinds.keys()
            alike = all(reading.get(name, choice) == choice for name, choice in data["reading"].items())
            k.need(not functions or (alike and data["claim"].startswith(f"{paper.key}:")), "its functions are others")
            for record, equation in known.equations:
                same = paper.chosen(record, claim, reading)
                mine = paper.equation(record, statement.values)
                same = same and (mine.left, mine.right, mine.facts) == (equation.left, equation.right, equation.facts)
                k.need(same, f"{record['name']} means something else there")
            bound = known.kinds.keys()
        else:
            records = paper.definitions if data["kind"] == "definition" else [*paper.known, *paper.definitions]
            meant = [one for one in records if text_of(one) == data["name"]]
            meant = [one for one in meant if "citation" in one or paper.chosen(one, claim, reading)]
            k.need(meant, "there is no such record for this claim and reading")
            record = meant[0]
            argued = data["kind"] == "definition" and record.get("argued")
            k.need(not argued, "a definition that is argued in words is a fact")
            known = paper.equation(record, statement.values)
            bound = record.get("letters", {}).keys() | k.letters_in(formula(record.get("at", "0")))
        # Of letters that a lemma is for all values of, it does not hold what holds of the statement's, unless a
        # definition fixes them.
        fixed = proof is proof.checker.statement or data["kind"] == "definition"
        others = rule.letters.keys() if fixed else proof.kinds.keys() | rule.letters.keys()
        premise.facts += [one for one in proof.assumed if not k.letters_in(one[1]) & rule.letters.keys()]
        premise.facts += [one for one in statement.facts if not k.letters_in(one[1]) & others]
        k.need(rule.letters.keys() <= bound, "it is not for all values of its letters")
        where = {name: k.read(value, proof.table) for name, value in data.get("where", {}).items()}
        for name, value in where.items():
            k.need(known.kinds.get(name) in k.NUMBERS and proof.scope.sort(value) == "number", f"{name} is no number")
            whole = known.kinds[name] == "real" or proof.scope.integer(proof.scope.form(value))
            k.need(whole, f"{name} is not known to be an integer")
        known = known.put(where)
        for name in known.kinds.keys() - premise.kinds.keys():  # letters that drop out of the record's formula
            about = [gap for _, gap in known.facts if name in k.letters_in(gap)]
            bound = len(about) < 2 and all(k.letters_in(gap) == {name} and is_bound(gap, name) for gap in about)
            k.need(bound, f"{name} drops out, and it is not known that there are such values")
            premise.kinds[name] = known.kinds[name]
            premise.facts += [one for one in known.facts if name in k.letters_in(one[1])]
        if data.get("measured"):
            seen = k.letters_in(proof.scope.form(premise.left)) - statement.kinds.keys()
            k.need(seen, "what is measured is no letter of the proof")
            premise.left = None
        follows(premise, known)


def stated(rule, data, table):
    """What a rule of the checker says, a certificate's statement or a premise, with relations between numbers alone."""
    facts = [condition[1:] for condition in rule.conditions if condition[0] == "fact"]
    return Statement(rule.letters, facts, rule.lhs, data["relation"], k.read(data["rhs"], table), data.get("hides", ()))


def is_bound(gap, name):
    """Whether an expression is a letter, or its negative, and a number: then it is positive at some values."""
    scope = k.Scope({name: "real"}, ())
    form, alone = scope.form(gap), scope.form(k.letter(name))
    return (form - alone).constant() is not None or (form + alone).constant() is not None


def certificate_name(claim, reading, variant):
    """File name of the certificate of a statement."""
    return "-".join([*claim.split(":"), *reading.values(), variant]) + ".json"


def parsed_json(text):
    """The data of a certificate: no key occurs twice in it, and all its numbers are integers."""
    return json.loads(text, object_pairs_hook=unique, parse_constant=no_integer, parse_float=no_integer)


def unique(pairs):
    """An object of JSON, if each of its keys occurs once."""
    k.need(len(dict(pairs)) == len(pairs), "a key occurs twice")
    return dict(pairs)


def no_integer(text):
    """Refuse a number."""
    raise k.Refused(f"{text} is not an integer")


def print_line(text):
    """Print one line, whatever characters a record or a certificate has in its names."""
    print("".join(character if character.isprintable() else " " for character in text))


def given_lines(proof, data, rule):
    """What is given, in words and as a formula; of a lemma, at the values of its letters at which it is used."""
    parts = [f"{data['name']}: {k.shown(rule.lhs)} {data['relation']} {k.shown(rule.rhs)}"]
    parts += [f"for all {name}: {kind}" for name, kind in rule.letters.items()]
    parts += [f"if {k.shown(gap)} {relation} 0" for kind, relation, gap in rule.conditions if kind == "fact"]
    letters = sorted(rule.free() & proof.letters.keys())
    uses = [values for name, values in proof.checker.applied if name == proof.data["name"]] or [{}]
    changes = [{one: use[one] for one in letters if use.get(one, one) not in (one, k.letter(one))} for use in uses]
    places = {"".join(f"; at {one} = {k.shown(value)}" for one, value in change.items()) for change in changes}
    return ["; ".join(parts) + place for place in sorted(places)]


def main(words):
    """Check and compare files, and print a line for each."""
    folder = Path(__file__).resolve().parent.parent
    if words[:1] == ["--specs"]:
        folder, words = Path(words[1]), words[2:]
    files = [f for w in words for f in (sorted(Path(w).glob("*.json")) if Path(w).is_dir() else [Path(w)])]
    rules = json.loads(Path(__file__).with_name("rules.json").read_text(encoding="utf-8"))["rules"]
    records, accepted = Records(folder), {}
    for file in files:
        try:
            checker, statement = records.accepted(file, rules)
            name = certificate_name(*(checker.statement.data[key] for key in ("claim", "reading", "variant")))
            k.need(file.name == name, "it is stored under the name of another one")
            accepted[file] = checker, statement
        except k.Refused as error:
            print_line(f"refused: {file.name}: {error}")
    seals = {checker.statement.data["seal"]: statement.given for checker, statement in accepted.values()}
    for checker, statement in accepted.values():
        given = k.open_premises(seals, statement.given)
        word = f"proved given {'; '.join(given)}" if given else "proved"
        print_line(f"{word}: {statement.text}; rules: {', '.join(sorted(checker.rules_used)) or 'none'}")
        for proof in checker.lemmas.values():
            for name, rule in proof.premises.items():
                if proof.data["premises"][name]["kind"] == "given":
                    for line in given_lines(proof, proof.data["premises"][name], rule):
                        print_line(f"  given {line}")
    print(f"{len(accepted)} of {len(files)} accepted")
    return 0 if accepted and len(accepted) == len(files) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
