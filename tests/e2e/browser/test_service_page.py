"""The page of the Search-QA service in a real Chromium, before a service that plays scenes."""

import contextlib
import re
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from typing import Any

import demo_serve
import pytest
from faulty_model import run
from selenium.common.exceptions import StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait
from service_stand_in import Note, Said, Scene, StandIn, checklist, evaluated

from gigamind.i18n import translator
from gigamind.reports.labels import LABELS

pytestmark = pytest.mark.browser

LEAVE = Note(
    "policies/휴가 규정.md",
    "휴가 규정",
    "---\ntitle: 휴가 규정\n---\n# 휴가 규정\n\n🏝️ 쉬는 날을 적습니다.\n\n"
    "- 1년을 채우면 **15일**이 생깁니다. 반차도 있습니다.\n- 팀장 승인은 따로 없습니다.\n\n"
    "| 사유 | 일수 |\n|---|---|\n| 조부모 상 | 3일 |\n",
    shown_from=30,  # behind the properties, the emoji and half a sentence
)
REMOTE = Note("재택.md", "재택근무 원칙", "일주일에 이틀까지 집에서 일합니다.\n")
HOSTILE = "<script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
EVIL = Note("evil.md", HOSTILE, f"# {HOSTILE}\n\n{HOSTILE} 안전합니다.\n\n| {HOSTILE} |\n")

ANSWER = (
    "1년을 채우면 **15일**이 생깁니다 [노트 1]. 조부모 상에는 3일입니다 [노트 1]. 팀장 승인이 필요합니다. "
    "병가는 30일입니다. 반차는 네 시간입니다."
)
CLAIMS = (
    Said(
        "1년을 채우면 **15일**이 생깁니다 [노트 1].",
        *("supported", 1, "1년을 채우면 **15일**이 생깁니다."),
    ),
    Said("조부모 상에는 3일입니다 [노트 1].", "supported", 1, "조부모 상 | 3일"),
    Said("팀장 승인이 필요합니다.", "contradicted", 1, "팀장 승인은 따로 없습니다."),
    Said("병가는 30일입니다.", "not_found"),
    Said("반차는 네 시간입니다.", "unverified", None, "반차는 네 시간", "quote_not_in_note"),
)
SILENT = "노트에는 나와 있지 않습니다."
WHY = {"quality": "daily_budget", "qa_evaluation": "truncated"}


def torn(text):
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def scene(
    answer=ANSWER, claims=CLAIMS, notes=(LEAVE, REMOTE), yes=(True, True, True, False), **told
):
    found = [note.note_id for note in notes]
    return Scene(torn(answer), found, checklist(*yes), evaluated(answer, notes, claims, **told))


GRADES = {
    "high": {"correctness": 0.92, "utility": 0.75},
    "medium": {"correctness": 0.4 + 0.2, "utility": 0.9},
    "low": {"correctness": 0.25, "utility": 0.4},
}
SCENES = {
    **{name: scene(confidence=name, **figures) for name, figures in GRADES.items()},
    "full": scene(
        confidence="low",
        correctness=0.4,
        utility=0.75,
        summary="반만 맞습니다.",
        left_out=[("재택 일수", 2, "일주일에 이틀까지")],
    ),
    "proven": scene(claims=CLAIMS[:2], confidence="high", correctness=1.0, utility=1.0),
    "silent": scene(SILENT, (), outcome="abstained", abstains=True, yes=(True, False, False, True)),
    "unjudged": Scene(torn(ANSWER), [LEAVE.note_id], why=WHY),
    "dies": Scene(torn(SILENT), [LEAVE.note_id], error=("rate_limited", "429 from upstream")),
    "breaks": Scene(torn(SILENT), [LEAVE.note_id], breaks=True, pause_s=0.02),
    "endless": Scene(torn(SILENT), [LEAVE.note_id], waits="answer"),
    "slow": Scene(
        torn(ANSWER),
        [LEAVE.note_id],
        checklist(True, True, True, True),
        evaluated(ANSWER, [LEAVE], CLAIMS, confidence="high", correctness=1.0),
        waits="evaluation",
    ),
    "evil": scene(
        f"{HOSTILE} 안전합니다 [노트 1].",
        [Said("안전합니다 [노트 1].", "supported", 1, f"{HOSTILE} 안전합니다.")],
        notes=(EVIL,),
        confidence="high",
        correctness=1.0,
        summary=HOSTILE,
    ),
    "numbers": scene(
        "팀장이 3시간 안에 승인합니다. 첫해에 20일이 생깁니다 [노트 9].",
        [
            Said(
                "팀장이 3시간 안에 승인합니다.",
                *("unverified", 1, "팀장 승인은 따로 없습니다.", "contradiction", ("3시간",)),
            ),
            Said(
                "첫해에 20일이 생깁니다 [노트 9].",
                *("unverified", 1, "**15일**이 생깁니다.", "contradiction", ("20일",)),
            ),
        ],
        confidence="low",
        correctness=0.0,
    ),
    "beside": scene(notes=(LEAVE,), confidence="low", correctness=0.4),
}


