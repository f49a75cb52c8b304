"""Plant faults in dpverify, one at a time in a copy of the checkout, and test whether claims and tests detect them."""
