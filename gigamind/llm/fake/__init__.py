"""A model that costs nothing and misbehaves on request: an OpenAI-like server on loopback, for tests and demos."""
