"""Run evaluations: options, execution, resuming, comparison and output."""
