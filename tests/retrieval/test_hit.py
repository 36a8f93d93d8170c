from gigamind.retrieval.hit import Hit, best_first
from gigamind.spans import Passage, Span


def hit(note: str, base: float, final: float) -> Hit:
    return Hit(note, base, final, base, base, Passage(note, "", Span(0, 0)))


def test_hits_stand_by_final_score_and_not_by_base_score():
    ranked = best_first([hit("a.md", 0.9, 0.9), hit("b.md", 0.8, 0.96)])

    assert [h.note for h in ranked] == ["b.md", "a.md"]


def test_equal_hits_fall_by_path_as_in_trec_eval():
    ranked = best_first([hit("a.md", 0.5, 0.5), hit("다.md", 0.5, 0.5), hit("b.md", 0.5, 0.5)])

    assert [h.note for h in ranked] == ["다.md", "b.md", "a.md"]
