"""Theorem 3.4: from the risk on the data to the risk on the law that they come from."""
