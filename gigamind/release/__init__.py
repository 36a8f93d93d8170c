"""Whether a release may go out: snapshots, their comparison, the policy and the gates."""
