#!/usr/bin/env bash
# Compiles all proofs with Coq (Debian: coq and libcoq-coquelicot), in a folder of its own, and asks Coq what they rest on.
# It fails if a proof fails, if a proof rests on more than the axioms below, or if statements.v is not made from rules.json.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Coq's own real numbers and the two classical axioms that Coquelicot uses.
allowed='ClassicalDedekindReals.sig_forall_dec
ClassicalDedekindReals.sig_not_dec
FunctionalExtensionality.functional_extensionality_dep
Classical_Prop.classic'

python3 "$here/statements.py" --check
cp "$here"/*.v "$work"
python3 "$here/statements.py" --rests > "$work/check.v"
cd "$work"
begin=$SECONDS
for module in semantics statements lemmas scalars sums sequences bits moments integrals; do
  coqc -q -w -ambiguous-paths "$module.v"
done
coqc -q -w -ambiguous-paths check.v > rests
found=$(grep -v -e '^ ' -e '^Axioms:' rests | sed 's/[ :].*//' | sort -u)
[ -n "$found" ] || { echo "Coq did not say what the proofs rest on"; exit 1; }
if other=$(grep -vxF "$allowed" <<< "$found"); then
  echo "a proof rests on more than Coq's real numbers:"; echo "$other"; exit 1
fi
echo "$(grep -c '^  (' check.v) rules proved by Coq in $((SECONDS - begin)) s; they rest on $(wc -l <<< "$found") axioms of its library"
