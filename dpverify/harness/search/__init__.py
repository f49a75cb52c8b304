"""Search for counterexamples, exhaustive or directed, and exact results."""
