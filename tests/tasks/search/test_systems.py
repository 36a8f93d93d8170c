"""Searches that are not gigamind's own, evaluated like it: with a vault and without, in order and misbehaving."""

import json
import re
import sys
from pathlib import Path

import pytest
from out_files import items_of, run_of, warned
from row_files import query_row, write_rows
from search_servers import plain, search_server

import gigamind
from gigamind.errors import EvaluationError, InputError
from gigamind.interop.ranking import RankedNote, Ranking
from gigamind.release.compare import compare
from gigamind.release.model import read_snapshot
from gigamind.systems.dialect import rankings
from gigamind.systems.open import describe_system
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.options import SearchEvalOptions

RUN = """\
first Q0 deploy.md 1 0.9 bm25
first Q0 garden.md 2 0.4 bm25
second Q0 deploy.md 1 0.8 bm25
second Q0 garden.md 2 0.6 bm25
korean Q0 휴가 1 0.7 bm25
korean Q0 휴가.md 2 0.6 bm25
across Q0 gone.md 1 0.5 bm25
across Q0 deploy.md 2 0.4 bm25
trap Q0 garden.md 1 0.2 bm25
extra Q0 garden.md 1 0.2 bm25
"""
DOCUMENTS = {
    "deploy.md": "The deploy runs every Friday.",
    "garden.md": "The garden has roses.",
    "휴가.md": "휴가는 팀장에게 신청한다.",
    "policies/approval.md": "Invoices above 500 euros need approval.",
}


@pytest.fixture
def asked(make_options):
    """Options of a run of another system; keyword mode is of our own."""

    def options(system: str, rows=None, **changes):
        given = {"mode": "hybrid", "system": system, "topk": 3} | changes
        return make_options(rows, **given)

    return options


@pytest.fixture
def written(tmp_path):
    """Writes a run of these hits by query; how `--system` names it."""

    def write(hits, name="run.jsonl"):
        rows = ({"id": query, "hits": own} for query, own in hits.items())
        return f"run:{write_rows(tmp_path / name, rows)}"

    return write


@pytest.fixture
def run_file(tmp_path):
    path = tmp_path / "a.run"
    path.write_text(RUN, encoding="utf-8")
    return f"run:{path}"


def test_a_run_file_needs_no_vault_for_ranking_metrics(asked, run_file):
    options = asked(run_file, notes=None)
    summary, out, *_ = evaluate(options)
    items, run = items_of(out), run_of(out)
    assert [items[name]["metrics"]["mrr"] for name in ("first", "second", "korean", "across")] == [
        1.0,
        0.5,
        1.0,  # the name without .md
        0.5,
    ]
    assert summary.overall.search["mrr"] == pytest.approx(0.75)
    assert summary.overall.search["span_recall"] is None
    assert summary.overall.search["latency_p50_ms"] is None
    assert summary.counts.notes is None
    assert items["first"]["latency_ms"] is None
    assert items["first"]["ranking"][0]["evidence"] is None
    assert items["first"]["oddities"] == {"fewer_hits": 1}
    assert items["nothing"]["oddities"] == {"not_in_run_file": 1, "fewer_hits": 3}
    system = run["environment"]["system"]
    assert (system["kind"], system["target"], len(system["file_hash"])) == ("run", "a.run", 64)
    assert run["judge"] is None
    assert (run["options"]["mode"], run["options"]["embedder"]) == (None, None)
    warnings = " ".join(run["warnings"])
    assert "--min-score" in warnings
    assert "extra" in warnings
    assert {"count": 1, "total": 6} in warned(out)


def test_with_the_vault_names_are_resolved_and_evidence_and_spans_are_measured(asked, run_file):
    summary, out, *_ = evaluate(asked(run_file))
    items = items_of(out)
    assert items["korean"]["metrics"]["mrr"] == 1.0
    assert items["korean"]["oddities"] == {"repeated_notes": 1, "fewer_hits": 2}
    assert items["across"]["oddities"] == {"unknown_notes": 1, "fewer_hits": 1}
    assert items["across"]["ranking"][0]["evidence"] is None
    assert items["across"]["metrics"]["mrr"] == 0.5  # the unknown note keeps its place
    [hit] = items["korean"]["ranking"]
    assert hit["evidence"]["text"] == "🌴 휴가는 팀장에게 신청한다."
    assert hit["highlights"]
    assert summary.overall.search["span_recall"] == 1.0
    assert summary.cross_lingual.counts.queries == 1
    assert summary.counts.notes == 5


