"""Proofs that nobody wrote: facts are searched for and written as a certificate, which the stand-alone checker decides."""
