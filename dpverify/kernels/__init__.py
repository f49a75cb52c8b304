"""Compiled primitives that several papers share: dyadic intervals, noise tapes, and the ``@kernel`` decorator."""
