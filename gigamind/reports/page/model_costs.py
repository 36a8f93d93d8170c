"""The block of a page about the model as judge: coverage, cost and reliability."""

from collections.abc import Iterator, Mapping

from gigamind.formats import percent, share
from gigamind.i18n import Message, Translator, _, n_
from gigamind.metrics.table import label
from gigamind.records.judged import CoverageReport, FlipReport, LlmReport, PanelReport, UsageReport
from gigamind.reports.text import counted, render
from gigamind.stats.krippendorff import reading

_FEW = 0.8  # of the items, as --min-coverage has it


def model_block(llm: LlmReport | None, say: Translator) -> dict[str, object] | None:
    """Return the values of the template `model.html.jinja`; None if no model was called."""
    if llm is None:
        return None
    names = list(next(iter(llm.rates.values()))) if llm.rates else []
    total = [(say(_("total")), llm)] if len(llm.by_role) > 1 else []
    return {
        "parts": list(_parts(llm, say)),
        "usage": [
            (role_text(name, say), *_cells(part)) for name, part in (*llm.by_role.items(), *total)
        ],
        "rates": [
            (say(_RULES[rule]), [share(rates[name]) for name in rates])
            for rule, rates in llm.rates.items()
        ],
        "rate_names": [label(f"unanswerable.{name}", say.language) for name in names],
        "flips": " ".join(map(say, _flips(llm))),
        "panel": " ".join(map(say, _panel(llm.panel))) if llm.panel else "",
        "flagged": say(_flagged(llm)) if llm.flagged else "",
        "unread": _unread(llm, say),
        "conflicts": " ".join(map(say, _conflicts(llm))),
    }


def _flagged(llm: LlmReport) -> Message:
    return _(
        "Items with possible prompt injection or hidden characters in a note: {items}. Check these items yourself."
        " Quotes from such text, not accepted as proof: {quotes}.",
        items=llm.flagged,
        quotes=llm.flagged_quotes,
    )


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


def model_section(llm: LlmReport, say: Translator) -> str:
    """Return the same block for summary.md, without a line break at its end."""
    return render("model.md.jinja", say=say, model=model_block(llm, say)).strip()


def cost_lines(llm: LlmReport, say: Translator) -> list[str]:
    """Return the lines for the terminal: cost by model, consistency, and missing verdicts unless already shown."""
    lines = [
        say(
            _(
                "{role}: {calls} requests, {hits} replies from the cache, cost {cost}",
                role=role_text(role, say),
                calls=part.calls,
                hits=part.cache_hits,
                cost=_usd(part),
            )
        )
        for role, part in llm.by_role.items()
    ]
    lines += filter(None, [*map(say, _flips(llm)), _unread(llm, say)])
    parts = list(_parts(llm, say))
    if any(part["incomplete"] for part in parts):
        lines += [str(part["coverage"]) for part in parts if not part["few"]]
    return lines


_ROLES: Mapping[str, Message] = {
    "judge": _("judge"),
    "answer": _("answer"),
    "quality_gate": _("checklist"),
    "unanswerable": _("unanswerable"),
    "probe": _("speed test"),
}
_RULES: Mapping[str, Message] = {
    "as_told": _("accept all verdicts of the model"),
    "only_with_quotes": _("accept an answer only if its quote is in the note"),
}
_OUTCOMES: Mapping[str, Message] = {
    "scored": _("judged"),
    "unscored": _("the model gave no usable reply"),
    "refused": _("the model refused the request"),
    "error": _("failed"),
    "skipped_budget": _("skipped: the budget is used up"),
}


def role_text(name: str, say: Translator) -> str:
    """Return "role: model" with the role's label."""
    role, mark, model = name.partition(": ")
    return f"{say(_ROLES[role])}{mark}{model}" if mark and role in _ROLES else name


def few_judged(llm: LlmReport | None, say: Translator) -> list[str]:
    """Return warnings for the top of a report: the share of verdicts and the missing ones, if too few were judged."""
    parts = _parts(llm, say) if llm else ()
    return [f"{part['coverage']} {part['lost']}." for part in parts if part["few"]]


def _usd(part: UsageReport) -> Message:
    if part.usd is None:
        return _("unknown")
    if part.usd_source == "estimated":
        return _("{usd:.6f} USD (estimated)", usd=part.usd)
    return _("{usd:.6f} USD", usd=part.usd)


def _unread(llm: LlmReport, say: Translator) -> str:
    unread = llm.all_unread
    if not unread:
        return ""
    return say(
        _(
            "Optional fields of the model's replies that could not be read: {fields} ({names}). No verdict was"
            " lost.",
            fields=unread.total(),
            names=counted(unread),
        )
    )


