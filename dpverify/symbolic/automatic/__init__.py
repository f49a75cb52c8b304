"""Automatic proofs: a search writes certificates, and the stand-alone checker decides."""
