"""Link suggestions: section 10 of document 000."""

from demands.model import Departure, Equal, Field, Option, Section, beyond, row
from gigamind.linking.suggest import LinkSuggestion, SuggestOptions

_INTERFACE = (
    row(
        654,
        "다른 노트로 연결할 수 있는 위치를 자동으로 제안",
        "linking/test_suggest.py::test_the_names_in_the_examples_give_exactly_these_suggestions",
    ),
    row(661, "anchor: string;", Field(LinkSuggestion, "anchor")),
    row(
        664,
        "anchorRange: {",
        Field(LinkSuggestion, "span"),
        "cli/test_suggest.py::test_json_carries_range_confidence_and_features",
        Departure(
            "`anchorRange`, `suggestedTarget`",
            "`anchor_range`, `suggested_target` in JSON, in UTF-16 code units; `span`, `target` in Python, in"
            " code points",
            "6.1 requires snake_case in files; each side counts offsets in its own unit",
        ),
    ),
    row(
        (665, 666),
        "start: number; … end: number;",
        Field(LinkSuggestion, "span.start"),
        Field(LinkSuggestion, "span.end"),
    ),
    row(670, "suggestedTarget: string;", Field(LinkSuggestion, "target")),
    row(
        673,
        "confidence: number;",
        Field(LinkSuggestion, "confidence"),
        "linking/test_quality.py::test_a_confidence_is_about_the_share_that_is_right",
        Departure(
            "`confidence` from the three scores of 10.3",
            "the probability that a person makes the link, from these scores and more, calibrated on hidden links of"
            " the vault; if it has too few, on those of other vaults, and a notice says so (`habits.py`)",
            "a probability can be checked: calibration error",
        ),
    ),
    row(676, "reason?: string;", Field(LinkSuggestion, "reason")),
    row(
        681,
        "maxSuggestions?: number;  // 기본: 10",
        Equal(lambda: SuggestOptions().max_suggestions, 10),
        Option("suggest-links", "--max", 10),
    ),
    row(
        684,
        "minConfidence?: number;   // 기본: 0.3",
        Equal(lambda: SuggestOptions().min_confidence, 0.3),
        Option("suggest-links", "--min-confidence", 0.3),
        Departure(
            "`minConfidence` from 0",
            "from 0 for titles and aliases; other suggestions from 0.03",
            "a suggestion that is wrong 32 times in 33 is useless",
        ),
    ),
    row(
        687,
        "excludeExisting?: boolean;  // 기본: true",
        Equal(lambda: SuggestOptions().exclude_existing, expected=True),
        Option("suggest-links", "--include-linked", default=False),
        Departure(
            "`excludeExisting`: skip targets that are already linked",
            "in `suggest-links`; in `eval links` only with `--exclude-linked`, and recall is reported both ways",
            "more than a third of the links removed from a real vault have a target that the same note links"
            " elsewhere",
        ),
    ),
    row(
        690,
        "contextChars?: number;    // 기본: 200",
        Equal(lambda: SuggestOptions().context_chars, 400),
        Option("suggest-links", "--context-chars", 400),
        Departure(
            "`contextChars`, 200, is shown",
            "also compared with the target; 400 in `suggest-links` and `eval links`",
            "it changes the score, and evaluation must match suggestion",
        ),
    ),
    row(
        (694, 695, 696, 697),
        "function suggestLinks( … notePath: string, … Promise<LinkSuggestion[]>;",
        "test_library.py::test_the_examples_hold",
        Departure(
            "`suggestLinks(notePath, options)`",
            "`gigamind.suggest_links(notes, note, ...)`, `gigamind suggest-links --notes VAULT --note NOTE`",
            "a function has no current vault",
        ),
    ),
)

