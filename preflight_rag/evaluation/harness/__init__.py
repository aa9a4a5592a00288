"""The model side of the experiments: replies that are kept, budgets, bounded work, choices, paired tests, arms.

An experiment opens what it needs with `open_asking`, puts its questions to arms with `ask_arms`, and compares them with
`compare`.
"""

from __future__ import annotations
