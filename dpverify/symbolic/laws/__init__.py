"""Laws of outputs, pairs of them for neighbouring data, and certified divergences between them."""
