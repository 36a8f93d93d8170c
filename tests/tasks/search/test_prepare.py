import pytest

from gigamind.errors import DatasetError, NotesError
from gigamind.tasks.search.prepare import prepare
from gigamind.tasks.search.task import SearchTask

GOOD = {"id": "a", "query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}
LOST = {"id": "b", "query": "deploy", "answerable": True, "expected_notes": ["gone.md"]}
NOTHING = {"id": "n", "query": "zebra", "answerable": False, "expected_notes": []}


def collide(notes):
    (notes / "Garden_.md").write_text("Another garden.\n", encoding="utf-8")


def test_rows_that_cannot_be_used_are_listed_with_file_and_line(make_options, tmp_path):
    found = prepare(make_options([GOOD, LOST, "{broken"], min_rows=0.3))
    assert [query.item.id for query in found.queries] == ["a"]
    told = [(e.kind, e.line, e.id, e.field) for e in found.errors]
    assert told == [("row", 2, "b", "expected_notes[0]"), ("row", 3, None, None)]
    assert found.errors[1].message.startswith(f"{tmp_path / 'queries.jsonl'}:3: ")


def test_strict_has_nothing_against_good_rows(make_options):
    assert len(prepare(make_options(strict=True)).queries) == 6


@pytest.mark.parametrize(("bad", "more"), [(5, None), (6, "... and 1 more problem")])
def test_no_more_than_five_problems_are_shown(make_options, bad, more):
    rows = [GOOD, *({**LOST, "id": f"b{n}"} for n in range(bad))]
    with pytest.raises(DatasetError) as refusal:
        prepare(make_options(rows, strict=True))
    lines = str(refusal.value).splitlines()
    assert len(lines) == 1 + 5 + (more is not None)
    assert (lines[-1] == more) == (more is not None)


def test_the_dataset_of_another_vault_is_named_as_what_it_may_be(make_options, notes):
    with pytest.raises(DatasetError) as refusal:
        prepare(make_options([LOST]))
    first, second = str(refusal.value).splitlines()
    assert str(notes) in first
    assert '"gone.md"' in second


def test_unanswerable_rows_fit_every_vault_and_make_no_dataset_its_own(make_options):
    lost = [{**LOST, "id": f"b{n}"} for n in range(2)]
    with pytest.raises(DatasetError, match=r"gone\.md"):
        prepare(make_options([*lost, NOTHING]))
    assert len(prepare(make_options([*lost, NOTHING, GOOD])).queries) == 2


def test_a_dataset_of_unanswerable_rows_alone_can_be_run(make_options):
    assert len(prepare(make_options([NOTHING])).queries) == 1


def test_a_file_without_one_readable_row_is_not_taken_for_one_of_another_vault(make_options):
    with pytest.raises(DatasetError) as refusal:
        prepare(make_options(["{broken", "[]"]))
    assert "another vault" not in str(refusal.value)
    assert "JSON" in str(refusal.value)


def test_strict_allows_notes_of_one_name_that_the_dataset_tells_apart(make_options, notes):
    collide(notes)
    assert len(prepare(make_options([GOOD], strict=True)).queries) == 1


def test_by_default_a_met_collision_is_a_warning_and_the_first_note_is_meant(make_options, notes):
    collide(notes)
    found = prepare(make_options([{**GOOD, "expected_notes": ["GARDEN"]}], mode="semantic"))
    assert list(found.queries[0].qrels) == ["Garden_.md"]
    assert found.warnings == (
        (
            '[WARN] Note identifier collision: "garden" matches multiple files:\n'
            "  - Garden_.md (selected)\n"
            "  - garden.md (ignored)"
        ),
    )


def test_a_sample_has_the_asked_size_and_its_seeds_members(make_options):
    one, again, other = (
        [q.item.id for q in prepare(make_options(sample="3", seed=seed)).queries]
        for seed in (1, 1, 2)
    )
    assert len(one) == len(other) == 3
    assert one == again != other


@pytest.mark.parametrize(("size", "left"), [("2", 4), ("0.5", 3), ("1.0", 0), ("100", 0)])
def test_what_the_sample_leaves_out_is_counted(make_options, size, left):
    found = prepare(make_options(sample=size))
    assert (len(found.queries), found.not_sampled) == (6 - left, left)


@pytest.mark.parametrize("place", ["none", "file", "empty"])
def test_notes_that_cannot_be_read_end_with_code_2(make_options, tmp_path, place):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    with pytest.raises(NotesError, match=f"{place}: ") as refusal:
        prepare(make_options(notes=tmp_path / place))
    assert refusal.value.exit_code == 2


# The chunk with the best BM25 scores 1, so the Top-1 has at least the keyword leg's share of 1 - alpha = 0.3.
@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({"mode": "hybrid", "min_score": 0.3}, True),
        ({"mode": "hybrid", "min_score": 0.31}, False),
        ({"mode": "hybrid", "min_score": 0}, False),
        ({"mode": "hybrid", "min_score": 0.4, "alpha": 0.6}, True),
        ({"mode": "hybrid", "min_score": 0.4, "alpha": 0.61}, False),
        ({"mode": "semantic", "min_score": 0.3}, False),
        ({"mode": "keyword", "min_score": 1}, True),
        # A note that the link graph lifts by up to 1.2 may stand first with 0.3 / 1.2 = 0.25.
        ({"mode": "hybrid", "min_score": 0.25, "graph_rerank": True}, True),
        ({"mode": "hybrid", "min_score": 0.26, "graph_rerank": True}, False),
        # An absolute score has no such floor.
        ({"mode": "hybrid", "min_score": 0.3, "fusion": "balanced"}, False),
    ],
)
def test_a_threshold_that_can_tell_nothing_is_warned_about(make_options, changes, warned):
    assert bool(prepare(make_options(**changes)).blunt_threshold()) == warned


