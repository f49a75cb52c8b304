"""Statements of Abadi et al. (2016) about privacy, an example of a paper in a package outside dpverify."""
