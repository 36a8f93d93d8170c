"""Access to language models; the only package that imports litellm."""
