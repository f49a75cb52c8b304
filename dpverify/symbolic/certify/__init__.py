"""Certificates: derivations written down so that a small program, which knows nothing of us, can check them."""
