"""Extracts entries from sessions and verifies those whose evidence can be located."""
