"""Section 5's run time, counted."""
