"""From proofs as text to chains: the place and the instance of each rule are found, and a certificate is written."""
