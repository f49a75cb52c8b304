"""Audits: lower confidence bounds on epsilon from the outputs of a mechanism."""
