"""Proofs as text: the records of ``specs/<paper>/proofs.toml``. They are data and are never executed."""
