"""Where Theorem 3.4's steps meet the exact population risk."""