@pytest.mark.parametrize(
    ("changes", "warned"),
    [
        ({"mode": "hybrid", "fusion": "balanced"}, []),
        ({"mode": "keyword", "fusion": "balanced", "min_score": 0}, ["--fusion balanced: "]),
        ({"mode": "hybrid", "fusion": "balanced", "alpha": 0.5}, ["--alpha 0.5: "]),
        ({"mode": "hybrid", "alpha": 0.5, "min_score": 0}, []),
    ],
)
def test_an_option_of_fusion_without_a_part_is_warned_about(make_options, changes, warned):
    warnings = prepare(make_options(**changes)).warnings
    assert [w[: len(start)] for w, start in zip(warnings, warned, strict=True)] == warned


def test_a_dry_run_warns_that_the_threshold_detects_nothing(make_options):
    for mode, floor in (("hybrid", 0.3), ("keyword", 1)):
        checked = SearchTask().check(make_options(mode=mode))
        assert checked.warnings[0].values["floor"] == pytest.approx(floor)
    answerable = [GOOD]
    assert not SearchTask().check(make_options(answerable)).warnings


def test_the_fingerprints_follow_the_files(make_options, notes):
    before = prepare(make_options())
    (notes / "deploy.md").write_text("changed", encoding="utf-8")
    after = prepare(make_options([GOOD]))
    assert before.notes_hash != after.notes_hash
    assert before.dataset_hash != after.dataset_hash


def test_a_pattern_keeps_files_out_of_the_notes_hash(make_options, notes):
    before = prepare(make_options(notes_hash_exclude=("*.png",)))
    (notes / "picture.png").write_bytes(b"x")
    assert prepare(make_options(notes_hash_exclude=("*.png",))).notes_hash == before.notes_hash
    assert prepare(make_options()).notes_hash != before.notes_hash


@pytest.mark.parametrize(
    ("good", "lost", "least", "stops"),
    [(1, 1, 0.5, False), (1, 2, 0.5, True), (1, 2, 0.3, False), (1, 2, 0, False)],
)
def test_a_run_needs_its_share_of_usable_rows(make_options, good, lost, least, stops):
    rows = [GOOD | {"id": f"g{n}"} for n in range(good)]
    rows += [LOST | {"id": f"l{n}"} for n in range(lost)]
    options = make_options(rows, min_rows=least)
    if not stops:
        assert prepare(options).rows_rejected == lost
        return
    with pytest.raises(DatasetError, match=r"1 of 3 .*--min-rows") as refusal:
        prepare(options)
    assert refusal.value.exit_code == 1
