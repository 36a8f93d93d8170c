"""The API of `gigamind label`: what a key press saves, shows and changes."""

import json
import resource
import shlex
import time

import httpx
import pytest
from label_runs import label_run, row, session
from served_app import serving_app

from gigamind.assurance.label_file import read_rows
from gigamind.errors import InputError
from gigamind.i18n import LANGUAGES
from gigamind.service.label_app import create_label_app, write_offline_page


@pytest.fixture
def run(tmp_path):
    return label_run(tmp_path / "run")


@pytest.fixture
def labels(tmp_path):
    return tmp_path / "labels.jsonl"


def _client(url):
    # Without the authorities of certificates, which take a client a tenth of a second.
    return httpx.Client(base_url=url, trust_env=False, timeout=30, verify=False)


@pytest.fixture
def client(run, labels):
    app = create_label_app(session(run, labels, count=20), "mina", "en")
    with serving_app(app) as (url, _server), _client(url) as client:
        yield client


def state(client, annotator="mina"):
    return client.get("/api/label", params={"annotator": annotator}).json()


def post(client, task, choice, path="/api/label", annotator="mina", **more):
    body = {"annotator": annotator, "key": task["key"], "content": task["content"]}
    return client.post(path, json={**body, "choice": choice, **more})


def label_unit(client, annotator="mina", choice=None):
    """Label each task of the annotator's next unit, and return the unit."""
    unit = state(client, annotator)["unit"]
    for task in unit["tasks"]:
        chosen = choice or task["choices"][0]
        answer = post(client, task, chosen, annotator=annotator, again=unit["again"])
        assert answer.status_code == 200
    return unit


def test_a_unit_marks_the_claim_and_its_passage_and_says_nothing_about_the_verdict(client):
    unit = state(client)["unit"]
    claim = unit["tasks"][1]
    assert [task["kind"] for task in unit["tasks"]] == ["claim", "claim", "answer"]
    assert {task["verdict"] for task in unit["tasks"]} == {None}
    start, end = claim["range"]
    utf16 = claim["answer"].encode("utf-16-le")
    assert utf16[2 * start : 2 * end].decode("utf-16-le") == claim["text"]
    first, *others = claim["sources"]
    assert first["text"][slice(*first["range"])].startswith(claim["text"])
    assert [other["range"] for other in others] == [None]
    assert (first["number"], others[0]["number"]) == (2, 1)


def test_the_verdict_comes_with_the_label_and_stays_for_who_gave_it(client):
    task = state(client)["unit"]["tasks"][0]
    answer = post(client, task, "contradicted", reason="Not so.", seconds=1.5).json()
    assert answer["verdict"] == "supported"
    mine, other = state(client)["unit"], state(client, "joon")["unit"]
    found = (mine["tasks"][0]["choice"], mine["tasks"][0]["verdict"])
    assert found == ("contradicted", "supported")
    assert other["id"] == mine["id"]
    assert other["tasks"][0]["verdict"] is None


def test_the_figure_and_the_decisions_follow_the_labels(run, labels):
    app = create_label_app(session(run, labels, count=20, floor=0.5), "mina", "en")
    with serving_app(app) as (url, _server), _client(url) as client:
        assert state(client)["progress"]["figure"] is None
        for _ in range(3):
            label_unit(client)
        before = state(client)["progress"]
        label_unit(client)
        after = state(client)["progress"]
    assert (before["labelled"], before["look"], before["next_look"]) == (3, None, 4)
    assert (after["labelled"], after["look"]["at"], after["next_look"]) == (4, 4, 8)
    assert after["judged"] == pytest.approx(0.75)
    assert after["figure"]["low"] <= after["figure"]["value"] <= after["figure"]["high"]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"key": "a9999#1"}, 400),
        ({"content": "0" * 16}, 400),
        ({"choice": "perhaps"}, 400),
        ({"annotator": ""}, 422),
        ({"annotator": "n" * 101}, 422),
        ({"reason": "r" * 2001}, 422),
        ({"seconds": -1}, 422),
        ({"seconds": "soon"}, 422),
        ({"verdict": "supported"}, 422),
    ],
)
def test_a_wrong_request_saves_nothing(client, labels, change, status):
    task = state(client)["unit"]["tasks"][0]
    body = {"annotator": "mina", "key": task["key"], "content": task["content"], "choice": "yes"}
    answer = client.post("/api/label", json={**body, "choice": "supported", **change})
    assert answer.status_code == status
    assert answer.json()["detail"]
    assert read_rows(labels) == []


def test_a_label_changed_after_the_verdict_was_shown_is_kept_and_does_not_count(client, labels):
    task = state(client)["unit"]["tasks"][0]
    post(client, task, "supported")
    post(client, task, "contradicted")
    found = [(one.choice, one.later) for one in read_rows(labels)]
    assert found == [("supported", False), ("contradicted", True)]
    assert state(client)["unit"]["tasks"][0]["choice"] == "supported"


def test_undo_takes_back_one_label_after_another(client):
    unit = state(client)["unit"]
    for task in unit["tasks"][:2]:
        post(client, task, "supported")
    nothing = {"key": "", "content": ""}
    undone = [post(client, nothing, "", "/api/label/undo").json() for _ in range(3)]
    found = [answer.get("undone") for answer in undone]
    assert found == [unit["tasks"][1]["key"], unit["tasks"][0]["key"], None]
    assert [task["choice"] for task in undone[1]["unit"]["tasks"]] == [None, None, None]


