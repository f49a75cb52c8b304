"""The evidence hash of a claim: which definitions its checks depend on, read from syntax trees without running any."""
