"""Evaluation: data sets with known answers, metrics with intervals, experiments, and their reports.

An experiment is one module with a `run(collection, run) -> Report`, named in `experiments.EXPERIMENTS`; a data set is
one adapter in `datasets.py` that turns files as they are published into a `Collection`.
"""
