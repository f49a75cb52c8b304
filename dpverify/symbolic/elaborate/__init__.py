"""Elaborate text proofs to chains: find the place and the instance of each rule, and write a certificate."""
