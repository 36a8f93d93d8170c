import numpy as np

NOTES = {"a.md": "The deploy runs every Friday.", "b.md": "휴가는 팀장에게 신청한다."}


def test_a_second_look_finds_the_same_and_embeds_only_what_was_never_searched(opened):
    with opened(NOTES, mode="hybrid") as retriever:
        searched, recalled = retriever.recording()
        hits = searched.search("deploy")
        first = searched.semantic.embedder.vectors["deploy"]
        assert recalled.search("deploy") == hits == retriever.search("deploy")
        assert recalled.semantic.embedder.embed_query("deploy") is first
        assert recalled.semantic.embedder.name == retriever.semantic.embedder.name
        other = recalled.semantic.embedder.embed_query("휴가")
        assert np.array_equal(other, retriever.semantic.embedder.embed_query("휴가"))


def test_a_search_is_embedded_anew_each_time_so_that_its_time_is_honest(opened):
    with opened(NOTES, mode="semantic") as retriever:
        searched, _recalled = retriever.recording()
        searched.search("deploy")
        first = searched.semantic.embedder.vectors["deploy"]
        searched.search("deploy")
        assert searched.semantic.embedder.vectors["deploy"] is not first


def test_keyword_mode_has_nothing_to_record(opened):
    with opened(NOTES, mode="keyword") as retriever:
        assert retriever.recording() == (retriever, retriever)
