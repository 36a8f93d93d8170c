"""What a run leaves behind while it lasts, so that it can go on after a crash."""
