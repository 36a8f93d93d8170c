"""Files that a run keeps while it lasts, so that it can be resumed after a crash."""
