"""Why a link is suggested, in the language of the note: only what is so."""

from gigamind.linking.features import Features, MeantFeatures, NamedFeatures

_LIKE_LINKS = 1.0  # log odds from which the words around a place are said to be those of links
_SHARED = 0.2  # tf-idf cosine from which two texts are said to be about the same
_NEAR = 1.0  # ln(1 + Adamic-Adar) from which two notes are said to share neighbours
_QUOTED = 60  # code points of a passage
_REASONS = {
    "ko": {
        "title": "노트 제목과 같음",
        "alias": "노트의 별칭과 같음",
        "heading": "노트의 첫 제목과 같음",
        "text": "다른 노트에서 이 말로 연결함",
        "meant": "그 노트의 “{passage}”에 뜻이 가까움(코사인 {cosine:.2f})",
        "linked": "이 말을 쓴 다른 노트 {said}개 중 {linked}개가 연결함",
        "shared": "연결의 {share:.0%}가 그 노트로 감",
        "cue": "이 vault에서 링크가 놓이는 문맥",
        "words": "문단과 노트가 같은 낱말을 씀(tf-idf 코사인 {words:.2f})",
        "neighbours": "두 노트가 같은 노트들과 연결됨",
        "folder": "같은 폴더",
        "back": "그 노트가 이 노트를 연결함",
    },
    "en": {
        "title": "title of the note",
        "alias": "alias of the note",
        "heading": "first heading of the note",
        "text": "other notes link it with these words",
        "meant": 'close in meaning to "{passage}" of the note (cosine {cosine:.2f})',
        "linked": "linked in {linked} of {said} other notes that say it",
        "shared": "{share:.0%} of such links lead there",
        "cue": "links of this vault stand between such words",
        "words": "paragraph and note share telling words (tf-idf cosine {words:.2f})",
        "neighbours": "both notes are linked with the same notes",
        "folder": "same folder",
        "back": "that note links here",
    },
}


def reason(features: Features, language: str) -> str:
    """What speaks for a link, the words themselves first."""
    words = _REASONS["ko" if language == "ko" else "en"]
    parts = [*_of_words(features, words)]
    if features.cue_beside >= _LIKE_LINKS:
        parts.append(words["cue"])
    if features.words_shared >= _SHARED:
        parts.append(words["words"].format(words=features.words_shared))
    if features.neighbours >= _NEAR:
        parts.append(words["neighbours"])
    if _is_nearby_namesake(features):
        parts.append(words["folder"])
    if features.linked_back:
        parts.append(words["back"])
    return "; ".join(parts)


def _is_nearby_namesake(features: Features) -> bool:
    return (
        isinstance(features, NamedFeatures)
        and features.commonness < 1
        and features.folders_between == 0
    )


def _of_words(features: Features, words: dict[str, str]) -> list[str]:
    if isinstance(features, MeantFeatures):
        shown = features.passage[:_QUOTED] + ("…" if len(features.passage) > _QUOTED else "")
        cosine = max(features.name_cosine, features.beginning_cosine)
        return [words["meant"].format(passage=shown, cosine=cosine)]
    if not isinstance(features, NamedFeatures):
        return []
    parts = [words[features.kind]]
    if features.linked_notes:
        numbers = {"linked": features.linked_notes, "said": features.saying_notes}
        parts.append(words["linked"].format(**numbers))
    if features.commonness < 1:
        parts.append(words["shared"].format(share=features.commonness))
    return parts
