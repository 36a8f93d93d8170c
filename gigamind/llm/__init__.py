"""The only room that speaks to language models, and so the only one that imports litellm."""
