import json
import re
import shutil
from dataclasses import dataclass
from typing import Any

import pytest

from gigamind.i18n import translator
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import Policy, Release
from gigamind.reports.html import render_html
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks import KINDS, TASKS

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    """Debian's Chromium, without a window; it takes a core two seconds to start."""
    from selenium import webdriver

    programs = {name: shutil.which(name) for name in ("chromium", "chromedriver")}
    if missing := [name for name, path in programs.items() if not path]:
        pytest.fail(
            f"{' and '.join(missing)} not found: apt-get install -y chromium chromium-driver"
        )
    options = webdriver.ChromeOptions()
    options.binary_location = programs["chromium"]
    profile = tmp_path_factory.mktemp("profile")
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options, webdriver.ChromeService(programs["chromedriver"]))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def browser(chromium):
    """The same with a window of the usual size, no page open, and nothing to tell."""
    chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    chromium.get("about:blank")
    chromium.get_log("browser")
    return chromium


@pytest.fixture
def open_page(browser, tmp_path):
    """Open a page from its file; afterwards the console must be empty and the network untouched."""

    def show(text, width=1280, anchor=""):
        page = tmp_path / "report.html"
        page.write_text(text, encoding="utf-8")
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        browser.get_log("browser")
        browser.get_log("performance")
        browser.get("about:blank")  # else another anchor of one page would not load it again
        browser.get(page.as_uri() + anchor)
        return browser

    yield show
    assert browser.get_log("browser") == []
    # `chrome:` and `chrome-untrusted:` are the browser's own: its first tab may still be loading.
    inside = {"file", "data", "chrome", "chrome-untrusted"}
    assert {address.partition(":")[0] for address in _requested(browser)} <= inside


def page_of(record, lang, outcome):
    say = translator(lang)
    return render_html(run_document(TASKS[record.run.task].view, record, outcome, say), say)


@pytest.fixture(scope="session")
def rendered():
    """The page of a record in a language without a baseline, made once."""
    pages = {}

    def render(record, lang):
        if (id(record), lang) not in pages:  # the record is kept, so no other has its id
            pages[id(record), lang] = record, page_of(record, lang, Outcome())
        return pages[id(record), lang][1]

    return render


@pytest.fixture
def show(open_page, rendered):
    """Open the report of a record, compared with a baseline if there is one."""

    def show(record, width=1280, lang="en", baseline=None, anchor=""):
        if not baseline:
            return open_page(rendered(record, lang), width, anchor)
        comparison = compare(baseline, KINDS[record.run.task].take_snapshot(record))
        gate = judge_release(comparison, Policy.read(None), "ga")
        outcome = Outcome(Release(comparison=comparison, gate=gate), baseline)
        return open_page(page_of(record, lang, outcome), width, anchor)

    return show


@dataclass(frozen=True)
class Reader:
    """What a person does with the open page, and sees of it."""

    browser: Any

    def numbers(self) -> list[int]:
        """What the list says it shows, smallest first: the first item, the last and all; nothing if none is left."""
        text = self.browser.find_element("css selector", "[role=status]").text
        assert text
        return sorted(int(number) for number in re.findall(r"\d+", text.replace(",", "")))

    def wait_for(self, *numbers: int) -> None:
        """The list is replaced a moment after a key."""
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.browser, 60, poll_frequency=0.05)
        waiting.until(lambda _: self.numbers() == sorted(numbers))

    def choose(self, name: str) -> None:
        """Show the items of a filter alone."""
        radio = self.browser.find_element("css selector", f"input[value={name}]")
        self.browser.execute_script("arguments[0].click()", radio)

    def open(self, title: str) -> Any:
        """The details of the item of that title, opened."""
        toggles = self.browser.find_elements("css selector", ".toggle")
        toggle = next(one for one in toggles if one.text == title)
        self.browser.execute_script("arguments[0].click()", toggle)
        return self.browser.find_element("css selector", ".detail")

    def has_run_nothing(self) -> bool:
        """Whether no text of others became a script or a picture, which would set `window.pwned`."""
        ran = self.browser.execute_script("return typeof window.pwned") != "undefined"
        count = {tag: len(self.browser.find_elements("tag name", tag)) for tag in ("img", "script")}
        return not ran and count == {"img": 0, "script": 2}

    def prefer(self, scheme: str) -> None:
        """Read by "light" or in the "dark"."""
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)

    def contrast(self, text: str, paper: str) -> float:
        """Contrast ratio of two custom properties, from 1 to 21 (WCAG 2.2)."""
        low, high = sorted(_luminance(self._colour(name)) for name in (text, paper))
        return (high + 0.05) / (low + 0.05)

    def _colour(self, name: str) -> str:
        script = "return getComputedStyle(document.documentElement).getPropertyValue(`--${arguments[0]}`)"
        return self.browser.execute_script(script, name).strip()


def _luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    linear = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.fixture
def reader(browser):
    """Someone before the page that `open_page` opened; leaves the light on."""
    reader = Reader(browser)
    yield reader
    reader.prefer("light")


def _requested(browser):
    """Addresses that the page asked for, also those that were refused."""
    for entry in browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            yield message["params"]["request"]["url"]
