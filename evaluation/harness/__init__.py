"""The model side of the experiments: replies that are kept, budgets, bounded work, arms and their scores.

An experiment opens what it needs with `open_asking`, puts its samples to arms with `run_arms`, and compares the rows.
"""

from __future__ import annotations
