"""Why a link is suggested: only what is so."""

from gigamind.linking.features import Features, MeantFeatures, NamedFeatures
from gigamind.wording import Language, Words, words

_LIKE_LINKS = 1.0  # log odds from which the words around a place are said to be those of links
_SHARED = 0.2  # tf-idf cosine from which two texts are said to be about the same
_NEAR = 1.0  # ln(1 + Adamic-Adar) from which two notes are said to share neighbours
_QUOTED = 60  # code points of a passage


def reason(features: Features, language: Language) -> str:
    """What speaks for a link, the words themselves first."""
    say = words(language)
    parts = [*_of_words(features, say)]
    if features.cue_beside >= _LIKE_LINKS:
        parts.append(say("link_reason.cue"))
    if features.words_shared >= _SHARED:
        parts.append(say("link_reason.words", words=features.words_shared))
    if features.neighbours >= _NEAR:
        parts.append(say("link_reason.neighbours"))
    if _is_nearby_namesake(features):
        parts.append(say("link_reason.folder"))
    if features.linked_back:
        parts.append(say("link_reason.back"))
    return "; ".join(parts)


def _is_nearby_namesake(features: Features) -> bool:
    return (
        isinstance(features, NamedFeatures)
        and features.commonness < 1
        and features.folders_between == 0
    )


def _of_words(features: Features, say: Words) -> list[str]:
    if isinstance(features, MeantFeatures):
        shown = features.passage[:_QUOTED] + ("…" if len(features.passage) > _QUOTED else "")
        cosine = max(features.name_cosine, features.beginning_cosine)
        return [say("link_reason.meant", passage=shown, cosine=cosine)]
    if not isinstance(features, NamedFeatures):
        return []
    parts = [say(f"link_reason.{features.kind}")]
    if features.linked_notes:
        numbers = {"linked": features.linked_notes, "said": features.saying_notes}
        parts.append(say("link_reason.linked", **numbers))
    if features.commonness < 1:
        parts.append(say("link_reason.shared", share=features.commonness))
    return parts
