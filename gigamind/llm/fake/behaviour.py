"""What the fake server is told to do, through the model name, so that it passes unchanged through any client.

judge                                    a valid answer at once
judge;lat=100                            after 100 ms
judge;lat=100;spread=0.5                 after 50 to 150 ms, at random but the same in each run
judge;fault=429;times=2;ra=1;sid=abc     two 429 with `Retry-After: 1` for scenario abc, then valid answers
judge;fault=truncated_stop;share=0.2     every fifth answer, at random but the same in each run, is cut off
judge;allowed=5;ra=0                     429 for whatever comes while five requests are being answered
"""

import hashlib
from dataclasses import dataclass

FAULTS = frozenset({
    *("429", "quota", "500", "502", "503", "401", "404", "400ctx", "400rf"),
    *("timeout", "disconnect", "reset", "html", "badjson"),
    *("truncated", "truncated_stop", "missing_field", "wrong_types", "extra_field", "nan", "two_json", "prose"),
    *("codeblock", "think", "refusal", "refusal_text", "content_filter", "empty", "null_content", "no_choices"),
    *("no_usage", "usage_null", "zero_usage", "cached_usage", "big_usage", "coercible_types"),
})  # fmt: skip
_DEFAULT_HANG_S = 30.0
_HASH_BITS = 64


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How the requests of one model name are answered.

    Attributes:
        scenario: requests are counted by it.
        fault: one of `FAULTS`, or None.
        times: how many requests of the scenario meet the fault, from the first.
        share: part of the requests within `times` that meet it, in [0, 1].
        latency_s: before each answer, on average.
        spread: how much of it an answer may come sooner or later, in [0, 1].
        hang_s: how long the fault `timeout` keeps silent.
        retry_after: the header of a 429; None sends none.
        allowed: requests answered at the same time; None for any number.
    """

    name: str
    scenario: str = "-"
    fault: str | None = None
    times: int | None = None
    share: float = 1.0
    latency_s: float = 0.0
    spread: float = 0.0
    hang_s: float = _DEFAULT_HANG_S
    retry_after: str | None = None
    allowed: int | None = None

    def fault_of(self, number: int) -> str | None:
        """The fault that the scenario's request of this number, from 1, meets."""
        if self.fault is None or (self.times is not None and number > self.times):
            return None
        return self.fault if _draw(f"{self.scenario}|{number}") < self.share else None

    def latency_of(self, number: int) -> float:
        """Seconds before the answer to the scenario's request of this number, from 1."""
        drawn = 2 * _draw(f"{self.scenario}|{number}|latency") - 1
        return self.latency_s * (1 + self.spread * drawn)


def read_behaviour(model: str) -> Behaviour:
    """The behaviour that a model name asks for.

    Raises:
        ValueError: it names an unknown fault, or a number that is none.
    """
    name, *rest = model.split(";")
    given = dict(part.split("=", 1) for part in rest if "=" in part)
    fault = given.get("fault")
    if fault is not None and fault not in FAULTS:
        raise ValueError(f"no such fault: {fault}; there are {', '.join(sorted(FAULTS))}")
    return Behaviour(
        name=name,
        scenario=given.get("sid", "-"),
        fault=fault,
        times=int(given["times"]) if "times" in given else None,
        share=float(given.get("share", 1)),
        latency_s=float(given.get("lat", 0)) / 1000,
        spread=float(given.get("spread", 0)),
        hang_s=float(given.get("hang", _DEFAULT_HANG_S)),
        retry_after=given.get("ra"),
        allowed=int(given["allowed"]) if "allowed" in given else None,
    )


def _draw(seed: str) -> float:
    """A number in [0, 1) that depends on nothing but `seed`."""
    return int.from_bytes(hashlib.sha256(seed.encode()).digest()[:8], "big") / 2**_HASH_BITS
