"""Proofs that nobody wrote: a search writes certificates, and the stand-alone checker decides."""
