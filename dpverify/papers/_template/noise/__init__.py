"""The noise of the tree: bounds, derivations, and the checks where they meet the kernel."""
