"""Checks of the rates and of Theorem 3.2 against the exact recursion and the kernel."""
