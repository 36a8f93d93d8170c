"""A mock model on loopback, for trials and demonstrations without a key."""