def test_a_passage_that_the_system_shows_is_the_evidence(asked, written):
    hits = {
        "first": [{"note": "deploy", "text": "The deploy runs every Friday."}],
        "second": [{"note": "garden", "text": "no such words"}],
        "korean": [{"note": "휴가.md", "start": 20, "end": 25}],
        "across": [{"note": "deploy", "start": 20, "end": 2_500}],
        "nothing": [],
        "trap": [],
    }
    out = evaluate(asked(written(hits))).out
    items = items_of(out)
    assert items["first"]["ranking"][0]["chunk"]["text"] == "The deploy runs every Friday."
    assert items["second"]["ranking"][0]["evidence"] is None
    assert items["second"]["ranking"][0]["text"] == "no such words"
    assert items["second"]["oddities"] == {"fewer_hits": 2, "unplaced_texts": 1}
    # UTF-16: "---\nlang: ko\n---\n" is 17 units, the palm tree two, a blank one.
    found = items["korean"]["ranking"][0]["chunk"]
    assert found == {"note": "휴가.md", "utf16_start": 20, "utf16_end": 25, "text": "휴가는 팀"}
    assert items["across"]["oddities"] == {"fewer_hits": 2, "unplaced_texts": 1}


def test_a_text_that_stands_nowhere_in_its_note_is_evidence_by_its_words(asked, written):
    joined = "The garden has roses. ... 🌴 휴가는 팀장에게 신청한다 ... and more of another page."
    system = written({"korean": [{"note": "휴가.md", "text": joined}]})
    out = evaluate(asked(system, allow_partial=True)).out
    item = items_of(out)["korean"]
    assert item["ranking"][0]["text"] == joined
    assert item["oddities"]["unplaced_texts"] == 1
    assert item["metrics"]["span_recall"] == item["metrics"]["answer_in_evidence"] == 1.0
    assert joined in (out / "report.html").read_text("utf-8")


def test_a_threshold_judges_only_where_it_was_set_and_scores_are_in_its_range(asked, run_file):
    summary, out, *_ = evaluate(asked(run_file, min_score=0.45))
    items, run = items_of(out), run_of(out)
    refused = [name for name, item in items.items() if item["judged_unanswerable"]]
    assert refused == ["nothing", "trap"]
    assert summary.overall.unanswerable["f1"] == 1.0
    assert [rates.kind for rates in summary.judges] == ["threshold"]
    assert run["judge"]["setting"] == 0.45


SCORES = ["first", "second", "korean", "across", "nothing", "trap"]


@pytest.fixture
def scored(written):
    """A run in which the first hit of each query has such a score; None for none."""

    def write(scores, note="deploy.md"):
        pairs = zip(SCORES, scores, strict=True)
        return written({name: [{"note": note, "score": score}] for name, score in pairs})

    return write


@pytest.mark.parametrize("shift", [0.0, -30.0])
def test_a_threshold_stands_on_the_systems_own_scale_and_a_better_one_is_proposed(
    asked, shift, scored
):
    told = [score + shift for score in (17.25, 9.5, 3.0, 8.0, 2.5, 3.5)]
    options = asked(scored(told), min_score=7.5 + shift)
    summary, out, *_ = evaluate(options)
    items, run = items_of(out), run_of(out)
    refused = [name for name, item in items.items() if item["judged_unanswerable"]]
    assert refused == ["korean", "nothing", "trap"]
    assert summary.overall.unanswerable["far"] == 0.0
    assert summary.overall.unanswerable["false_refusals"] == pytest.approx(1 / 4)
    assert run["judge"]["setting"] == 7.5 + shift
    page = (out / "report.html").read_text("utf-8")
    # Up to 3.5 both unanswerable ones and one other are refused, an F1 of 4 / 5: no setting does better.
    assert f"{(3.5 + 8.0) / 2 + shift:.3f}".replace("-", "−") in page


def test_a_threshold_beyond_every_score_refuses_all(asked, scored):
    summary, out, *_ = evaluate(asked(scored([1.5] * 6), min_score=40))
    assert summary.overall.unanswerable["false_refusals"] == 1.0
    assert "40.000" in (out / "report.html").read_text("utf-8")


