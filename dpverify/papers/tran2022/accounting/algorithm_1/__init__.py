"""The accountant of Algorithm 1."""
