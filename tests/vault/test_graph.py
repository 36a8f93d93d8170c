import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gigamind.vault.graph import centrality, link_graph
from gigamind.vault.identity import Identities


def test_the_graph_holds_resolved_links_once_and_without_loops(read):
    vault = read(
        {
            "a.md": "[[b]] ![[b]] [b](b.md) [[a]] [[#h]] ![[i.png]] [[missing]] [w](https://e.org) `[[c]]`",
            "b.md": "[[d/C]]",
            "d/c.md": "[up](../a.md) [[b|x]]",
            "i.png": "",
        }
    )

    assert link_graph(vault, Identities(vault.notes)) == {
        "a.md": ("b.md",),
        "b.md": ("d/c.md",),
        "d/c.md": ("a.md", "b.md"),
    }


def test_links_in_properties_are_links(read):
    vault = read(
        {"a.md": '---\nup: "[[b|above]]"\nrelated:\n- "[[c#part]]"\n---\n', "b.md": "", "c.md": ""}
    )

    assert link_graph(vault, Identities(vault.notes))["a.md"] == ("b.md", "c.md")


def test_without_links_all_notes_are_equally_central():
    assert centrality({"a": (), "b": (), "c": ()}) == {"a": 1.0, "b": 1.0, "c": 1.0}
    assert centrality({"a": ()}) == {"a": 1.0}


def test_an_empty_graph_has_no_centrality():
    assert centrality({}) == {}


def solved(graph: dict[str, tuple[str, ...]]) -> dict[str, float]:
    """PageRank as one dense linear system."""
    notes = sorted(graph)
    size = len(notes)
    moves = np.zeros((size, size))
    for column, note in enumerate(notes):
        for target in graph[note] or notes:
            moves[notes.index(target), column] = 1 / len(graph[note] or notes)
    ranks = np.linalg.solve(np.eye(size) - 0.85 * moves, np.full(size, 0.15 / size))
    return dict(zip(notes, ranks / ranks.max(), strict=True))


@st.composite
def graphs(draw):
    notes = [f"n{index}" for index in range(draw(st.integers(1, 12)))]
    targets = st.sets(st.sampled_from(notes), max_size=5)
    return {note: tuple(sorted(draw(targets) - {note})) for note in notes}


@settings(deadline=None)  # a busy machine is no failure
@given(graphs())
def test_power_iteration_agrees_with_the_linear_system(graph):
    ranks = centrality(graph)

    assert ranks == pytest.approx(solved(graph), abs=1e-10)
    assert max(ranks.values()) == 1.0
    assert min(ranks.values()) > 0.0


def test_the_order_of_notes_changes_no_bit():
    graph = {"a": ("b", "c"), "b": ("c",), "c": (), "d": ("a",)}

    assert centrality(dict(reversed(graph.items()))) == centrality(graph)
