"""Lemma 5, Theorems 6 and 9: derived, simulated, and from which size on they say anything."""
