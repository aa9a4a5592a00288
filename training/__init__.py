"""Training of the weights that the package ships; not in the wheel."""
