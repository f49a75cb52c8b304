"""Statements of Abadi et al. (2016) about privacy, as an author outside dpverify adds a paper."""
