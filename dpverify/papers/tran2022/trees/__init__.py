"""Trees and series: COMPOSE, tree aggregation, Propositions 13 to 18, Theorem 10."""
