"""Statistics of metrics: intervals, tests and agreement."""
