"""Uniform stability: what it gives, how stable runs on quadratics are, and what Theorem 3.3 says of it."""
