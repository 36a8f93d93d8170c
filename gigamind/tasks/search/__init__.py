"""Search evaluation: how well retrieval over a vault answers a dataset of queries."""
