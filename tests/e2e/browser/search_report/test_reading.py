"""report.html in a real Chromium: what a reader meets, by eye, keyboard, phone and printer."""

import base64
import re
from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from gigamind.tasks.search.view import _failed_items

pytestmark = pytest.mark.browser
MARKED = re.compile(r"[*#|`\[>~^]|^- ", re.MULTILINE)


def test_a_query_opens_and_closes_by_keyboard(show, record):
    browser = show(record)
    toggle = browser.find_element(By.CSS_SELECTOR, ".toggle")
    toggle.send_keys(Keys.ENTER)
    assert toggle.get_attribute("aria-expanded") == "true"
    detail = browser.find_element(By.ID, toggle.get_attribute("aria-controls"))
    first = _failed_items(record.items)[0]  # the worst come first
    assert first.expected_notes[0] in detail.text
    assert [cell.text for cell in detail.find_elements(By.CSS_SELECTOR, ".hit .place")] == [
        str(rank) for rank in range(1, len(first.ranking) + 1)
    ]
    assert f"{first.ranking[0].base_score:.3f}" in detail.text
    toggle.send_keys(Keys.ENTER)
    assert not browser.find_elements(By.CSS_SELECTOR, ".detail")


def test_the_expected_passage_is_marked_inside_the_evidence(show, record):
    item, hit, expected = next(
        (item, hit, span)
        for item in record.items
        for hit in item.ranking
        for span in item.expected_spans
        if span.text in hit.chunk.text and len(hit.chunk.text) > len(hit.evidence.text) + 400
        if not MARKED.search(span.text)
    )
    browser = show(replace(record, items=[item.model_copy(update={"ranking": (hit,)})]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    for whole in browser.find_elements(By.CSS_SELECTOR, ".detail summary"):
        browser.execute_script("arguments[0].click()", whole)
    marked = WebDriverWait(browser, 60).until(
        lambda _: browser.find_elements(By.CSS_SELECTOR, ".ranking details mark")
    )
    told = "".join(mark.get_attribute("textContent") for mark in marked)
    assert told == expected.text


def test_evidence_is_what_the_run_showed_also_behind_emoji(show, record):
    """Offsets are UTF-16 units: a page that counted characters would be off behind the first emoji."""
    item = next(
        item
        for item in record.items
        if any(ord(char) > 0xFFFF for hit in item.ranking for char in hit.chunk.text)
    )
    browser = show(replace(record, items=[item]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    quotes = browser.find_elements(By.CSS_SELECTOR, ".ranking blockquote.short")
    shown = [
        "".join(
            part.get_attribute("textContent")
            for part in quote.find_elements(By.CLASS_NAME, "shown")
        )
        for quote in quotes
    ]
    told = [hit.evidence.text for hit in item.ranking]
    plain = [at for at, text in enumerate(told) if not MARKED.search(text)]
    assert len(plain) > 3
    assert [shown[at] for at in plain] == [told[at] for at in plain]


def test_a_note_goes_by_its_title_and_the_query_s_words_in_its_evidence_are_strong(show, record):
    item, hit = next((item, hit) for item in record.items for hit in item.ranking if hit.highlights)
    browser = show(replace(record, items=[item.model_copy(update={"ranking": (hit,)})]))
    browser.find_element(By.CSS_SELECTOR, ".toggle").click()
    assert browser.find_element(By.CSS_SELECTOR, ".hit .note").text.startswith(
        f"{hit.title}\n{hit.note}"
    )
    strong = browser.find_elements(By.CSS_SELECTOR, "blockquote.short .word")
    units, first = hit.evidence.text.encode("utf-16-le"), hit.evidence.utf16_start
    starts = [len(units[: 2 * (start - first)].decode("utf-16-le")) for start, _ in hit.highlights]
    words = [
        word[0] for word in re.finditer(r"\w+", hit.evidence.text) if word.start() in {*starts}
    ]
    assert words
    assert [word.get_attribute("textContent") for word in strong] == words


STRONG = [
    ("연차는 첫해에 15일", [(0, 2), (5, 6)], ["연차는"]),  # from within: 해
    ("집에서 일할 수", [(1, 3)], []),  # an ending that many words have
    ("오전 11시에 연다", [(3, 5)], ["11시에"]),
    ("the roses stand", [(4, 9), (10, 13)], ["roses", "stand"]),
    ("[[안내]]부터 **표**는 `a`", [(6, 8), (14, 15), (17, 18)], ["a"]),
    ("東京都の公園", [(1, 3)], ["京", "都"]),
]


def test_words_are_strong_as_a_whole_and_only_from_their_beginning(show, record):
    script = "return wholeWords(...arguments).map(([start, end]) => arguments[0].slice(start, end))"
    browser = show(replace(record, items=record.items[:1]))
    for text, places, whole in STRONG:
        assert browser.execute_script(script, text, places) == whole


READ = [
    ("## 카드를 잃어버렸다면\n\n- **바로** 전화", "카드를 잃어버렸다면\n\n바로 전화"),
    ("[[helmet-box|헬멧 보관함]]에 로고", "헬멧 보관함에 로고"),
    ("[[policies/on-call#^ack-times]]와 ![[map.png]]", "policies/on-call와 map.png"),
    ("[[#요금]], [표](https://a.example/x)", "요금, 표"),
    ("| 이름 | 값 |\n|---|---:|\n| 패스 | *월* 14,900원 |", "이름 | 값\n패스 | 월 14,900원"),
    ("> 2 * 3 * 4 = 24, `a_b` ~~아님~~ ^rule-1", "2 * 3 * 4 = 24, a_b 아님"),
    ("2. 순서, snake_case, [노트 1], a|b, C#", "2. 순서, snake_case, [노트 1], a|b, C#"),
]


def test_quotes_are_read_without_the_marks_of_markdown(show, record):
    browser = show(replace(record, items=record.items[:1]))
    parts = "const [text, at] = arguments; const marks = marksOf(text);"
    together = (
        f"{parts} return readable(text, 0, at, marks) + readable(text, at, text.length, marks)"
    )
    for text, read in READ:
        assert browser.execute_script("return readable(arguments[0])", text) == read
        for at in range(len(text)):  # wherever a highlight cuts it
            assert browser.execute_script(together, text, at) == read


def test_the_korean_page_speaks_korean(show, reader, record):
    browser = show(record, lang="ko")
    assert "158" in browser.find_element(By.TAG_NAME, "h1").text
    assert reader.numbers() == [1, 50, 202]
    labels = [label.text for label in browser.find_elements(By.CSS_SELECTOR, "fieldset label")]
    assert len(labels) == 4
    assert not re.search("[a-z]", " ".join(labels))


def test_text_has_the_contrast_that_wcag_asks_for(show, reader, record):
    show(record)
    for scheme in ("light", "dark"):
        reader.prefer(scheme)
        for text in ("ink", "muted", "accent", "warn"):
            assert reader.contrast(text, "paper") >= 4.5, (scheme, text)
        for paper in ("raised", "soft", "mark", "hit", "miss", "novel", "linked"):
            assert reader.contrast("ink", paper) >= 4.5, (scheme, paper)


def test_the_page_prints(show, record):
    browser = show(record)
    printed = base64.b64decode(browser.print_page())
    assert printed.startswith(b"%PDF")


def test_a_word_in_the_head_of_a_table_is_not_broken_on_a_phone(show, record):
    browser = show(record, width=390, lang="ko")
    toggle = browser.find_element(By.CSS_SELECTOR, ".toggle")
    browser.execute_script("arguments[0].click()", toggle)
    heads = browser.find_elements(By.CSS_SELECTOR, ".ranking thead th")
    assert heads[0].text == "#"
    lines = browser.execute_script(
        "const range = document.createRange(); range.selectNodeContents(arguments[0]);"
        " return range.getClientRects().length",
        heads[0],
    )
    assert lines == 1
