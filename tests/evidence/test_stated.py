"""What a note does not state is found, and proves nothing, in every place that reads quotes."""

import pytest

from gigamind.assets import asset
from gigamind.evidence.align import align
from gigamind.evidence.stated import stated, unstated
from gigamind.judges.load import OF_ANSWERS, load_judge
from gigamind.judges.protocol import AnswerCase
from gigamind.judges.quotes import strongest
from gigamind.judges.search_qa.by_words import _judged_by_words
from gigamind.prompting.fences import Source

WORDS = load_judge(asset("judges") / "words.toml", kinds=OF_ANSWERS).file
LATE, EARLY = "The launch is on 12 March.", "The launch is on 5 March."


def parts(text):
    return [(span.slice(text).strip(), why) for span, why in unstated(text)]


@pytest.mark.each(
    "note, part, why",
    [
        ("배포일은 ~~3월 5일~~ 3월 12일입니다.", "~~3월 5일~~", "struck_out"),
        ("It costs <del>5</del> 6 euros.", "<del>5</del>", "struck_out"),
        ("| day | ~~5~~ |\n|---|---|\n| a | 6 |", "~~5~~", "struck_out"),
        ("A.\n\n<!-- B.\n\nC. -->\n\nD.", "<!-- B.\n\nC. -->", "comment"),
        ("A <!-- B --> C.", "<!-- B -->", "comment"),
        ("A %%B%% C.", "%%B%%", "comment"),
        ("> [!warning] Outdated\n> B.\n\nC.", "> [!warning] Outdated\n> B.", "outdated"),
        ("> [!deprecated]\n> B.\n\nC.", "> [!deprecated]\n> B.", "outdated"),
        ("> [!note]- 더 이상 유효하지 않은 내용\n> B.", "> [!note]- 더 이상 유효하지 않은 내용\n> B.", "outdated"),
        ("# A\n\n## Leave (outdated)\n\nB.\n\n### C\n\nD.\n\n## E\n\nF.", "B.\n\n### C\n\nD.", "outdated"),
        ("## 구버전 - 휴가\n\nB.", "B.", "outdated"),
        ("---\nstatus: superseded\n---\nB.", "B.", "outdated"),
        ("The owner is {{owner}}.", "{{owner}}", "placeholder"),
        ("Day <% tp.date.now() %>.", "<% tp.date.now() %>", "placeholder"),
        ("```yaml\n# replicas: 3\nreplicas: 5\n```", "# replicas: 3", "comment"),
        ("```js\n// start();\nstop();\n```", "// start();", "comment"),
        ("```c\n/* a = 1;\n   b = 2; */\nc = 3\n```", "/* a = 1;\n   b = 2; */", "comment"),
    ],
)  # fmt: skip
def test_a_part_that_its_author_does_not_state_has_a_reason(note, part, why):
    assert parts(note) == [(part, why)]
    assert len(stated(note)) == len(note)
    assert part.split()[-1] not in stated(note)


@pytest.mark.each(
    "note",
    [
        "A 5~~6 range, `~~code~~`, `<!--` and `{{name}}`.",
        "## Deprecation policy\n\nB.\n\n## 폐기 절차\n\nC.",
        "```yaml\n# The default is five replicas (three in tests).\nreplicas: 5\n```",
        "---\nstatus: active\n---\nB.\n\n> [!warning] Careful\n> C.",
        "The outdated form is void. 100%% sure.",
        "",
    ],
)
def test_other_text_is_stated(note):
    assert parts(note) == []
    assert stated(note) == note


@pytest.mark.each(
    "note",
    [
        f"~~{EARLY}~~ {LATE}",
        f"<!-- {EARLY} -->\n\n{LATE}",
        f"> [!caution] Outdated\n> {EARLY}\n\n{LATE}",
        f"# Launch\n\n{LATE}\n\n## Obsolete\n\n{EARLY}",
        "The launch is on ~~5 March~~ 12 March.",
        "The launch is on 12 March. ~~The launch is on 5 March.~~",
    ],
)
def test_a_claim_is_compared_with_the_stated_text_alone(note):
    def verdict(answer):
        case = AnswerCase("When is the launch?", answer, (Source("Launch", note),))
        (claim,) = _judged_by_words(case, WORDS).claims
        return claim.verdict

    assert verdict(LATE) == "supported"
    assert verdict(EARLY) in {"contradicted", "not_found"}


def test_a_quote_of_it_is_found_and_not_promotable():
    note = f"~~{EARLY}~~ {LATE}"
    found = align(EARLY, note)
    assert (found.unproven.reason, found.promotable) == ("struck_out", False)
    assert strongest(found, note, 8)[1] == "not_stated"
    assert align(LATE, note).promotable


def test_of_two_places_a_quote_takes_the_stated_one():
    note = f"<!-- {LATE} -->\n\n{LATE}"
    found = align(LATE, note)
    assert (found.promotable, found.span.start) == (True, note.rindex(LATE))


def test_a_claim_found_only_there_shows_the_reason():
    case = AnswerCase("?", EARLY, (Source("Launch", f"<!-- {EARLY} -->\n"),))
    (claim,) = _judged_by_words(case, WORDS).claims
    assert (claim.verdict, claim.doubt) == ("not_found", "not_stated")