def _parts(llm: LlmReport, say: Translator) -> Iterator[dict[str, object]]:
    def values(part: LlmReport | CoverageReport) -> dict[str, object]:
        judged = part.outcomes.get("scored", 0)
        return {"judged": judged, "items": part.items, "share": percent(part.coverage)}

    if llm.checks is None:
        text = _("Items with a verdict of the model: {judged} of {items} ({share}).", **values(llm))
        yield _part(llm, text, say)
    else:
        text = _(
            "Answers with a verdict of the model: {judged} of {items} ({share}).", **values(llm)
        )
        yield _part(llm, text, say)
        checks = _(
            "Answers with a checklist result: {judged} of {items} ({share}).", **values(llm.checks)
        )
        yield _part(llm.checks, checks, say)


def _part(
    part: LlmReport | CoverageReport, coverage: Message, say: Translator
) -> dict[str, object]:
    judged = part.outcomes.get("scored", 0)
    outcomes = [(name, say(_OUTCOMES[name]), count) for name, count in part.outcomes.items()]
    return {
        "coverage": say(coverage),
        "incomplete": judged < part.items,
        "few": judged < _FEW * part.items,
        "lost": ", ".join(f"{text}: {count}" for name, text, count in outcomes if name != "scored"),
        "outcomes": [(text, count) for _name, text, count in outcomes],
    }


def _flips(llm: LlmReport) -> Iterator[Message]:
    checked = llm.checks.flips if llm.checks else None
    if llm.flips and llm.checks is None:
        yield _(
            "When the model judged items a second time, {flipped} of {n} verdicts changed ({rate}; 95% CI {low} –"
            " {high}).",
            **_flip_values(llm.flips),
        )
    elif llm.flips:
        yield _(
            "When the model evaluated answers a second time, {flipped} of {n} verdicts changed ({rate}; 95% CI"
            " {low} – {high}).",
            **_flip_values(llm.flips),
        )
    if checked:
        yield _(
            "When the model checked {n} answers again, {flipped} changed between passing and failing the checklist"
            " ({rate}; 95% CI {low} – {high}).",
            **_flip_values(checked),
        )
    if llm.flips or checked:
        yield _(
            "If two runs differ by no more than this share of changed verdicts, the difference is not evidence of"
            " a change."
        )


def _flip_values(flips: FlipReport) -> dict[str, object]:
    return {
        "flipped": flips.flipped,
        "n": flips.judged_again,
        "rate": percent(flips.rate),
        "low": percent(flips.low),
        "high": percent(flips.high),
    }


def _panel(panel: PanelReport) -> Iterator[Message]:
    if panel.alone:
        yield n_(
            "The first panel member was confident about {n} item and judged it alone.",
            "The first panel member was confident about {n:,} items and judged them alone.",
            n=panel.alone,
        )
    if panel.items:
        yield _(
            "The panel members disagree on {split} of the {items} items that at least two of {members} models"
            " judged ({rate}; 95% CI {low} – {high}).",
            split=panel.split,
            items=panel.items,
            rate=percent(panel.rate),
            low=percent(panel.low),
            high=percent(panel.high),
            members=panel.seats,
        )
        yield _alpha(panel)
    else:
        yield _("No item was judged by two or more panel members, so their agreement is unknown.")
    if items := panel.short:
        yield _(
            "Items judged by fewer panel members, because a member gave no vote: {items}.",
            items=items,
        )
    if items := panel.incomplete:
        yield _(
            "Items without a verdict, because a panel member gave no vote: {items}.", items=items
        )
    if panel.tied:
        yield _(
            "Items without a verdict, because the votes of the panel are tied: {items}.",
            items=panel.tied,
        )


_READINGS: Mapping[str, Message] = {
    "reliable": _("The panel members agree well (agreement is not accuracy)"),
    "tentative": _("The panel members agree well enough for tentative conclusions"),
    "unreliable": _("The panel members agree too little for reliable verdicts"),
    "chance": _("The panel members agree no more than by chance"),
}


def _alpha(panel: PanelReport) -> Message:
    if panel.alone:
        return _(
            "The panel members are compared only on items that the first member doubted, so their agreement on"
            " other items is unknown."
        )
    if panel.alpha is None:
        return _(
            "All votes of the panel are the same, so their agreement cannot be corrected for chance."
        )
    values = (panel.alpha, panel.alpha_low, panel.alpha_high)
    alpha, low, high = (share(value).replace("-", "−") for value in values)
    return _(
        "Agreement of the panel members (Krippendorff's alpha): {alpha} (95% CI {low} – {high}; 1 is full"
        " agreement, 0 is chance). {reading}.",
        alpha=alpha,
        low=low,
        high=high,
        reading=_READINGS[reading(panel.alpha)],
    )


def _cells(part: UsageReport) -> tuple[str, ...]:
    counts = (part.calls, part.cache_hits, part.prompt_tokens, part.completion_tokens)
    return (*(f"{count:,}" for count in counts), cost(part))


def cost(part: UsageReport) -> str:
    """Return the dollars to the microdollar; "~" marks an estimate, a dash an unknown cost."""
    if part.usd is None:
        return "–"
    return f"{'~' if part.usd_source == 'estimated' else ''}{part.usd:.6f}"