@dataclass(frozen=True)
class Visitor:
    """What a person does with the page, and sees of it."""

    browser: Any
    address: str

    def open(self, path="", width=1280):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        self.browser.get("about:blank")  # else another part of the page would open without a load
        self.browser.get(f"{self.address}/{path}")
        self.wait(".composer, #list a, dialog[open]")

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return [one.text for one in self.all(selector)]

    @property
    def waiting(self):
        """What the page replaces while it is looked at is looked for again."""
        replaced = [StaleElementReferenceException]
        return WebDriverWait(self.browser, 60, poll_frequency=0.02, ignored_exceptions=replaced)

    def wait(self, selector):
        """The first element, as soon as it is there to be seen."""

        def seen(_):
            return next((one for one in self.all(selector) if one.is_displayed()), None)

        return self.waiting.until(seen)

    def wait_for_text(self, selector, text):
        self.waiting.until(lambda _: text in self.texts(selector))

    def wait_for_texts(self, selector, *parts):
        """Wait until there are as many elements as parts, each with its part in its text: some load later."""

        def shown(_):
            texts = self.texts(selector)
            return len(texts) == len(parts) and all(map(str.__contains__, texts, parts))

        self.waiting.until(shown)

    def click(self, selector):
        self.browser.execute_script("arguments[0].click()", self.wait(selector))

    def ask(self, question, until=".evaluation", view="#chat"):
        self.wait(f"{view} textarea").send_keys(question + "\n")
        return self.wait(f"{view} .exchange:last-child {until}")

    def style(self, element, name):
        return element.value_of_css_property(name)

    def width(self):
        return self.browser.execute_script("return document.documentElement.scrollWidth")


@pytest.fixture(scope="module")
def service():
    with run(StandIn([LEAVE, REMOTE, EVIL], SCENES)) as service:
        yield service


def wants(browser, *languages):
    """Have the browser ask for these languages, the first before the others."""
    agent = browser.execute_script("return navigator.userAgent")
    header = ",".join(languages)
    asked = {"userAgent": agent, "acceptLanguage": header}
    browser.execute_cdp_cmd("Emulation.setUserAgentOverride", asked)


@pytest.fixture(scope="module", autouse=True)
def _korean(browser):
    wants(browser, "ko-KR", "en-US")
    yield
    wants(browser, "en-US")


@pytest.fixture
def visit(browser, service):
    """A first visit; the console has no error but those of requests that the test lets fail."""
    service.go_on.clear()
    service.left.clear()
    visitor = Visitor(browser, service.address)
    browser.get(service.address)
    browser.execute_script("localStorage.clear(); sessionStorage.clear()")
    browser.get_log("browser")
    visitor.open()
    yield visitor
    browser.execute_script("localStorage.clear()")  # now: a page that loads keeps its language
    assert [one for one in browser.get_log("browser") if one["source"] != "network"] == []


def test_badges_come_only_when_the_answer_has_ended(visit, service):
    running = visit.ask("slow", ".assessment [role=status]")
    assert running.text == "평가 중…"
    assert visit.texts(".note-chip .name") == ["휴가 규정"]
    assert visit.wait(".answer-text").text.startswith("1년을 채우면 15일이 생깁니다")
    assert not visit.all(".badge:not(.welcome *)")
    service.go_on.set()
    visit.wait(".evaluation")
    assert not visit.all(".assessment [role=status]")
    evaluation, checklist = visit.all(".assessment .badge")
    assert "high" in evaluation.get_attribute("class")
    assert checklist.text == "체크리스트 통과"
    assert service.asked[-1]["options"] == {"mode": "search"}


