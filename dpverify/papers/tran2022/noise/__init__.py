"""The law and the size of the noise: Lemma 12 and Lemma 7's variances."""
