"""Finds where a quote stands in its source, or says why it cannot be trusted."""
