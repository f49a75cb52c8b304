"""Signs and equalities of expressions, proved on a domain."""
