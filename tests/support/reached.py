"""How the commands of the tests reach the server of the tests."""

from faulty_model import FakeServer


def reached(server: FakeServer) -> tuple[str, ...]:
    """Options of a server whose speed is not measured: with both given, nothing is left to be."""
    return ("--api-base", server.url, "--max-in-flight", "16", "--model-timeout-s", "60")
