"""Whether a judge may be believed: attacks, trials, unit tests, certification."""