def test_gigaminds_own_search_has_scores_from_0_to_1(asked):
    with pytest.raises(InputError, match=r"--min-score 1\.5: "):
        evaluate(asked("builtin", min_score=1.5))


def test_one_query_of_six_without_a_score_has_no_verdict_and_two_leave_none(
    asked, tmp_path, scored
):
    _, out, *_ = evaluate(asked(scored([9.5, None, 9.0, 8.0, 2.5, 3.5]), min_score=7.5, lang="ko"))
    items = items_of(out)
    assert items["second"]["judged_unanswerable"] is None
    assert items["first"]["judged_unanswerable"] is False
    assert {"count": 1, "total": 6} in warned(out)
    assert "질의 6건 중 1건" in (out / "report.html").read_text("utf-8")

    few = asked(scored([9.5, None, None, 8.0, 2.5, 3.5]), min_score=7.5, out=tmp_path / "few")
    with pytest.raises(EvaluationError, match=r"2 of 6 .*--min-score") as refusal:
        evaluate(few)
    assert refusal.value.exit_code == 3
    kept = items_of(tmp_path / "few")
    assert {item["judged_unanswerable"] for item in kept.values()} == {None}
    summary = json.loads((tmp_path / "few" / "summary.json").read_text("utf-8"))
    assert set(summary["overall"]["unanswerable"].values()) == {None}


@pytest.mark.parametrize("changes", [{"notes": None}, {}])
def test_names_that_match_no_label_end_with_code_3_and_an_example_of_each_side(
    asked, tmp_path, changes, scored
):
    system = scored([1.0] * 6, note="docs/deploy.md")
    with pytest.raises(EvaluationError, match=r" docs/deploy\.md,.* deploy\.md") as refusal:
        evaluate(asked(system, **changes))
    assert refusal.value.exit_code == 3
    names = {"ranked": "docs/deploy.md", "labelled": "deploy.md"}
    assert {"rankings": 6, "n": 1, **names} in warned(tmp_path / "out")


def test_a_few_rankings_without_a_label_are_only_warned_of_and_known_notes_not_at_all(
    asked, run_file, tmp_path
):
    rows = [{"id": "first", "query": "deploy", "answerable": True, "expected_notes": ["휴가.md"]}]
    out = evaluate(asked(run_file, rows, notes=None)).out
    assert any("ranked" in values for values in warned(out))
    out = evaluate(asked(run_file, rows, out=tmp_path / "known")).out
    assert not any("ranked" in values for values in warned(out))


def test_an_expected_note_that_is_ranked_under_another_name_is_warned_of(asked, written):
    """A name alone may mean the file of a folder, but files of one name in two folders are two notes."""
    labels = ["b.md", "Deploy Plan", "x/c.md", "x/d.md", "gone.md"]
    rows = [query_row(str(place), "q", label) for place, label in enumerate(labels)]
    names = ["b.md", "ops/deploy_plan.md", "c", "y/d.md", "other.md"]
    system = written({str(place): [name] for place, name in enumerate(names)})
    told = {"n": 2, "rankings": 0, "ranked": "ops/deploy_plan.md", "labelled": "Deploy Plan"}
    assert told in warned(evaluate(asked(system, rows, notes=None)).out)


def test_the_page_of_another_system_leaves_out_what_it_has_not_and_shows_its_texts(
    asked, written, tmp_path
):
    hit = {"note": "deploy.md", "score": 3.5, "text": "Every Friday, says the handbook."}
    system = written({name: [hit] for name in SCORES})
    pages = {}
    for name, changes in {"unjudged": {}, "judged": {"min_score": 2.0}}.items():
        out = evaluate(asked(system, notes=None, out=tmp_path / name, **changes)).out
        pages[name] = (out / "report.html").read_text("utf-8")
        summary = (out / "summary.md").read_text("utf-8")
        assert "indexing" not in pages[name].partition("<script")[0] + summary
        assert "Every Friday, says the handbook." in pages[name]
    columns = {name: page.count(">false refusals</th>") for name, page in pages.items()}
    assert columns["unjudged"] == 0 < columns["judged"]


def test_a_system_that_finds_nothing_at_all_is_warned_of(asked, written):
    out = evaluate(asked(written({name: [] for name in SCORES}), notes=None)).out
    assert {"total": 6} in warned(out)


