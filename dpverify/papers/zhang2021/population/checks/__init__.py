"""Checks of Theorem 3.4's steps against the exact population risk."""
