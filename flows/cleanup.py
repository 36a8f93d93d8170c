"""Removal of old results as a Prefect flow; with `dry_run` it only logs what it would remove."""

import os
from contextlib import chdir
from tempfile import TemporaryDirectory
from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.logging import get_run_logger

from gigamind.errors import GigamindError
from gigamind.evaluation import retention
from gigamind.evaluation.retention import CleanupOptions, CleanupReport
from gigamind.evaluation.shards import ATTEMPTS_FILE
from gigamind.llm.ledger import read_ledger
from gigamind.llm.store import reply_file
from gigamind.publish.ends import failed, in_run_language
from gigamind.publish.home import REPLIES, RUN, Home
from gigamind.publish.server import flow_timeout_s


@flow(name="cleanup", persist_result=False, timeout_seconds=flow_timeout_s())
def cleanup(options: CleanupOptions) -> dict[str, Any] | State[Any]:
    """Remove old runs, files of interrupted runs and unused replies, and log each.

    Ends Failed if something could not be removed.
    """
    try:
        home = Home.shared()
        reports = [retention.clean_up(options), *([_clean_up(options, home)] if home else [])]
    except GigamindError as error:
        return failed(error)
    for report in reports:
        for line in retention.report_lines(report):
            get_run_logger().info(in_run_language(line))
    return dict(reports[-1])


def _clean_up(options: CleanupOptions, home: Home) -> CleanupReport:
    """Remove shared results, decided on a local copy without contents. Replies of all runs stay."""
    with home.reached(), TemporaryDirectory() as mirror, chdir(mirror):
        found = home.found(options.out) | home.found(REPLIES)
        read = {file for file in found if file.name in {RUN, "compare.json", ATTEMPTS_FILE}}
        home.copy({file: file for file in (*read, *home.found(options.baselines))})
        ledgers = (read_ledger(file) for file in read if file.name == ATTEMPTS_FILE)
        used = {reply_file(REPLIES, row.key) for ledger in ledgers for row in ledger}
        for file in found.keys() - read:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.touch()
            os.truncate(file, found[file])
            if file not in used:
                written = home.written(file).timestamp()
                os.utime(file, (written, written))
        report = retention.clean_up(options.model_copy(update={"replies": REPLIES}))
        home.remove(file for file in found if not file.exists())
    return report