@pytest.mark.parametrize(
    ("grade", "drawing", "words", "figures"),
    [
        ("high", "shield-check", "높은 신뢰도", "정확성 92% · 유용성 75%"),
        ("medium", "triangle-alert", "보통 신뢰도", "정확성 60% · 유용성 90%"),
        ("low", "octagon-alert", "낮은 신뢰도", "정확성 25% · 유용성 40%"),
    ],
)
def test_each_level_has_its_colour_its_icon_and_its_words(visit, grade, drawing, words, figures):
    visit.ask(grade)
    badge = visit.wait(f".evaluation .badge.{grade}")
    assert badge.text == words
    assert badge.find_elements(By.CSS_SELECTOR, f".icon.{drawing}")
    assert visit.texts(".evaluation .headline .figures") == [figures]
    told = {
        meter.accessible_name: meter.get_attribute("aria-valuenow")
        for meter in visit.all(".evaluation [role=meter]")
    }
    assert told == {
        name: str(round(GRADES[grade][field] * 100))
        for name, field in (("정확성", "correctness"), ("유용성", "utility"))
    }


def test_three_levels_have_three_colours(visit):
    colours = {
        grade: visit.style(visit.wait(f".welcome .badge.{grade}"), "color") for grade in GRADES
    }
    assert len(set(colours.values())) == 3


def test_an_answer_that_says_that_the_notes_do_not_tell_has_a_neutral_badge(visit):
    visit.ask("silent")
    assert visit.texts(".evaluation .badge") == ["노트에 답이 없다고 답함"]
    assert visit.texts(".evaluation .headline .figures") == ["유용성 100%"]
    assert visit.texts(".bar .value") == ["측정하지 않음", "100%"]
    assert visit.texts(".quality .badge") == ["체크리스트 미통과"]


def test_the_checklist_unfolds(visit):
    visit.ask("high")
    assert [re.findall(r"\d", text) for text in visit.texts(".quality .figures")] == [["4", "3"]]
    assert visit.texts(".checks li") == [""] * 4
    visit.click(".quality summary")
    assert visit.texts(".checks li.yes div > span:last-of-type") == [
        "질문에 직접적으로 답변했는가?",
        "검색 결과를 근거로 활용했는가?",
        "출처(노트 제목 등)를 명시했는가?",
    ]
    assert len(visit.texts(".checks li.no span.hidden")) == 1


def test_sources_unfold_and_their_passages_are_marked_in_the_note(visit):
    visit.ask("full")
    visit.click(".coverage summary")
    [coverage] = visit.texts(".coverage .figures")
    assert re.findall(r"\d+", coverage) == ["2", "1"]
    cited = [row.text for row in visit.all(".coverage .use")]
    assert cited == ["1\n휴가 규정\n인용됨", "2\n재택근무 원칙\n미인용"]
    # behind an emoji, which is two UTF-16 code units, and within bold text and cells of a table
    visit.wait_for_texts(
        ".coverage .passage mark", "1년을 채우면", "15일", "이 생깁니다.", "조부모 상", "3일"
    )
    assert "반차도 있습니다." in visit.wait(".coverage .passage").text
    visit.wait_for_texts(
        ".omissions p, .omissions mark",
        *("재택 일수", "일주일에 이틀까지 집에서 일합니다.", "일주일에 이틀까지"),
    )
    visit.click(".coverage .passage .link")
    visit.wait(".sheet mark")
    found = visit.texts(".sheet h2, .sheet mark")
    assert found == ["휴가 규정", "1년을 채우면", "15일", "이 생깁니다."]


