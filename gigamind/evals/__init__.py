"""Evaluations: the steps prepare, retrieve, judge, score and evaluate as plain functions."""
