"""The evidence hash of a claim: it covers the definitions that the claim's checks depend on, read from syntax trees."""