def test_issues_say_what_is_wrong_and_show_what_the_note_says(visit):
    visit.ask("full")
    assert visit.texts(".issue") == [
        "‘팀장 승인이 필요합니다.’ — 노트의 내용과 다릅니다.",
        "‘병가는 30일입니다.’ — 노트에 없는 내용입니다.",
        "‘반차는 네 시간입니다.’ — 근거로 든 인용이 뒷받침하지 못합니다.",
    ]
    assert visit.texts(".issues > ul > li > div > .aside") == [
        translator("ko")(LABELS["quote_not_in_note"])
    ]
    visit.wait_for_texts(".issues mark", "팀장 승인은 따로 없습니다.")
    assert not visit.all(".no-issues")
    visit.open()
    visit.ask("proven")
    visit.wait_for_texts(".no-issues", "근거 문제 없음")
    assert not visit.all(".issues")


def test_a_number_that_contradicts_none_is_named_and_so_is_a_note_that_there_is_not(visit):
    visit.ask("numbers")
    new, contradicted = visit.texts(".issues > ul > li > div > .aside")
    assert "3시간" in new
    assert "20일" not in contradicted
    visit.click(".coverage summary")
    assert visit.texts(".coverage .use")[-1].startswith("9\n")
    visit.click("#language")
    visit.waiting.until(lambda _: visit.texts(".issues .aside")[0].startswith("The claim"))
    assert "3시간" in visit.texts(".issues .aside")[0]


def test_claims_are_marked_by_line_sign_and_words_and_lead_to_their_evidence(visit):
    visit.ask("full")
    lines = {
        verdict: visit.style(visit.wait(f".answer-text .claim.{verdict}"), "text-decoration-style")
        for verdict in ("supported", "contradicted", "not_found", "unverified")
    }
    assert len(set(lines.values())) == 4
    signs = visit.all(".answer-text button.verdict")
    names = [sign.accessible_name for sign in signs]
    assert [re.findall(r"\d+", name) for name in names] == [[str(n)] for n in range(1, 6)]
    assert len({re.sub(r"\d", "", name) for name in names}) == 4  # two claims are supported
    for sign, expected in ((signs[1], "조부모 상에는 3일입니다"), (signs[3], "병가는 30일입니다")):
        visit.browser.execute_script("arguments[0].click()", sign)
        assert expected in visit.browser.switch_to.active_element.text
    visit.click(".answer-text .citation")
    visit.wait(".sheet mark")
    assert len(visit.all(".sheet mark")) == 6  # of all three claims that rest on the note


def test_the_language_changes_what_is_there_and_stays(visit):
    visit.ask("high")
    visit.click("#language")
    visit.wait_for_text(".evaluation .badge", "High confidence in the answer")
    assert visit.texts(".evaluation .headline .figures") == ["Correctness 92% · Utility 75%"]
    found = visit.texts(".coverage .title, .matched h3, nav a")
    assert found == ["Chat", "Notes", "Notes found", "Use of sources"]
    visit.open()
    assert visit.browser.execute_script("return document.documentElement.lang") == "en"
    visit.ask("high")
    visit.click("#language")
    visit.wait_for_text(".evaluation .badge", "높은 신뢰도")
    assert visit.browser.execute_script("return document.documentElement.lang") == "ko"


@pytest.mark.parametrize(
    ("languages", "shown"),
    [(["ko-KR", "en-US"], "ko"), (["de", "en-GB", "ko"], "en"), (["fr"], "ko")],
)
def test_a_first_visit_is_in_the_language_that_the_browser_asks_for(visit, languages, shown):
    browser = visit.browser
    wants(browser, *languages)
    try:
        browser.execute_script("localStorage.clear()")
        visit.open()
        assert browser.execute_script("return document.documentElement.lang") == shown
        visit.click("#language")
        other = {"ko": "en", "en": "ko"}[shown]
        visit.wait(f"html[lang={other}]")
        visit.open()  # what was chosen stays
        assert browser.execute_script("return document.documentElement.lang") == other
    finally:
        wants(browser, "ko-KR", "en-US")


def test_an_answer_without_an_evaluation_says_why(visit):
    visit.ask("unjudged", ".missing")
    visit.wait_for_texts(".missing .badge", "신뢰도", "체크리스트")
    visit.wait_for_texts(".missing .aside", "잘렸", "예산")
    assert not visit.all(".evaluation")


