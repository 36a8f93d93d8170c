"""Whether a release may go out: snapshots, their comparison, and the gates."""
