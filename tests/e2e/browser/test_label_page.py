"""The page of `gigamind label` in a real Chromium, by keyboard only."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from label_runs import label_run, session
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from served_app import serving_app

from gigamind.assurance.label_file import read_rows
from gigamind.i18n import script_messages
from gigamind.service.label_app import create_label_app, write_offline_page

pytestmark = pytest.mark.browser

JUDGE_SAYS = "The judge says: {verdict}"


@dataclass(frozen=True)
class Annotator:
    """What a person types, and sees of the page."""

    browser: Any

    def open(self, url, width=1280, lang="en"):
        self.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        self.browser.get(url)
        self.wait(lambda: self.text("#asked"))
        self.browser.execute_script("localStorage.setItem('gigamind.language', arguments[0])", lang)
        self.browser.refresh()
        self.wait(lambda: self.text("#asked"))

    def press(self, *keys):
        ActionChains(self.browser).send_keys(*keys).perform()

    def wait(self, seen):
        return WebDriverWait(self.browser, 30, poll_frequency=0.02).until(lambda _: seen())

    def text(self, selector):
        script = "return document.querySelector(arguments[0])?.textContent ?? ''"
        return self.browser.execute_script(script, selector)

    def is_hidden(self, selector):
        return self.browser.execute_script(
            "return document.querySelector(arguments[0]).hidden", selector
        )

    def task(self):
        return self.text("#task")

    def choose(self, number):
        """Press a digit and return what the page then says about the judge."""
        assert self.is_hidden("#reveal")
        assert self.text("#reveal") == ""
        self.press(str(number))
        self.wait(lambda: not self.is_hidden("#reveal"))
        return self.text("#reveal strong")

    def go_on(self, key=Keys.ENTER):
        before = self.task()
        self.press(key)
        self.wait(lambda: self.task() != before)

    def labels(self, path):
        return [(row.key, row.choice) for row in read_rows(path)]


@pytest.fixture
def files(tmp_path):
    return label_run(tmp_path / "run"), tmp_path / "labels.jsonl"


@pytest.fixture
def url(files):
    app = create_label_app(session(*files, count=10), "mina", "en")
    with serving_app(app) as (address, _server):
        yield address


@pytest.fixture
def annotator(browser):
    browser.get_log("browser")
    yield Annotator(browser)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize("lang", ["ko", "en"])
def test_twenty_tasks_are_labelled_by_keyboard_and_each_verdict_comes_after_the_choice(
    annotator, files, url, lang
):
    annotator.open(url, lang=lang)
    table, revealed = script_messages(lang), set()
    for _ in range(20):
        revealed.add(annotator.choose(1))
        annotator.go_on()
    expected = {
        table.get(JUDGE_SAYS, JUDGE_SAYS).replace("{verdict}", table.get(verdict, verdict))
        for verdict in ("Supported", "Not in the notes", "Yes")
    }
    assert revealed == expected
    assert len(annotator.labels(files[1])) == 20
    assert annotator.browser.get_log("browser") == []


def test_a_reload_shows_the_first_task_that_has_no_label(annotator, url):
    annotator.open(url)
    annotator.choose(2)
    annotator.go_on()
    task = annotator.task()
    annotator.browser.refresh()
    annotator.wait(lambda: annotator.task() == task)
    annotator.press(Keys.ARROW_LEFT)
    annotator.wait(lambda: annotator.task() != task)
    pressed = annotator.browser.find_element(By.CSS_SELECTOR, "[aria-pressed=true]")
    assert pressed.get_attribute("id") == "choice-2"


def test_keys_do_not_act_in_a_reason_and_enter_saves_it(annotator, files, url):
    annotator.open(url)
    annotator.press("n", "1 us 휴가?", Keys.ENTER)
    assert annotator.labels(files[1]) == []
    annotator.choose(3)
    assert [(row.choice, row.reason) for row in read_rows(files[1])] == [
        ("not_found", "1 us 휴가?")
    ]


def test_undo_skip_and_the_list_of_keys(annotator, files, url):
    annotator.open(url)
    first = annotator.task()
    annotator.choose(1)
    annotator.go_on(Keys.ARROW_RIGHT)
    annotator.press("u")
    annotator.wait(lambda: annotator.task() == first and annotator.is_hidden("#reveal"))
    annotator.press("?")
    annotator.press("1")
    assert annotator.browser.find_element(By.ID, "help").is_displayed()
    annotator.press(Keys.ESCAPE)
    annotator.go_on("s")
    rows = read_rows(files[1])
    found = [(row.choice, row.withdrawn, row.skipped) for row in rows]
    assert found == [("supported", False, False), ("", True, False), ("", False, True)]


def test_the_passage_is_in_view_and_text_of_notes_never_becomes_markup(annotator, url):
    annotator.open(url)
    offsets = annotator.browser.execute_script(
        "const box = document.querySelector('.source'), mark = box.querySelector('mark');"
        "const [b, m] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];"
        "return [m.top - b.top, b.bottom - m.bottom, document.querySelectorAll('#task b').length]"
    )
    assert offsets[0] >= 0
    assert offsets[1] >= 0
    assert offsets[2] == 0


def test_a_label_that_the_server_does_not_get_is_kept_and_sent_later(annotator, files, url):
    annotator.open(url)
    network = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    annotator.browser.execute_cdp_cmd("Network.enable", {})
    annotator.browser.execute_cdp_cmd(
        "Network.emulateNetworkConditions", {**network, "offline": True}
    )
    try:
        annotator.press("1")
        annotator.wait(
            lambda: (
                "trouble" in annotator.browser.find_element(By.ID, "saved").get_attribute("class")
            )
        )
        annotator.go_on()
        annotator.press("2")
    finally:
        annotator.browser.execute_cdp_cmd(
            "Network.emulateNetworkConditions", {**network, "offline": False}
        )
        annotator.browser.execute_cdp_cmd("Network.disable", {})
    annotator.wait(lambda: not annotator.is_hidden("#reveal"))
    assert [choice for _key, choice in annotator.labels(files[1])] == ["supported", "contradicted"]
    annotator.browser.get_log("browser")


def test_disputed_tasks_are_listed_and_settled(annotator, files, url):
    annotator.open(url)
    annotator.choose(1)
    annotator.browser.execute_script("localStorage.setItem('gigamind.annotator.mina', 'joon')")
    annotator.browser.refresh()
    annotator.wait(lambda: annotator.text("#asked"))
    annotator.choose(2)
    annotator.browser.find_element(By.ID, "settle").send_keys(Keys.ENTER)
    annotator.wait(lambda: annotator.text(".disputed"))
    assert annotator.text(".disputed .aside") == "mina: Supported · joon: Contradicted"
    annotator.press("1")
    annotator.wait(lambda: not annotator.text(".disputed"))
    assert [row.settled for row in read_rows(files[1])] == [False, False, True]


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("lang", ["ko", "en"])
def test_the_page_fits_and_each_control_has_a_name(annotator, url, width, lang):
    annotator.open(url, width, lang)
    annotator.choose(1)
    measured = annotator.browser.execute_script(
        "const boxes = [...document.querySelectorAll('.choices button')].map((one) => one.getBoundingClientRect());"
        "return [document.documentElement.scrollWidth, boxes.map((box) => box.top), boxes.map((box) => box.width)]"
    )
    page, tops, widths = measured
    assert page <= width
    assert len(set(tops)) == (3 if width == 390 else 1)
    assert min(widths) > 0.3 * width
    controls = annotator.browser.find_elements(By.CSS_SELECTOR, "button, input, progress, summary")
    shown = [one for one in controls if one.is_displayed()]
    assert all(one.accessible_name for one in shown)
    assert annotator.browser.execute_script("return document.documentElement.lang") == lang


def test_the_offline_page_hides_verdicts_and_its_labels_can_be_added(annotator, files, tmp_path):
    page = tmp_path / "page.html"
    labelling = session(*files, count=10)
    write_offline_page(page, labelling, "mina", "en")
    downloads = {"behavior": "allow", "downloadPath": str(tmp_path / "saved")}
    annotator.browser.execute_cdp_cmd("Page.setDownloadBehavior", downloads)
    annotator.open(page.as_uri())
    annotator.choose(1)
    annotator.go_on()
    annotator.choose(3)
    annotator.press("u")
    annotator.wait(lambda: annotator.is_hidden("#reveal"))
    annotator.choose(1)
    annotator.go_on()
    annotator.press("s")
    task = annotator.task()
    annotator.browser.refresh()
    annotator.wait(lambda: annotator.task() == task)
    annotator.browser.find_element(By.ID, "save").send_keys(Keys.ENTER)
    saved = tmp_path / "saved" / "labels.jsonl"
    annotator.wait(saved.exists)
    rows = [json.loads(line) for line in saved.read_text("utf-8").splitlines()]
    marks = [
        (row["choice"], row.get("later"), row.get("withdrawn"), row.get("skipped")) for row in rows
    ]
    assert [mark[0] for mark in marks] == ["supported", "not_found", "", "supported", ""]
    assert [bool(mark[1]) for mark in marks] == [False, False, False, True, False]
    assert labelling.file.add(saved) == 5
    assert [len(given) for given in labelling.state.choices.first.values()] == [1]
    assert annotator.browser.get_log("browser") == []
