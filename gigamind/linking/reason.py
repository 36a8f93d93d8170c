"""Says in a line why a link is suggested: the features that fired, in the language of the note."""

from gigamind.linking.features import Features, FeaturesWithCosine

_CLOSE = 0.5  # cosine from which a paragraph is said to be about the same
_REASONS = {
    "ko": {
        "title": "노트 제목과 같음",
        "alias": "노트의 별칭과 같음",
        "heading": "노트의 첫 제목과 같음",
        "text": "다른 노트에서 이 말로 연결함",
        "linked": "이 말을 쓴 다른 노트 {said}개 중 {linked}개가 연결함",
        "shared": "연결의 {share:.0%}가 이 노트로 감",
        "back": "그 노트가 이 노트를 연결함",
        "cosine": "문단과 노트의 내용이 가까움(코사인 {cosine:.2f})",
    },
    "en": {
        "title": "title of the note",
        "alias": "alias of the note",
        "heading": "first heading of the note",
        "text": "other notes link it with these words",
        "linked": "linked in {linked} of {said} other notes that say it",
        "shared": "{share:.0%} of such links lead there",
        "back": "that note links here",
        "cosine": "paragraph and note are close (cosine {cosine:.2f})",
    },
}


def reason(features: Features, language: str) -> str:
    """The features that speak for a link, the name first."""
    words = _REASONS["ko" if language == "ko" else "en"]
    parts = [words[features.kind]]
    if features.linked_notes:
        numbers = {"linked": features.linked_notes, "said": features.saying_notes}
        parts.append(words["linked"].format(**numbers))
    if features.commonness < 1:
        parts.append(words["shared"].format(share=features.commonness))
    if features.linked_back:
        parts.append(words["back"])
    if isinstance(features, FeaturesWithCosine) and features.cosine >= _CLOSE:
        parts.append(words["cosine"].format(cosine=features.cosine))
    return "; ".join(parts)
