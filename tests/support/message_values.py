"""What a message is about, without its wording."""

from gigamind.i18n import Message


def values_of(message: object) -> list[object]:
    """Return the values of a message and of the messages in it, in order; a message without values is None."""
    if not isinstance(message, Message):
        return [message]
    if not message.values:
        return [None]
    shown = {name: value for name, value in message.values.items() if name != "separator"}
    return [
        leaf
        for value in shown.values()
        for part in (value if isinstance(value, list | tuple) else [value])
        for leaf in values_of(part)
    ]
