"""Upper and lower bounds on the constant c_2 that Theorems 2.1 and 3.1 leave open."""
