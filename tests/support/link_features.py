"""What is known of a link that could be made."""

from gigamind.linking.confidence import Features

PLAIN = Features(
    link_probability=0.5,
    commonness=1.0,
    kind="title",
    linked_notes=1,
    saying_notes=1,
    chars=5,
    words=1,
    spelled_as_name=False,
    names_in_note=1,
    linked_back=False,
    centrality=1.0,
)
