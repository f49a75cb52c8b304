"""Privacy of DPageEM: subsampling, composition, and the noise that the theorems require."""
