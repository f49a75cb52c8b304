"""Commands about proofs as text."""
