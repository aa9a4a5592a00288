"""The model side of the experiments: cached replies, budgets, bounded concurrency, arms and their scores.

An experiment opens what it needs with `open_asking`, asks arms its samples with `run_arms`, and compares the rows.
"""

from __future__ import annotations
