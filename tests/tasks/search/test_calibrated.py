"""A search evaluation whose judge weighs all that search shows."""

import pytest
from out_files import items_of, run_of
from vault_files import write_files

from gigamind.errors import InputError
from gigamind.tasks import evaluate


def test_the_verdict_hangs_on_the_probability_and_the_setting_of_the_file(make_options):
    done = evaluate(make_options(unanswerable_mode="calibrated"))
    judge = run_of(done.out)["judge"]
    assert (judge["kind"], judge["file"]) == ("calibrated", "judges/unanswerable_calibrated.toml")
    found = items_of(done.out)
    assert found["nothing"]["answerable_score"] == 0.0
    for item in found.values():
        assert item["judged_unanswerable"] is (item["answerable_score"] < judge["setting"])
    assert found["first"]["judged_unanswerable"] is False
    assert done.summary.llm is None


def test_verdicts_are_those_of_the_same_signals_in_hybrid_and_semantic_mode(make_options, tmp_path):
    hybrid, semantic = (
        evaluate(make_options(unanswerable_mode="calibrated", mode=mode, out=tmp_path / mode))
        for mode in ("hybrid", "semantic")
    )
    scores = [
        {name: item["answerable_score"] for name, item in items_of(done.out).items()}
        for done in (hybrid, semantic)
    ]
    assert scores[0] == scores[1]
    assert run_of(hybrid.out)["judge"] == run_of(semantic.out)["judge"]
    assert not run_of(hybrid.out)["warnings"]  # that of --min-score is about the threshold judge


def test_keyword_mode_has_a_setting_and_a_fingerprint_of_its_own(make_options, tmp_path):
    runs = [
        evaluate(make_options(unanswerable_mode="calibrated", mode=mode, out=tmp_path / mode))
        for mode in ("keyword", "hybrid")
    ]
    judges = [run_of(done.out)["judge"] for done in runs]
    assert judges[0]["fingerprint"] != judges[1]["fingerprint"]
    assert judges[0]["setting"] == judges[1]["setting"] == 0.5  # probabilities have one threshold


BATTERY = (
    "# Battery\n\nThe battery of the bike is replaced every two years by the workshop in Porto.\n"
)


@pytest.fixture
def judged(make_options, tmp_path):
    """Runs queries over a few notes with the calibrated judge: the summary, and the lines by query."""

    def run(queries, *notes, **changes):
        texts = {f"{place}.md": text for place, text in enumerate(notes)}
        vault = write_files(tmp_path / "small", texts)
        rows = [
            {"id": query, "query": query, "answerable": bool(own), "expected_notes": own}
            for query, own in queries.items()
        ]
        done = evaluate(make_options(rows, notes=vault, unanswerable_mode="calibrated", **changes))
        return done, items_of(done.out)

    return run


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_over_one_note_there_is_a_figure_and_no_certainty(judged, mode):
    asked, strange = "When is the battery of the bike replaced?", "Who painted the Sistine ceiling?"
    _, found = judged({asked: ["0.md"], strange: []}, BATTERY, mode=mode)
    told, refused = (found[query]["answerable_score"] for query in (asked, strange))
    assert 0.01 < refused < 0.5
    assert refused < told < 0.99


def test_without_a_word_in_common_keyword_search_finds_nothing_and_vectors_decide(judged):
    query = "Quantum chromodynamics lattice?"
    done, found = judged({query: []}, BATTERY, mode="hybrid")
    assert found[query]["judged_unanswerable"]
    assert 0 < found[query]["answerable_score"] < 0.5
    assert found[query]["judged_across_languages"] is False
    assert done.summary.overall.unanswerable["far"] == 0.0


def test_a_language_that_no_table_knows_is_judged_by_the_figures_alone(judged):
    query = "Quand est-ce que la batterie du vélo est remplacée ?"
    french = "# Batterie\n\nLa batterie du vélo est remplacée tous les deux ans par l'atelier.\n"
    done, found = judged({query: ["0.md"]}, french, BATTERY, mode="hybrid")
    assert 0 < found[query]["answerable_score"] < 1
    assert found[query]["judged_across_languages"] is False
    assert done.summary.weak_verdicts.across_languages == 0


def test_without_an_answerable_query_no_false_refusals_are_reported(judged):
    done, _ = judged({"Who painted the Sistine ceiling?": []}, BATTERY, BATTERY)
    assert done.summary.overall.unanswerable["false_refusals"] is None
    assert done.summary.weak_verdicts.near_misses is None
    [result] = done.page.headline.values["parts"]
    assert (result.values["missed"], result.values["unanswerable"]) == (0, 1)
    assert "refused" not in result.values


def test_weak_verdicts_are_counted(judged):
    queries = {
        "점심 메뉴는 누가 정하나요?": ["0.md"],
        "Is the battery of the bike replaced by the workshop in Porto?": [],
    }
    done, found = judged(queries, BATTERY, mode="hybrid")
    assert [item["judged_across_languages"] for item in found.values()] == [True, False]
    weak = done.summary.weak_verdicts
    assert (weak.across_languages, weak.near_misses, weak.unanswerable) == (1, 1, 1)


def test_other_judges_say_nothing_of_weak_verdicts(make_options):
    done = evaluate(make_options())
    assert done.summary.weak_verdicts is None
    assert {item["judged_across_languages"] for item in items_of(done.out).values()} == {None}


def test_a_judge_file_decides_the_kind_by_itself(make_options, tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('kind = "threshold"\nmin_score = 0.75\n', encoding="utf-8")
    done = evaluate(make_options(judge=file))
    assert run_of(done.out)["judge"] | {"fingerprint": ""} == {
        "kind": "threshold",
        "file": str(file),
        "fingerprint": "",
        "setting": 0.75,
        "model": None,
        "languages": [],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('kind = "threshold"\nmin_score = 2\n', "min_score 2: "),
        ('kind = "threshold"\nmin_score = 0.1\nmore = 1\n', "more"),
    ],
)
def test_a_judge_file_that_says_something_else_is_refused_before_any_work(
    make_options, tmp_path, text, message
):
    file = tmp_path / "mine.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        evaluate(make_options(judge=file))
    assert not (tmp_path / "cache").exists()
