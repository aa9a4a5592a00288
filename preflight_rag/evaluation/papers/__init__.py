"""The experiments of the four papers, one module each, run with any model."""
