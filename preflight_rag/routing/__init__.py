"""The router: the preflight's risk of losing the key passage, the decision on the route, costs, calibration.

What speaks for COrg, `preflight_rag/corg/signals.py` measures. `preflight eval calibration`, `router`, `routing` and
`routes` show whether a change is good.
"""
