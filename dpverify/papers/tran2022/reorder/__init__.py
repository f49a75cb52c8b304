"""Effect of a fresh permutation in every epoch on the momentum of Algorithm 2."""
