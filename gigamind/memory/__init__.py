"""Turns what was said in a session into entries, and verifies only those whose evidence aligns."""
