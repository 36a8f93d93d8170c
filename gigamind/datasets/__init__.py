"""Reads evaluation datasets (JSONL) and checks them against a vault."""
