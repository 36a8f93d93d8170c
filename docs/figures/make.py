"""Makes the pictures of the READMEs: report.html of a run whose gates fail, in Chromium, in both languages.

`make figures`; needs Debian's Chromium (`apt-get install chromium chromium-driver fonts-nanum`).
"""

import math
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from selenium import webdriver

import gigamind

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
WIDTH, MARGIN = 1100, 20  # CSS pixels
BOTTOM = "return document.querySelector('table').getBoundingClientRect().bottom"


def picture(driver: webdriver.Chrome, lang: Literal["en", "ko"], file: Path) -> None:
    """Write the verdict, the next steps and the table of a run over the example vault as a PNG."""
    with TemporaryDirectory() as folder, chdir(folder):
        before, after = Path("runs/before"), Path("runs/after")
        evaluate = partial(
            gigamind.evaluate_search,
            EXAMPLES / "queries.jsonl",
            EXAMPLES / "vault",
            unanswerable_mode="calibrated",
            lang=lang,
            speed_passes=0,
        )
        evaluate(out=before)
        evaluate(out=after, alpha=0.5, compare=before, changed=["settings"])
        resize(driver, WIDTH)
        driver.get((after / "report.html").absolute().as_uri())
        resize(driver, math.ceil(driver.execute_script(BOTTOM)) + MARGIN)
        driver.save_screenshot(file)


def resize(driver: webdriver.Chrome, height: int) -> None:
    """Make the page so high, in CSS pixels."""
    size = {"width": WIDTH, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def main() -> None:
    """Both pictures, beside this file."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    for flag in ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService("/usr/bin/chromedriver"))
    try:
        picture(driver, "en", HERE / "report.png")
        picture(driver, "ko", HERE / "report.ko.png")
    finally:
        driver.quit()


if __name__ == "__main__":
    main()
