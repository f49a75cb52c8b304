"""Equations 1 to 3, 8, 9 and Lemma 17, checked by comparing the coefficients of every gradient."""
