"""What a fresh permutation in every epoch does to the momentum of Algorithm 2."""
