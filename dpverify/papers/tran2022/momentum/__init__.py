"""The error of the momentum: Lemmas 7 and 11."""
