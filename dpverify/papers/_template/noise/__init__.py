"""The noise of the tree: bounds, derivations, and checks of the kernel."""