@pytest.mark.parametrize(
    ("question", "sentence"),
    [
        ("dies", "모델 서버에 요청이 너무 많습니다. 잠시 뒤 다시 물어보십시오."),
        ("breaks", "서버와 연결이 끊겼습니다."),
    ],
)
def test_what_had_streamed_stays_when_the_answer_breaks_off(visit, question, sentence):
    alert = visit.ask(question, "[role=alert]")
    assert alert.text == f"답변이 중간에 끊겼습니다. {sentence}"
    assert visit.texts(".answer-text") == [SILENT]
    assert not visit.all(".assessment .badge")
    visit.click(".exchange .state button")
    visit.wait(".exchange:nth-child(2) [role=alert]")
    assert visit.texts(".asked") == [question, question]


def test_a_question_that_is_refused_says_why(visit):
    alert = visit.ask("unknown", "[role=alert]")
    assert alert.text == "답변을 받지 못했습니다. unknown question"


def test_stop_ends_the_stream_and_keeps_the_text(visit, service):
    visit.ask("endless", ".answer-text p")
    visit.wait_for_text(".answer-text", SILENT)
    stop = visit.wait("#chat .send")
    assert stop.accessible_name == "중단"
    stop.click()
    visit.wait_for_text(
        ".state [role=status]", "중단했습니다. 받은 데까지만 보여 주며, 평가하지 않았습니다."
    )
    assert service.left.wait(10)
    assert visit.texts(".answer-text") == [SILENT]
    assert stop.accessible_name == "보내기"


def test_text_of_others_runs_nothing(visit):
    visit.ask("evil")
    visit.click(".coverage summary")
    visit.click(".answer-text .citation")
    visit.wait(".sheet mark")
    assert HOSTILE in visit.wait(".sheet .note-text").text
    assert HOSTILE in visit.wait(".answer-text").text
    assert visit.texts(".summary, .note-chip .name, .sheet h2") == [HOSTILE] * 3
    assert visit.browser.execute_script("return window.pwned") is None
    assert (len(visit.all("img")), len(visit.all("script"))) == (0, 1)


def test_the_reason_and_what_is_doubtful_come_before_figures_and_evidence(visit):
    visit.ask("full")
    assert re.findall(r"\d", visit.wait(".evaluation .reason").text) == ["5", "2"]
    order = (".headline", ".reason", ".issues", ".bars", ".coverage")
    heights = [visit.wait(f".evaluation > {part}").location["y"] for part in order]
    assert heights == sorted(heights)
    assert visit.wait(".evaluation").location["y"] < visit.wait(".quality").location["y"]


def test_a_dark_screen_has_light_text_on_a_dark_page(visit):
    def brightness(name):
        script = f"return getComputedStyle(document.body).{name}"
        return sum(map(int, re.findall(r"\d+", visit.browser.execute_script(script))))

    assert brightness("color") < brightness("backgroundColor")
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    visit.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    try:
        assert brightness("color") > brightness("backgroundColor")
    finally:
        visit.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_phone_never_scrolls_sideways(visit):
    visit.open(width=390)
    assert visit.width() == 390
    visit.ask("full")
    visit.click(".quality summary")
    visit.click(".coverage summary")
    visit.wait(".coverage table")
    assert visit.width() == 390
    visit.open("#/notes", 390)
    visit.click("#list a")
    visit.wait("#reader table")
    assert visit.width() == 390
    visit.click(".panes [data-pane=ask]")
    visit.ask("beside", view="#beside")
    assert visit.width() == 390


def test_the_panel_asks_the_note_that_is_open_and_shows_passages_in_it(visit, service):
    visit.open("#/notes")
    visit.wait("#list a")
    assert visit.texts("#list .name") == ["휴가 규정", "재택근무 원칙", HOSTILE]
    visit.wait("#filter").send_keys("휴가")
    visit.waiting.until(
        lambda _: [re.sub(r"\D", "", x) for x in visit.texts("#list [role=status]")] == ["1"]
    )
    visit.click("#list a")
    visit.wait("#reader table")
    assert not visit.all("#reader mark")
    visit.ask("beside", view="#beside")
    assert service.asked[-1]["options"] == {"note_id": LEAVE.note_id}
    visit.click("#beside .issues .passage .link")
    visit.wait_for_text("#reader mark", "팀장 승인은 따로 없습니다.")


