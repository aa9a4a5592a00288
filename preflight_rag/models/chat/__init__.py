"""Language models: opening them, asking them, their errors."""
