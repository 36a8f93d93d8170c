from gigamind.tasks.search.figures import all_metrics, main_metrics, slices


def test_slices_come_from_the_whole_to_its_parts(make_record, make_slice):
    summary = make_record(
        summary={
            "by_language": {"ko": make_slice(), "en": make_slice()},
            "cross_lingual": make_slice(1, 0),
            "by_difficulty": {"hard": make_slice(), "strange": make_slice(), "easy": make_slice()},
            "by_tag": {"few": make_slice(1, 1), "many": make_slice(5, 5), "some": make_slice(3, 3)},
        }
    ).summary
    assert [(part.kind, part.key) for part in slices(summary, tags=2)] == [
        ("overall", ""),
        ("language", "ko"),
        ("language", "en"),
        ("cross_lingual", ""),
        ("difficulty", "easy"),
        ("difficulty", "hard"),
        ("difficulty", "strange"),
        ("tag", "many"),
        ("tag", "some"),
    ]


def test_a_tag_that_repeats_the_cross_lingual_slice_is_left_out(make_record, make_slice):
    across = make_slice(3, 0)
    summary = make_record(
        summary={"cross_lingual": across, "by_tag": {"cross-lingual": across, "a": make_slice()}}
    ).summary
    assert [part.key for part in slices(summary, tags=9) if part.kind == "tag"] == ["a"]


def test_main_metrics_take_the_cut_off_at_ten_and_leave_out_what_was_not_measured(make_slice):
    assert [figure.key for figure in main_metrics(make_slice(2, 0))] == [
        "search.hit_at_1",
        "search.mrr",
        "search.ndcg_at_10",
        "search.recall_at_10",
    ]


def test_all_metrics_stand_in_order_of_name_and_number(make_slice):
    names = [figure.name for figure in all_metrics(make_slice())]
    assert names == [
        "hit_at_1",
        "hit_at_10",
        "mrr",
        "ndcg_at_1",
        "ndcg_at_10",
        "recall_at_10",
        "precision",
        "recall",
        "f1",
        "far",
        "false_refusals",
    ]