def test_feedback_is_there_only_where_it_is_on_and_the_page_says_so(visit, browser):
    visit.ask("full")
    assert not visit.all(".opinion button, .recorded, .evaluation button.quiet")
    with run(StandIn([LEAVE, REMOTE], SCENES, feedback=True)) as service:
        reader = Visitor(browser, service.address)
        reader.open()
        assert "기록" in reader.wait(".recorded").text
        reader.ask("full")
        reader.click(".opinion .bad")
        reader.wait(".opinion .bad[aria-pressed=true]")
        reader.click(f"#{reader.all('.issues > ul > li')[1].get_attribute('id')} button.quiet")
        reader.wait(".issues button[aria-pressed=true]")
        reader.click(".opinion button.quiet")
        reader.wait_for_text(".opinion [role=status]", "질문을 저장했습니다.")
        assert service.recorded == [
            ("/api/feedback", {"answer_id": "0", "kind": "answer", "good": False}),
            ("/api/feedback", {"answer_id": "0", "kind": "claim", "claim_id": 4, "good": False}),
            ("/api/questions", {"answer_id": "0"}),
        ]


def test_a_token_is_asked_for_until_it_is_right_and_then_kept(browser):
    with run(StandIn([LEAVE], SCENES, token="geheim")) as service:
        reader = Visitor(browser, service.address)
        reader.open()
        for token in ("wrong", "geheim"):
            reader.wait("#token").send_keys(token + "\n")
            reader.wait(".composer, dialog [role=alert]")
        reader.ask("proven")
        reader.open()
        assert not reader.all("dialog[open]")


def test_a_passage_is_found_by_its_offsets_and_else_by_the_words_around_it(visit):
    selector = {"exact": "A", "prefix": "🚲", "suffix": ""}
    places = visit.browser.execute_async_script(
        """const [texts, evidence, done] = arguments;
        import("./notes.js").then(({ locate }) => done(texts.map((text) => locate(text, evidence))));""",
        ["A AA 🚲A", "new A 🚲A", "A alone", "none"],
        {"utf16_start": 3, "utf16_end": 4, "selector": selector},
    )
    assert places == [{"start": 3, "end": 4}, {"start": 8, "end": 9}, {"start": 0, "end": 1}, None]


def test_events_are_read_whatever_pieces_they_come_in(visit):
    stream = (
        ": heartbeat\n\nevent: a\r\ndata: 1\ndata: 둘\r\n\r\n\rdata:{}\n\nevent: lost\ndata: 3\n"
    )
    told = visit.browser.execute_async_script(
        """const [stream, done] = arguments;
        import("./api.js").then(async ({ events }) => {
          const all = [];
          for (let size = 1; size <= stream.length; size++) {
            let at = 0;
            const read = async () => (at < stream.length ? { value: stream.slice(at, (at += size)) } : { done: true });
            const told = [];
            for await (const { event, data } of events({ read })) told.push([event, data]);
            all.push(told);
          }
          done(all);
        });""",
        stream,
    )
    assert told == [[["a", "1\n둘"], ["message", "{}"]]] * len(stream)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """The address of what `make serve` starts."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    given = (
        "--port",
        str(port),
        "--mode",
        "keyword",
        "--cache-dir",
        str(tmp_path_factory.mktemp("cache")),
    )
    with subprocess.Popen([sys.executable, demo_serve.__file__, *given]) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            with (
                contextlib.suppress(OSError),
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz"),
            ):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def test_who_asks_the_real_service_sees_the_badge_and_the_source(browser, demo):
    reader = Visitor(browser, demo)
    reader.open()
    browser.execute_script("localStorage.clear()")
    reader.open()
    reader.ask("병가는 며칠까지 유급인가요?")
    assert reader.wait(".answer-text .claim.supported").text.startswith("1년에 10일까지 유급입니다")
    assert len(reader.all(".evaluation .badge.high, .evaluation .badge.medium")) == 1
    reader.click(".coverage summary")
    reader.click(".coverage .passage .link")
    reader.wait(".sheet mark")
    assert reader.texts(".sheet h2, .sheet mark") == ["휴가 규정", "1년에 10일까지 유급입니다."]
    marks = reader.all(".scripted, .by-script")
    assert [mark.is_displayed() for mark in marks] == [True, True, True]
