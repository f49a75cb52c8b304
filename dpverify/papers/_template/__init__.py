"""A small complete example of a paper: the noise of a binary tree."""
