"""Checks of the paper's privacy statements and the printed noise against the accountant."""
