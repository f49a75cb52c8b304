"""Part of Arora et al. (2023): its algorithms, its statements about other work, and the parameters of its theorems."""