def test_a_path_in_no_hit_is_warned_of_but_the_simplest_endpoint_needs_neither(asked, tmp_path):
    config = tmp_path / "ours.toml"
    shipped = (Path(__file__).parents[3] / "systems" / "plain.toml").read_text("utf-8")
    config.write_text(shipped.replace('score = "score"', 'score = "scor"'), "utf-8")
    told = {}
    with search_server(plain(DOCUMENTS)) as server:
        for name in ("plain", str(config)):
            out = tmp_path / Path(name).stem
            out = evaluate(asked(server.url, system_config=name, out=out)).out
            told[out.name] = " ".join(run_of(out)["warnings"])
    assert "`score`" in told["ours"]
    assert "`score`" not in told["plain"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "keyword"}, "--mode: "),
        ({"alpha": 0.5, "graph_rerank": True}, "--alpha, --graph-rerank: "),
        ({"unanswerable_mode": "calibrated"}, "--unanswerable-mode calibrated: "),
        ({"unanswerable_mode": "llm", "notes": None, "model": "m"}, "--notes"),
        ({"system_config": "qdrant"}, "--system-config qdrant: "),
        ({"system_name": "ours"}, "--system-name ours: "),
        ({"system": "run:"}, "--system run:: "),
        ({"system": "python:json:__doc__"}, "--system python:json:__doc__: "),
        ({"system": "http:///x"}, "--system"),
    ],
)
def test_what_can_have_no_part_is_refused(asked, run_file, changes, message):
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate(asked(changes.pop("system", run_file), **changes))


def test_a_run_that_lacks_more_than_a_fifth_of_the_answerable_queries_is_no_result(asked, tmp_path):
    part = "\n".join(line for line in RUN.splitlines() if not line.startswith(("first", "korean")))
    (tmp_path / "part.run").write_text(part, encoding="utf-8")
    system = f"run:{tmp_path / 'part.run'}"
    with pytest.raises(EvaluationError, match="33%") as refusal:
        evaluate(asked(system))
    assert refusal.value.exit_code == 3
    items = items_of(tmp_path / "out")
    assert items["first"]["metrics"]["mrr"] == 0.0
    summary, *_ = evaluate(asked(system, out=tmp_path / "kept", allow_partial=True))
    assert (summary.system.failed, summary.system.share) == (2, pytest.approx(1 / 3))


def test_an_endpoint_is_asked_and_timed_and_no_secret_of_it_is_written(
    asked, tmp_path, monkeypatch, caplog
):
    monkeypatch.setenv("SEARCH_TOKEN", "token-that-nobody-may-see")
    config = tmp_path / "ours.toml"
    shipped = (Path(__file__).parents[3] / "systems" / "plain.toml").read_text("utf-8")
    config.write_text(f'{shipped}\nheaders = {{ X-Auth = "$SEARCH_TOKEN" }}\nconcurrency = 2\n')
    with search_server(plain(DOCUMENTS)) as server, caplog.at_level("DEBUG"):
        address = server.url.replace("//", "//me:hidden-word@") + "/search?key=query-word"
        summary, out, *_ = evaluate(
            asked(address, system_config=str(config), save_snapshot=True, speed_passes=2)
        )
    assert {one.headers["x-auth"] for one in server.asked} == {"token-that-nobody-may-see"}
    items, run = items_of(out), run_of(out)
    assert items["first"]["metrics"]["mrr"] == 1.0
    assert items["first"]["ranking"][0]["base_score"] == 1.0
    assert items["first"]["latency_ms"] > 0
    assert summary.overall.search["latency_p95_ms"] > 0
    assert summary.performance.passes.clock == "wall"
    assert run["options"]["max_concurrency"] == 2
    assert run["environment"]["system"]["target"].endswith("/search?***")
    assert run["environment"]["system"]["config"] == "ours"
    written = "".join(path.read_text("utf-8") for path in out.iterdir())
    for secret in ("hidden-word", "token-that-nobody-may-see"):
        assert secret not in written + caplog.text
    assert "query-word" not in written


