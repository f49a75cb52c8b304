"""Where the implementation meets the boxes of Algorithms 1 and 2."""
