"""Formula trees to exact numbers and to sympy; derivations and the catalogue of inequalities that they cite."""
