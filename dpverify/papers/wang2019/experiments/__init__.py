"""Section 6: its printed results, compared with the statements of its text."""
