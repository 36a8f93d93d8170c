"""Two fusions over the same queries: what is better, what is worse, and what to type."""

import json
import shutil

import pytest

from gigamind.errors import InputError
from gigamind.tasks import evaluate
from gigamind.tasks.search.options import SearchEvalOptions
from gigamind.tasks.search.tune import tune

WORDS = [
    "tulip",
    "anchor",
    "violin",
    "granite",
    "saffron",
    "lantern",
    "harbor",
    "quartz",
    "meadow",
    "falcon",
    "cobalt",
    "walnut",
]


@pytest.fixture
def options(tmp_path, monkeypatch):
    """Twelve notes of a sentence each, and a question about each of them."""
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    rows = []
    for number, word in enumerate(WORDS):
        note = tmp_path / "vault" / f"n{number:02}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text(f"The {word} stands in room {number}.", encoding="utf-8")
        row = {"id": word, "query": f"where is the {word}", "answerable": True}
        rows.append({**row, "expected_notes": [note.name]})
    rows.append({"id": "none", "query": "zebra", "answerable": False, "expected_notes": []})
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return SearchEvalOptions(dataset=tmp_path / "q.jsonl", notes=tmp_path / "vault", warmup=0)


def test_equal_fusions_are_told_as_equal_and_both_runs_are_kept(options, tmp_path):
    tuned = tune(options, tmp_path / "tuned", evaluate)
    assert tuned.finding[0] == (
        "balanced and weighted rank alike but for chance: 12 and 12 of 12 notes first;"
        " nothing got worse beyond chance."
    )
    assert (tuned.before.out.name, tuned.after.out.name) == ("as-is", "balanced")
    assert "--fusion weighted" in tuned.finding[-1]
    assert tuned.page == tmp_path / "tuned" / "report.html"
    page = tuned.page.read_text("utf-8")
    assert "Baseline: run" in page
    assert "Retrieval was set differently" in page


def test_a_fusion_that_ranks_worse_is_not_taken(options, tmp_path):
    """Beside the real one a search that has lost its notes, for no fusion is worse on such a vault."""
    damaged = tmp_path / "damaged"
    shutil.copytree(options.notes, damaged)
    texts = [path.read_text("utf-8") for path in sorted(damaged.iterdir())]
    for path, text in zip(sorted(damaged.iterdir()), texts[1:] + texts[:1], strict=True):
        path.write_text(text, encoding="utf-8")

    def other_is_worse(chosen):
        moved = {"notes": damaged} if chosen.fusion == "balanced" else {}
        return evaluate(chosen.model_copy(update=moved))

    first, *_, last = tune(options, tmp_path / "tuned", other_is_worse).finding
    assert first.startswith("balanced ranks worse than weighted: ")
    assert "worse beyond chance: hit@1 −1.000" in first
    assert "--fusion weighted" in last

    options = options.model_copy(update={"fusion": "balanced"})
    first, *_, last = tune(options, tmp_path / "again", other_is_worse).finding
    assert first.startswith("weighted puts an expected note first for 12 more of 12 queries (12, ")
    assert "--fusion weighted" in last


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "keyword"}, "--mode keyword: has one leg"),
        ({"unanswerable_mode": "llm"}, "have no part here"),
        ({"system": "run:a.run"}, "--system: only gigamind's own search"),
    ],
)
def test_where_nothing_can_be_chosen_nothing_is_run(options, tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        tune(options.model_copy(update=changes), tmp_path / "tuned", evaluate)
    assert not (tmp_path / "tuned").exists()
