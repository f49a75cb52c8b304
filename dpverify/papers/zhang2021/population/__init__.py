"""Theorem 3.4: from the risk on the data to the risk on their distribution."""
