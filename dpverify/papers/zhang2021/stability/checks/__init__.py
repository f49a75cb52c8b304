"""Where the theorems on stability meet exact runs on neighbouring data."""
