"""Locates quotes in their sources and checks whether they prove what they say."""
