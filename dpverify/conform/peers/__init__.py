"""Records and the page of tested optimizers of other libraries."""
