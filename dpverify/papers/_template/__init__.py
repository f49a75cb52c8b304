"""A small paper that is complete: the noise of a binary tree."""
