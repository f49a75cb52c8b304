"""A loss for more than two classes, with certified constants."""
