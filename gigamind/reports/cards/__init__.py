"""The judge card: how far a judge may be trusted."""
