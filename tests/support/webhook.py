"""What the notifications of a Prefect server go to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import loopback


@dataclass
class Webhook:
    """A server on loopback that keeps what it is told, but an alarm that is sent twice only once."""

    url: str = ""
    texts: list[str] = field(default_factory=list)  # without repetitions
    ids: list[str | None] = field(default_factory=list)


class _Kept(loopback.Answering):
    def do_POST(self) -> None:
        told, alarm = self.server.told, json.loads(self.body())
        if (alarm_id := alarm.get("id")) is None or alarm_id not in told.ids:
            told.texts.append(alarm["text"])
        told.ids.append(alarm_id)
        self.send_response(204)
        self.end_headers()


@contextmanager
def listening() -> Iterator[Webhook]:
    """One, until the block ends."""
    told = Webhook()
    with loopback.listening(_Kept, told=told) as server:
        told.url = f"{server.url}/"
        yield told
