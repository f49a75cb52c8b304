"""Certificates: derivations in a format that a small independent program can check."""
