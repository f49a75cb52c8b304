"""The boxes of Algorithms 1 and 2, line by line."""
