"""A lower bound of epsilon from outputs, with confidence."""
