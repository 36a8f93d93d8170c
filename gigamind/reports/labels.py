"""Labels of verdicts, grades, roles, reasons and causes in reports."""

from collections.abc import Mapping

from gigamind.i18n import Message, _

LABELS: Mapping[str, Message] = {
    "high": _("High confidence in the answer"),
    "medium": _("Medium confidence in the answer"),
    "low": _("Low confidence in the answer"),
    "none": _("no claims"),
    "abstained": _("abstained from answering"),
    "judged": _("judged"),
    "no_claims": _("no claims"),
    "without_context": _("the answer has no context notes"),
    "unanswered": _("no answer"),
    "unscored": _("no usable verdict"),
    "refused": _("the model refused the request"),
    "error": _("error"),
    "skipped_budget": _("skipped: the budget is used up"),
    "not_run": _("not run"),
    "supported": _("supported"),
    "contradicted": _("contradicted by a note"),
    "not_found": _("not in the notes"),
    "unverified": _("unverified"),
    "no_such_note": _("the model named a note number that does not exist"),
    "no_quote": _("the model gave no quote"),
    "quote_not_in_note": _("the quote is not in the note"),
    "quote_of_another_note": _("the quote is from a different note than the model named"),
    "quote_too_short": _("the quote is too short"),
    "quote_changed": _("the quote changes a word of the note"),
    "quote_cut": _("the quote is cut inside a word, or before a limit or negation"),
    "not_stated": _("the quoted text is struck out, commented out, outdated or a placeholder"),
    "speaks_to_judge": _("the quote looks like instructions to the judge (prompt injection)"),
    "contradiction": _("the source sentence may contradict the claim"),
    "sources_differ": _("another sentence of the notes says otherwise"),
    "little_in_common": _("the source sentence has few words of the claim"),
    "new_name": _("the claim has a name that is not in the note"),
    "new_number": _("the claim has a number that is not in the source sentence"),
    "other_limits": _("claim and source differ in a condition, limit, reason or negation"),
    "other_word": _("one word of the claim differs from the source sentence"),
    "other_sentence": _("words of the claim are only in the sentences around the source sentence"),
    "other_question": _("the source sentence of this short answer has few words of the question"),
    "notice_other_language": _(
        "The answer or a note is neither Korean nor English, so the evaluation is less reliable."
    ),
    "notice_other_question": _(
        "The claims are in the notes, but may answer another question: their sentences have few words of this one."
    ),
    "notice_question_not_compared": _(
        "The notes have no word of the question, so code cannot tell whether the answer answers it."
    ),
    "notice_no_question": _(
        "There is no question, so code cannot tell whether the answer answers it."
    ),
    "not_confirmed": _("a second check did not confirm that the source supports the claim"),
    "not_looked_at": _("doubtful support, and no reliable model ran a second check"),
    "not_entailed": _("according to the entailment model, the source does not entail the claim"),
    "too_long": _("the claim is too long for the entailment model"),
    "given": _("not an omission: the answer says this"),
    "repeated": _("same as an earlier omission"),
    "told_supported": _("model: a note supports the claim"),
    "told_contradicted": _("model: a note contradicts the claim"),
    "told_not_found": _("model: the claim is not in the notes"),
    "proven": _("the quote is in the note"),
    "unproven": _("the quote proves nothing"),
    "says": _("the source sentence has the words of the claim"),
    "entailed": _("according to the entailment model, the source entails the claim"),
    "confirmed": _("second check: the source sentence supports the claim"),
    "flagged": _("the source sentence may contradict the claim"),
    "differs_number": _("the claim has a number that the source lacks"),
    "differs_negation": _("only one of claim and source is negated"),
    "differs_polarity": _("claim and source have words with opposite meanings"),
    "differs_limit": _("the claim lacks a condition or limit of the source"),
    "differs_roles": _("claim swaps subject and object of the source"),
    "differs_question": _("the source sentence is a question"),
    "differs_reported": _("the source only quotes someone who says so, or denies the claim"),
    "role_abstention": _("abstention: the sentence says that the notes do not contain the answer"),
    "role_courtesy": _("courtesy phrase"),
    "role_lead_in": _("introductory sentence"),
    "role_question": _("question"),
    "role_heading": _("heading"),
    "role_source": _("list of sources"),
    "role_claim": _("claim"),
    "veto_form": _("the sentence does not have the form of that role"),
    "veto_citation": _("the sentence cites a note"),
    "veto_number": _("the sentence adds a number"),
    "veto_word_of_a_note": _("the sentence has words from a note"),
    "veto_states": _("the sentence states a fact"),
    "veto_no_words": _("the sentence does not say that the notes lack the answer"),
    "veto_answered": _("a claim next to this sentence answers the question"),
    "veto_proven": _("a note proves this sentence"),
}
"""By name of a verdict, grade, outcome, check or doubt.

Roles, vetoes and contradictions have the prefixes `role_`, `veto_` and `differs_`.
"""
CAUSES: Mapping[str, Message] = {
    "no_candidate": _("target note not suggested"),
    "ranked_too_low": _("suggested, but ranked too low"),
    "below_confidence": _("confidence below the threshold"),
    "namesake": _("another note suggested for these words"),
    "already_linked": _("note already links to the target"),
}
"""Causes of missed links, by name."""
