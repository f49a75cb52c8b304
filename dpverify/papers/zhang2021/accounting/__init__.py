"""The constant that Theorems 2.1 and 3.1 leave open, from both sides."""
