"""What a model as judge did and cost: coverage, reliability and cost, as blocks of a document."""

from collections.abc import Iterator, Mapping

from gigamind.formats import percent
from gigamind.i18n import Message, Text, _, joined
from gigamind.records.judged import CoverageReport, LlmReport, UsageReport
from gigamind.reports import document as doc

_FEW = 0.8  # of the items, as --min-coverage has it


def model_blocks(llm: LlmReport) -> tuple[doc.Block, ...]:
    """Return coverage, reliability, and metrics and cost as tables."""
    flagged = _(
        "Items with possible prompt injection or hidden characters in a note: {items}. Check these items"
        " yourself. Quotes from such text, not accepted as proof: {quotes}.",
        items=llm.flagged,
        quotes=llm.flagged_quotes,
    )
    texts = (
        *_coverage(llm),
        joined(_flips(llm), " "),
        flagged if llm.flagged else "",
        joined(_conflicts(llm), " "),
        _unread_text(llm),
        _repaired_text(llm),
    )
    return (*map(doc.Prose, filter(None, texts)), _cost_table(llm))


def coverage_banner(llm: LlmReport) -> Text:
    """Return why the figures cannot be trusted yet: too few items were judged; "" if enough were."""
    for part in (llm, llm.checks):
        judged = part.outcomes.get("scored", 0) if part else 0
        if part and judged < _FEW * part.items:
            return _(
                "Do not read the figures yet: {missing:,} of {items:,} items were not judged ({reasons}).",
                missing=part.items - judged,
                items=part.items,
                reasons=_lost(part),
            )
    return ""


def _cost_table(llm: LlmReport) -> doc.Table:
    """Return requests, tokens and cost by role and model."""
    rows = [_usage(role_text(name), part) for name, part in llm.by_role.items()]
    if len(rows) > 1:
        rows.append(_usage(_("total"), llm))
    heads = (
        _("role: model"),
        _("requests"),
        _("answered from the cache"),
        _("prompt tokens"),
        _("completion tokens"),
        _("reported cost"),
        _("reserved cost"),
    )
    return doc.table(heads, rows, _("Cost"))


def _usage(name: Text, part: UsageReport) -> tuple[doc.Cell, ...]:
    counts = part.calls, part.cache_hits, part.prompt_tokens, part.completion_tokens
    reserved = part.reserved_usd  # the upper bound of what servers did not report
    reported = part.usd if part.usd is None or reserved is None else part.usd - reserved
    return name, *map(doc.Count, counts), doc.Money(reported), doc.Money(reserved)


def terminal_blocks(llm: LlmReport) -> tuple[doc.Block, ...]:
    """Return what the terminal shows: cost by model, consistency, and unreadable fields."""
    texts = (*_flips(llm), _repaired_text(llm), _unread_text(llm))
    return (_cost_table(llm), *map(doc.Prose, filter(None, texts)))


def role_text(name: str) -> Text:
    """Return "role: model" with the role's label."""
    role, mark, model = name.partition(": ")
    return joined([_ROLES[role], model], mark) if mark and role in _ROLES else name


def _conflicts(llm: LlmReport) -> Iterator[Message]:
    if items := llm.conflicts.get("unproven"):
        yield _(
            "Items where the model says that the notes contain the answer, but gives no quote that proves it:"
            " {items}.",
            items=items,
        )
    if items := llm.conflicts.get("quoted"):
        yield _(
            "Items where the model says that the notes do not contain the answer, but still quotes the notes:"
            " {items}. Check these items yourself.",
            items=items,
        )


_ROLES: Mapping[str, Message] = {
    "judge": _("judge"),
    "answer": _("answer"),
    "quality_gate": _("checklist"),
    "unanswerable": _("unanswerable"),
    "probe": _("speed test"),
}
_OUTCOMES: Mapping[str, Message] = {
    "scored": _("judged"),
    "unscored": _("the model gave no usable reply"),
    "refused": _("the model refused the request"),
    "error": _("failed"),
    "skipped_budget": _("skipped: the budget is used up"),
}


def _repaired_text(llm: LlmReport) -> Text:
    """Return how many replies had JSON that was repaired; "" if none had."""
    if not llm.repaired:
        return ""
    return _("Replies with invalid JSON that was repaired: {n}.", n=llm.repaired)


def _unread_text(llm: LlmReport) -> Text:
    """Return which auxiliary fields of replies could not be read; "" if all could."""
    unread = llm.all_unread
    if not unread:
        return ""
    return _(
        "Optional fields of the model's replies that could not be read: {fields} ({names}). No verdict was"
        " lost.",
        fields=unread.total(),
        names=", ".join(f"{name}: {count}" for name, count in unread.most_common()),
    )


def _coverage(llm: LlmReport) -> Iterator[Message]:
    parts = (
        (_("Items with a verdict of the model"), llm),
        (_("Answers with a checklist result"), llm.checks),
    )
    for what, part in parts:
        if part:
            judged = part.outcomes.get("scored", 0)
            values = {"judged": judged, "items": part.items, "share": percent(part.coverage)}
            text = _("{what}: {judged} of {items} ({share}).", what=what, **values)
            lost = _lost(part)
            yield joined([text, _("Others: {reasons}.", reasons=lost)], " ") if lost else text


def _lost(part: LlmReport | CoverageReport) -> list[Message]:
    return [
        joined([_OUTCOMES[name], str(count)], ": ")
        for name, count in part.outcomes.items()
        if name != "scored" and count
    ]


def _flips(llm: LlmReport) -> Iterator[Message]:
    repeated = (
        (_("verdicts"), llm.flips),
        (_("checklist results"), llm.checks and llm.checks.flips),
    )
    for what, flips in repeated:
        if flips:
            shares = {"rate": flips.rate, "low": flips.low, "high": flips.high}
            yield _(
                "When the model judged items a second time, {flipped} of {n} {what} changed ({rate}; 95% CI {low} –"
                " {high}).",
                what=what,
                flipped=flips.flipped,
                n=flips.judged_again,
                **{name: percent(share) for name, share in shares.items()},
            )
    if any(flips for _what, flips in repeated):
        yield _("A difference of two runs up to this share is not evidence of a change.")
