"""Uniform stability: its consequences, its exact value for runs on quadratics, and Theorem 3.3's bound."""
