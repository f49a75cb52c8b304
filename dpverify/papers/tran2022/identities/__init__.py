"""Equations 1 to 3, 8, 9 and Lemma 17, as equality of the coefficients of every gradient."""