_DOCUMENTS = "conformance/test_documents.py::test_"
_DEMANDS = (
    row(
        (703, 705),
        "명사구, 고유명사, 기술 용어 추출 … 2~10 단어 길이의 의미있는 구문 선택",
        "linking/test_phrases.py::test_phrases_are_rows_of_nouns_without_particles",
        Departure(
            "noun phrases of 2 to 10 words",
            "titles of up to 16 words, other names and link texts of 1 to 6, phrases of 1 to 5 nouns; Korean"
            " particles are handled",
            "2 to 10 words would miss 36 to 38% of the links in real vaults; titles may be sentences",
        ),
    ),
    row(
        704,
        "기존 `[[wikilink]]` 위치는 제외",
        "linking/test_places.py::test_what_is_no_running_text_is_no_place",
    ),
    row(
        708,
        "RAG 벡터 검색으로 유사 노트 찾기",
        "linking/test_meaning.py::test_a_phrase_means_the_note_whose_name_or_beginning_is_nearest",
        Departure(
            "vector search over the vault",
            "each phrase is compared with names and beginnings of notes, by the search embedder;"
            " `--no-semantic` uses names only",
            "a link leads to a note, not to a passage",
        ),
    ),
    row(
        709,
        "노트 제목/헤더/별칭과의 유사도 계산",
        "linking/test_anchors.py::test_a_note_is_called_by_title_file_name_path_aliases_and_first_heading",
    ),
    row(
        710,
        "Graph 연결 정보 활용 (있는 경우)",
        "linking/test_near.py::test_notes_that_share_neighbours_are_near_and_those_of_few_links_count_most",
    ),
    row(
        (713, 714, 715),
        "의미적 유사도 (임베딩 코사인) … 텍스트 매칭 점수 (제목/별칭 일치) … 문맥 적합성 점수",
        "linking/test_ranking.py::test_the_scores_shown_apart_are_the_parts_of_the_whole",
    ),
    row(
        718,
        "동일 대상에 대한 여러 앵커 중 최선 선택",
        "linking/test_suggest.py::test_each_target_comes_once_with_its_surest_anchor",
    ),
    row(
        719,
        "겹치는 앵커 범위 처리",
        "linking/test_suggest.py::test_whatever_a_draft_says_suggestions_are_apart_one_a_target_and_in_order",
    ),
    row(
        724,
        "gigamind suggest-links --note projects/gigamind.md --max 10 --min-confidence 0.5",
        Option("suggest-links", "--note"),
        Option("suggest-links", "--max"),
        Option("suggest-links", "--min-confidence"),
    ),
    row(
        (729, 731, 732, 733),
        'Found 3 link suggestions: … "RAG 시스템" → [[RAG 아키텍처]] … Position: 145-152, Confidence: 0.87 … Reason: 직접적인 개념 참조',
        "cli/test_suggest.py::test_a_suggestion_reads_as_the_format_says",
        f"{_DOCUMENTS}suggestions_are_shown_as_in_the_example",
        Departure(
            "`Position: 145-152`",
            "`Position: projects/gigamind.md:4`; the range is in `--json`",
            "people open files at a line, not at a UTF-16 offset",
        ),
        Departure(
            "`Reason: 직접적인 개념 참조`",
            "the deciding feature, such as 'the words are an alias of the target note', and a line `Scores` with the"
            " three scores of 10.3",
            "a reason with its evidence can be checked",
        ),
    ),
    row(
        (735, 739),
        '"벡터 검색" → [[LanceDB 통합]] … "지식 그래프" → [[Knowledge Graph 설계]]',
        "linking/test_meaning.py::test_the_example_of_the_seed_gives_its_three_links",
        f"{_DOCUMENTS}suggestions_are_shown_as_in_the_example",
        Departure(
            "three links above `--min-confidence 0.5`: 0.87, 0.72 and 0.65",
            "the same three from 0.3, the default, but two above 0.5: 0.68, 0.32 and 0.57 in a vault without links",
            "`confidence` is a probability, and phrases are rarely links: with all links hidden, people had linked"
            " 2 of 42 phrases that the score placed above 0.5",
        ),
    ),
    row(
        (747, 748, 749),
        "`eval links` 명령어가 `suggestLinks()` 함수를 호출 … ground truth (`links.jsonl`)와 비교 … Precision@K, Recall@K, Novelty",
        "tasks/links/test_run.py::test_five_notes_counted_by_hand",
        "cli/test_eval_links.py::test_the_examples_run_from_vault_to_report_in_one_go",
    ),
    beyond(
        "suggestions are shown",
        "also written: `--apply COPY`, `--in-place`, `--undo`",
        "a list of a thousand suggestions links nothing",
    ),
)

SECTIONS = (
    Section("000", "10.1-10.2", "Link suggestions: interface", _INTERFACE),
    Section("000", "10.3-10.5", "Link suggestions: how they are found and shown", _DEMANDS),
)
