"""Evaluation: data sets with known answers, metrics with intervals, experiments, and their reports.

An experiment is one module with a `run(data set, run) -> Report`, named in `experiments.EXPERIMENTS`; a data set is one
adapter in `datasets/` that converts files in their published form into a `DataSet` of `Sample`s.
"""
