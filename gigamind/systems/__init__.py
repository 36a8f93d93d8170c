"""What is evaluated: any search, ours among them, behind one protocol."""
