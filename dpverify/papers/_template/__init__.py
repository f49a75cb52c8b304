"""A small paper that is complete: the noise of a binary tree. docs/adding-a-paper.md walks through it."""
