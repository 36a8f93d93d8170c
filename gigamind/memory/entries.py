"""The state of every entry after its events, and the rule that promotes entries. Only events change the state."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from gigamind.evidence.result import Aligned, AlignResult
from gigamind.memory.events import Event


@dataclass(frozen=True, slots=True)
class Entry:
    """One extracted statement.

    Attributes:
        extraction_id: the `memory_extracted` event of the entry; entry ids are unique within it.
        stage: candidate until promoted.
        evidence_aligned: it has quotes and none failed; None before its evidence was aligned.
        evidence: records of the aligned quotes, as in `gigamind.evidence.record`.
        failed_quotes: quotes that were not found, or that do not prove enough to promote.
        promotion_block_reason: why it is not verified; None unless `promotion_blocked`.
    """

    session_id: str
    extraction_id: str
    entry_id: str
    text: str
    stage: Literal["candidate", "verified"] = "candidate"
    evidence_aligned: bool | None = None
    evidence: tuple[Mapping[str, object], ...] = ()
    failed_quotes: tuple[str, ...] = ()
    promotion_blocked: bool = False
    promotion_block_reason: str | None = None


class Entries:
    """All entries, in the order of extraction; `by_extraction`: extraction id -> entry id -> entry."""

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.by_extraction: dict[str, dict[str, Entry]] = {}
        for event in events:
            self.apply(event)

    def __iter__(self) -> Iterator[Entry]:
        for entries in self.by_extraction.values():
            yield from entries.values()

    def apply(self, event: Event) -> None:
        content = cast("Mapping[str, Any]", event.content)
        if event.event_type == "memory_extracted":
            self.by_extraction[event.event_id] = {
                entry["entry_id"]: Entry(
                    content["session_id"], event.event_id, entry["entry_id"], entry["text"]
                )
                for entry in content["entries"]
            }
        elif event.event_type == "evidence_aligned":
            self._align(content)
        elif event.event_type == "entry_promoted":
            self._change(content, stage="verified")
        elif event.event_type == "promotion_blocked":
            self._change(
                content,
                failed_quotes=tuple(content["failed_quotes"]),
                promotion_blocked=True,
                promotion_block_reason=content["reason"],
            )

    def _align(self, content: Mapping[str, Any]) -> None:
        aligned: defaultdict[str, list[Mapping[str, object]]] = defaultdict(list)
        failed: defaultdict[str, list[str]] = defaultdict(list)
        for record in content["evidence"]:
            aligned[record["entry_id"]].append(record)
        for record in content["failed_quotes"]:
            failed[record["entry_id"]].append(record["quote"])
        entries = self.by_extraction[content["extraction_id"]]
        for entry_id, entry in entries.items():
            entries[entry_id] = Entry(
                entry.session_id,
                entry.extraction_id,
                entry_id,
                entry.text,
                evidence_aligned=bool(aligned[entry_id]) and not failed[entry_id],
                evidence=tuple(aligned[entry_id]),
                failed_quotes=tuple(failed[entry_id]),
            )

    def _change(self, content: Mapping[str, Any], **changes: Any) -> None:  # noqa: ANN401 - fields of Entry
        entries = self.by_extraction[content["extraction_id"]]
        entries[content["entry_id"]] = replace(entries[content["entry_id"]], **changes)


_REFUSAL = "Evidence alignment failed"


@dataclass(frozen=True, slots=True)
class Blocked:
    """A decision that the entry stays a candidate because of `failed_quotes`."""

    reason: str
    failed_quotes: tuple[str, ...]


def decide(evidence: AlignResult) -> Blocked | None:
    """Return why an entry must stay a candidate; None if it has quotes, and each is found and sufficient proof."""
    if not evidence.outcomes:
        return Blocked(f"{_REFUSAL}: the entry has no evidence.", ())
    if evidence.failed:
        reasons = ", ".join(sorted({outcome.reason for outcome in evidence.failed}))
        counted = f"{len(evidence.failed)} of {len(evidence.outcomes)} quotes not found ({reasons})"
        return Blocked(
            f"{_REFUSAL}: {counted}.", tuple(outcome.quote.text for outcome in evidence.failed)
        )
    doubtful = [outcome for outcome in evidence.aligned if not outcome.promotable]
    if doubtful:
        doubts = "; ".join(sorted({_doubt(outcome) for outcome in doubtful}))
        return Blocked(f"{_REFUSAL}: {doubts}.", tuple(outcome.quote.text for outcome in doubtful))
    return None


def _doubt(aligned: Aligned) -> str:
    why = aligned.unproven
    if why is None:
        return "a quote that only resembles its source is too short to prove anything"
    if why.is_cut:
        return f"a quote is cut off from words that change what it says ({why.reason})"
    near = "; only one keystroke differs, so quote it again exactly" if why.near else ""
    return f"a quote differs from its source in {why.reason}{near}"
