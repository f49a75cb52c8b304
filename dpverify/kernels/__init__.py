"""Jitted primitives that papers share: dyadic intervals, noise tapes, and the one ``@kernel`` decorator."""
