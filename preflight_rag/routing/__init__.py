"""The preflight: the risk of losing the key passage, the decision, costs, calibration."""
