"""Labels of verdicts, grades, roles, reasons and causes in reports; the scripts of the pages have the same texts."""

from collections.abc import Mapping

from gigamind.i18n import Message, _

LABELS: Mapping[str, Message] = {
    "high": _("High confidence"),
    "medium": _("Medium confidence"),
    "low": _("Low confidence"),
    "none": _("no claims"),
    "supported": _("supported"),
    "contradicted": _("contradicted"),
    "not_found": _("not in the notes"),
    "unverified": _("unverified"),
    "no_such_note": _("no note with that number"),
    "no_quote": _("no quote"),
    "quote_not_in_note": _("the quote is not in the note"),
    "quote_of_another_note": _("the quote is from another note"),
    "quote_too_short": _("the quote is too short"),
    "quote_changed": _("the quote has a changed word"),
    "quote_cut": _("the quote is cut inside a word, or before a limit or negation"),
    "speaks_to_judge": _("the quote is from text with instructions to the judge"),
    "contradiction": _("the source sentence contradicts it"),
    "little_in_common": _("the source sentence has few of its words"),
    "new_name": _("the note lacks a name of the claim"),
    "new_number": _("the source sentence lacks a number of the claim"),
    "added": _("it adds something that is not in the note"),
    "only_possible": _("the source sentence states it only as a possibility"),
    "other_limits": _("its condition, limit, reason or negation differs from the source sentence"),
    "other_word": _("the source sentence has a different word in this place"),
    "not_confirmed": _("a second check of the source sentence does not confirm it"),
    "not_looked_at": _(
        "the source sentence has few of its words, and no suitable model made a second check"
    ),
    "role_abstention": _("abstention: the notes do not contain the answer"),
    "role_courtesy": _("courtesy"),
    "role_lead_in": _("lead-in"),
    "role_question": _("question"),
    "role_heading": _("heading"),
    "role_source": _("sources"),
    "role_claim": _("claim"),
    "veto_form": _("its form does not fit that role"),
    "veto_citation": _("it cites a note"),
    "veto_number": _("it has a number of its own"),
    "veto_word_of_a_note": _("it has words from a note"),
    "veto_states": _("it adds a fact that the source does not state"),
    "veto_no_words": _("it does not say that the notes lack the answer"),
    "veto_answered": _("a claim next to it is the answer"),
    "veto_proven": _("a note proves it"),
}
"""By name of a verdict, grade or doubt; roles and vetoes have the prefixes `role_` and `veto_`."""
CAUSES: Mapping[str, Message] = {
    "no_candidate": _("no candidate"),
    "ranked_too_low": _("ranked too low"),
    "below_confidence": _("below min_confidence"),
    "namesake": _("other note with this name"),
    "already_linked": _("already linked"),
}
"""Causes of missed links, by name."""
