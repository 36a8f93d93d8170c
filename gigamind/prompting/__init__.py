"""Prompts of models: templates, untrusted text between marks, and the fields of replies."""
