"""Section 5's run time, as counts of operations."""
