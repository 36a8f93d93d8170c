"""Explain why a link is suggested."""

from collections.abc import Mapping

from gigamind.i18n import Message, _, joined, n_, translator
from gigamind.linking.features import Features, MeantFeatures, NamedFeatures, NameKind

# Thresholds from which a feature is mentioned.
_SHARED = 0.2  # tf-idf cosine
_NEAR = 1.0  # ln(1 + Adamic-Adar)
_QUOTED = 60  # code points of a passage
_NAMED: Mapping[NameKind, Message] = {
    "title": _("the words are the title or file name of the target note"),
    "alias": _("the words are an alias of the target note"),
    "heading": _("the words are the first level-1 heading of the target note"),
    "text": _("other notes link to the target note with these words"),
}


def reason(features: Features, language: str) -> str:
    """Return the evidence for a link in a language, the words themselves first."""
    parts = _of_words(features)
    if features.words_shared >= _SHARED:
        parts.append(
            _(
                "the paragraph and the target note share distinctive words (tf-idf cosine {cosine:.2f})",
                cosine=features.words_shared,
            )
        )
    if features.neighbours >= _NEAR:
        parts.append(_("both notes have links to or from the same other notes"))
    is_namesake = isinstance(features, NamedFeatures) and features.commonness < 1
    if is_namesake and features.folders_between == 0:
        parts.append(_("both notes are in the same folder"))
    if features.linked_back:
        parts.append(_("the target note already links to this note"))
    return translator(language)(joined(parts, "; "))


def _of_words(features: Features) -> list[Message]:
    if isinstance(features, MeantFeatures):
        shown = features.passage[:_QUOTED] + ("…" if len(features.passage) > _QUOTED else "")
        cosine = max(features.name_cosine, features.beginning_cosine)
        return [
            _(
                'the words are close in meaning to "{passage}" of the target note (cosine similarity {cosine:.2f})',
                passage=shown,
                cosine=cosine,
            )
        ]
    if not isinstance(features, NamedFeatures):
        return []
    parts = [_NAMED[features.kind]]
    if features.linked_notes:
        parts.append(
            n_(
                "{linked} of {n} other note that contains these words uses them as a link",
                "{linked:,} of {n:,} other notes that contain these words use them as a link",
                n=features.saying_notes,
                linked=features.linked_notes,
            )
        )
    if features.commonness < 1:
        parts.append(
            _(
                "{share:.0%} of the links with these words lead to the target note",
                share=features.commonness,
            )
        )
    return parts