def test_a_python_function_and_a_command_find_the_same(asked, tmp_path, monkeypatch):
    (tmp_path / "team_find.py").write_text(
        "import json, sys\n"
        "def find(query, topk):\n"
        "    return [('deploy.md', 0.5)] if 'deploy' in query else []\n"
        "if __name__ == '__main__':\n"
        "    for line in sys.stdin:\n"
        "        asked = json.loads(line)\n"
        "        print(json.dumps(find(asked['query'], asked['topk'])), flush=True)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    rankings = []
    for system in ("python:team_find:find", f"command:{sys.executable} team_find.py"):
        out = evaluate(asked(system, out=tmp_path / system[:4])).out
        items, run = items_of(out), run_of(out)
        rankings.append({name: item["ranking"] for name, item in items.items()})
        assert run["environment"]["system"]["kind"] == system.partition(":")[0]
        assert items["first"]["latency_ms"] is not None
    assert rankings[0] == rankings[1]
    assert rankings[0]["first"][0]["note"] == "deploy.md"


class Own:
    """A search that the caller holds."""

    closed = False

    def search(self, query):
        return Ranking((RankedNote("deploy.md", 0.5),) if "deploy" in query.text else ())

    def close(self):
        self.closed = True


def test_the_library_takes_a_search_itself(asked):
    options = asked("builtin")
    own = Own()
    result = gigamind.evaluate_search(options.dataset, system=own, topk=3, min_score=0.1)
    assert own.closed
    assert [item.id for item in result.items if item.ranking] == ["first"]
    assert result.run.environment.system.target.endswith("test_systems:Own")
    again = gigamind.evaluate_search(options.dataset, system=Own(), topk=3, min_score=0.1)
    assert gigamind.gate(result, again, phase="ga").verdict != "not-comparable"


def test_two_run_files_are_states_of_one_system_and_two_systems_get_no_verdict(
    asked, run_file, tmp_path
):
    better = tmp_path / "better.run"
    better.write_text(
        RUN.replace("second Q0 deploy.md 1 0.8", "second Q0 deploy.md 1 0.1"), "utf-8"
    )
    outs = {
        "a": asked(run_file, out=tmp_path / "a"),
        "b": asked(f"run:{better}", out=tmp_path / "b"),
        "ours": asked("builtin", mode="keyword", out=tmp_path / "ours"),
    }
    runs = {name: read_snapshot(evaluate(options).out, KINDS) for name, options in outs.items()}
    same = compare(runs["a"], runs["b"])
    assert [mismatch.what for mismatch in same.mismatches] == []
    assert same.metric("search.mrr").difference == pytest.approx(0.125)
    other = compare(runs["ours"], runs["a"])
    system = next(mismatch for mismatch in other.mismatches if mismatch.what == "system")
    assert (system.severity, system.detail) == ("no-verdict", "builtin → run:a.run")


def test_a_named_endpoint_is_one_system_on_any_port_unless_it_is_asked_otherwise(tmp_path):
    config = tmp_path / "ours.toml"
    shipped = (Path(__file__).parents[3] / "systems" / "plain.toml").read_text("utf-8")
    config.write_text(f"{shipped}\nretries = 1\n", "utf-8")

    def told(port, config=None, name="preview"):
        return describe_system(f"http://127.0.0.1:{port}", config, rankings(10), name)

    first = told(1)
    assert (first.name, told(2).fingerprint) == ("preview", first.fingerprint)
    others = told(1, str(config)), told(1, name=None)
    assert first.fingerprint not in {other.fingerprint for other in others}


def test_a_model_reads_what_another_system_found(by_model, run_file, server):
    options: SearchEvalOptions = by_model(system=run_file, mode="hybrid", topk=3)
    evaluate(options)
    shown = [json.dumps(one, ensure_ascii=False) for one in server.seen.bodies]
    assert any("The deploy runs every Friday" in text for text in shown)


def test_a_dry_run_checks_the_system_and_asks_nothing(asked):
    from gigamind.tasks import TASKS

    with search_server(plain(DOCUMENTS)) as server:
        checked = TASKS["search"].check(asked(server.url, notes=None))
    assert (checked.ready.values["n"], server.asked) == (6, [])
    assert list(checked.estimate()) == []


def test_without_an_unanswerable_query_no_threshold_is_missed(asked, run_file):
    rows = [{"id": "first", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}]
    out = evaluate(asked(run_file, rows, notes=None)).out
    assert not any("threshold" in told or "--min-score" in told for told in run_of(out)["warnings"])