def test_undo_of_a_changed_label_leaves_the_first_one(client):
    task = state(client)["unit"]["tasks"][0]
    post(client, task, "supported")
    post(client, task, "contradicted")
    answer = post(client, {"key": "", "content": ""}, "", "/api/label/undo").json()
    assert answer["unit"]["tasks"][0]["choice"] == "supported"


def test_a_label_given_again_after_undo_was_not_blind_so_its_item_is_left_out(client, labels):
    unit = state(client)["unit"]
    post(client, unit["tasks"][0], "supported")
    post(client, {"key": "", "content": ""}, "", "/api/label/undo")
    post(client, unit["tasks"][0], "contradicted")
    assert [one.later for one in read_rows(labels)] == [False, False, True]
    assert state(client)["unit"]["id"] != unit["id"]
    assert state(client, "joon")["unit"]["id"] == unit["id"]


def test_a_skipped_unit_comes_back_only_after_undo(client):
    unit = state(client)["unit"]
    after = post(client, unit["tasks"][0], "", "/api/label/skip").json()
    assert after["unit"]["id"] != unit["id"]
    assert state(client, "joon")["unit"]["id"] == unit["id"]
    undone = post(client, {"key": "", "content": ""}, "", "/api/label/undo").json()
    assert undone["unit"]["id"] == state(client)["unit"]["id"] == unit["id"]


def test_two_annotators_are_compared_and_a_settled_dispute_counts(client):
    unit = label_unit(client)
    for task in unit["tasks"]:
        post(client, task, task["choices"][1], annotator="joon")
    progress = state(client)["progress"]
    assert (progress["disputed"], progress["labelled"]) == (3, 0)
    assert progress["agreement"]["tasks"] == 3
    assert progress["agreement"]["alpha"] < 0.6
    for task in client.get("/api/label/disputed").json():
        assert set(task["given"]) == {"mina", "joon"}
        assert "verdict" not in task
        post(client, task, task["choices"][0], settled=True)
    settled = state(client)["progress"]
    assert (settled["disputed"], settled["labelled"]) == (0, 1)


def test_an_annotator_labels_one_of_the_first_ten_units_again(client):
    seen = [label_unit(client) for _ in range(12)]
    assert [unit["again"] for unit in seen] == [False] * 10 + [True, False]
    assert seen[10]["id"] == seen[0]["id"]
    agreement = state(client)["progress"]["agreement"]
    assert (agreement["again"], agreement["same"]) == (3, 3)


def test_labelling_ends_with_the_command_that_uses_the_labels(run, labels):
    app = create_label_app(session(run, labels, count=8), "mina", "en")
    with serving_app(app) as (url, _server), _client(url) as client:
        while state(client)["unit"]:
            label_unit(client)
        page, progress = client.get("/").text, state(client)["progress"]
    boot = json.loads(page.partition('id="boot">')[2].partition("</script>")[0])
    command = ["gigamind", "judge", "certify", str(run), "--labels", str(labels)]
    assert shlex.split(boot["command"]) == command
    assert progress["labelled"] == 8


def test_a_session_resumes_and_a_row_torn_by_a_kill_is_cut(client, run, labels):
    unit = label_unit(client)
    rows = read_rows(labels)
    with labels.open("ab") as file:
        file.write(b'{"id": "a0001#1", "kind": "cl')
    resumed = session(run, labels)
    assert read_rows(labels) == rows
    assert resumed.plan.budget == 20
    found = resumed.next("mina")
    assert found is not None
    assert found[0].id != unit["id"]
    assert labels.read_bytes().endswith(b"\n")


@pytest.mark.parametrize("about", [{"dataset_hash": "e" * 64}])
def test_labels_of_another_dataset_are_refused(client, labels, tmp_path, about):
    del client
    other = label_run(tmp_path / "other", **about)
    with pytest.raises(InputError, match=r"labels\.jsonl"):
        session(other, labels)


@pytest.mark.parametrize("left", [0, 10])
def test_a_label_for_which_the_disk_has_no_room_is_an_error_of_the_server(client, labels, left):
    task = state(client)["unit"]["tasks"][0]
    before, limits = labels.read_bytes(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + left, limits[1]))
    try:
        answer = post(client, task, "supported")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert answer.status_code >= 500
    assert labels.read_bytes() == before
    assert post(client, task, "supported").status_code == 200


def test_pages_of_other_websites_cannot_label(client):
    answer = client.post("/api/label", json={}, headers={"Origin": "http://evil.example"})
    assert answer.status_code == 403


def test_a_key_press_among_2000_answers_takes_less_than_a_second(tmp_path):
    run = label_run(tmp_path / "run", 2_000)
    app = create_label_app(session(run, tmp_path / "labels.jsonl", count=60), "mina", "en")
    with serving_app(app) as (url, _server), _client(url) as client:
        label_unit(client)
        started = time.monotonic()
        for _ in range(5):
            label_unit(client)
        assert (time.monotonic() - started) / 20 < 1


def test_the_offline_page_is_one_file_without_markup_of_its_items(run, labels, tmp_path):
    page = tmp_path / "page.html"
    write_offline_page(page, session(run, labels, count=20), "mina", "ko")
    text = page.read_text("utf-8")
    assert row(1)["question"].replace("1", "") not in text
    assert 'src="' not in text
    assert "stylesheet" not in text
    boot = json.loads(text.partition('id="boot">')[2].partition("</script>")[0])
    assert len(boot["offline"]["units"]) == 20
    assert set(boot["offline"]["messages"]) == set(LANGUAGES)
