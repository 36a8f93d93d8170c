"""Measure the size of report.html with 50 000 items, and how long Chromium takes to show the list.

    python benchmarks/report.py --items 50000           # Debian: apt install chromium chromium-driver

The items are those of the example run, repeated under other names, with the notes that they show.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

from gigamind.i18n import translator
from gigamind.release.model import read_run
from gigamind.reports.html import render_html
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks import KINDS, TASKS

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=50_000)
    arguments = parser.parse_args()
    with TemporaryDirectory() as place:
        out, page = Path(place) / "run", Path(place) / "report.html"
        command = [
            sys.executable,
            "-m",
            "gigamind",
            "eval",
            "search",
            "--mode",
            "keyword",
            "--quiet",
        ]
        command += ["--dataset", str(EXAMPLES / "queries.jsonl"), "--out", str(out)]
        command += ["--notes", str(EXAMPLES / "vault")]
        subprocess.run(command, check=True, capture_output=True)
        record = read_run(out, KINDS)
        own = record.items
        items = [
            own[number % len(own)].model_copy(update={"id": f"q-{number:06}"})
            for number in range(arguments.items)
        ]
        start = time.process_time()
        say = translator("en")
        many = replace(record, items=items)
        text = render_html(run_document(TASKS["search"].view, many, Outcome(), say), say)
        figures: dict[str, object] = {
            "items": len(items),
            "made_cpu_s": time.process_time() - start,
            "made_peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        }
        page.write_text(text, "utf-8")
        figures["mb"] = page.stat().st_size / 1e6
        figures |= opened(page) if which("chromium") else {"browser": "no chromium here"}
    print(json.dumps(figures, indent=1))


def opened(page: Path) -> dict[str, object]:
    """Return medians in seconds from the start of loading: the first paint, and all scripts with the list done."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={page.parent / 'profile'}")
    service = webdriver.ChromeService(which("chromedriver"))
    browser = webdriver.Chrome(options, service)
    paints: list[float] = []
    loads: list[float] = []
    try:
        for _ in range(RUNS):
            browser.get("about:blank")
            browser.get(page.as_uri())
            rows = browser.execute_script("return document.querySelectorAll('tbody tr').length")
            if not rows:
                raise SystemExit("the page shows no item")
            paint, load = browser.execute_async_script(
                "const done = arguments[0]; const waitForPaint = () => {"
                " const paint = performance.getEntriesByName('first-contentful-paint')[0];"
                " if (!paint) return setTimeout(waitForPaint, 50);"
                " done([paint.startTime, performance.timing.loadEventEnd - performance.timing.navigationStart]); };"
                " waitForPaint();"
            )
            paints.append(paint / 1000)
            loads.append(load / 1000)
        version = browser.capabilities["browserVersion"]
    finally:
        browser.quit()
    return {
        "browser": f"Chromium {version}",
        "first_paint_s": statistics.median(paints),
        "loaded_s": statistics.median(loads),
    }


if __name__ == "__main__":
    main()
