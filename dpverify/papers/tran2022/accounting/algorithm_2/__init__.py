"""The accountant of Algorithm 2."""
