"""`make deploy` against a server that is busy: all of both files stands in the end, once."""

import itertools
import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
import yaml
from loopback import Answering, listening
from prefect_stack import ROOT, Stack, keep_deployments, serving

pytestmark = [pytest.mark.prefect, pytest.mark.deployed, pytest.mark.timeout(1200)]

RUNS = int(os.environ.get("GIGAMIND_DEPLOYS", "2"))
STALL_S = 5.0
DROPPED = {"host", "connection", "accept-encoding"}
_LOCK, _REQUESTS = threading.Lock(), itertools.count()
_CHANCE = random.Random(7)


class Busy(Answering):
    """Passes requests on; of five, one gets a 503, half of them after it was carried out, and of fifty, one stalls."""

    def pass_on(self) -> None:
        sent, target = self.body(), self.server.target
        with _LOCK:
            number, draw = next(_REQUESTS), _CHANCE.random()
        if number % 50 == 49:
            time.sleep(STALL_S)
        if draw < 0.1:
            self.answer(503, {"detail": "database is locked"})
            return
        kept = {k: v for k, v in self.headers.items() if k.lower() not in DROPPED}
        request = urllib.request.Request(
            target + self.path, data=sent or None, headers=kept, method=self.command
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, content = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                status, content = error.code, error.read()
        if draw < 0.2:
            status, content = 503, b"{}"
        if status == 204:
            self.send_response(204)
            self.end_headers()
        else:
            self.answer(status, content)

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = pass_on  # noqa: N815


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """A server without deployments; the second test uses what the first one has registered."""
    with serving(tmp_path_factory.mktemp("registration")) as stack:
        yield stack


def test_a_busy_server_gets_every_deployment_and_automation_once(stack: Stack):
    listed = yaml.safe_load((ROOT / "deployments" / "prefect.yaml").read_text("utf-8"))
    reactions = yaml.safe_load((ROOT / "deployments" / "automations.yaml").read_text("utf-8"))
    wanted = (
        sorted(one["name"] for one in listed["deployments"]),
        sorted(one["name"] for one in reactions["automations"]),
    )
    with listening(Busy, target=f"http://127.0.0.1:{stack.port}") as busy:
        for _run in range(RUNS):
            made = stack.make("deploy", 500, PREFECT_API_URL=f"{busy.url}/api")
            assert made.returncode == 0, made.stdout + made.stderr
            assert f"{len(wanted[0])} deployments, {len(wanted[1])} automations" in made.stdout
            found = (
                sorted(one["name"] for one in stack.ask("/deployments/filter", {})),
                sorted(one["name"] for one in stack.ask("/automations/filter", {})),
            )
            assert found == wanted, json.dumps(found)


def test_a_deploy_and_two_runs_at_once_all_end_well_on_sqlite(stack: Stack):
    keep_deployments(stack.clone, "search-nightly", "cleanup", "promote")
    with listening(Busy, target=f"http://127.0.0.1:{stack.port}") as busy:
        assert stack.make("deploy", 500).returncode == 0
        with stack.running("worker"):  # it speaks WebSocket, too
            runs = [
                stack.start(mode="keyword", speed_passes=0),
                stack.start("cleanup/cleanup", dry_run=True),
            ]
            made = stack.make("deploy", 500, PREFECT_API_URL=f"{busy.url}/api")
            ended = [stack.ended(run["id"], 300)["state"] for run in runs]
    assert made.returncode == 0, made.stdout + made.stderr
    assert [state["type"] for state in ended] == ["COMPLETED", "COMPLETED"], ended
