"""What `gigamind export trec` writes is read back as the run that it was made of."""

import pytest
from out_files import rows_of, run_of
from vault_files import write_files

from gigamind.interop.trec import trec_run
from gigamind.tasks import evaluate

NAMES = ["50 off.md", "50%20off.md", "휴가 계획 100%.md", "팀/주간 회의.md", "plain.md"]


@pytest.fixture
def options(make_options, tmp_path):
    """Of a vault whose names have spaces, % and Hangul, and of queries with such ids."""

    texts = ["apple", "apple pear", "배 사과", "회의 apple", "pear"]
    vault = write_files(tmp_path / "spaced", dict(zip(NAMES, texts, strict=True)))
    asked = ["apple", "pear", "사과", "회의", "apple pear 회의"]
    rows = [
        {"id": f"q {at}%", "query": query, "answerable": True, "expected_notes": [note]}
        for at, (query, note) in enumerate(zip(asked, NAMES, strict=True))
    ]

    def of(**changes):
        given = {"mode": "keyword", "notes": vault, "topk": 3} | changes
        return make_options(rows, **given)

    return of


def ranks(out):
    return {item["id"]: [hit["note"] for hit in item["ranking"]] for item in rows_of(out)}


@pytest.mark.parametrize("with_vault", [True, False])
def test_an_exported_run_gives_the_very_same_rankings_and_figures(options, tmp_path, with_vault):
    first, out, *_ = evaluate(options(out=tmp_path / "first"))
    told = ranks(out)
    file = tmp_path / "run.trec"
    file.write_text(trec_run(told, "gigamind"), encoding="utf-8")
    changes = {} if with_vault else {"notes": None}
    again, out, *_ = evaluate(
        options(system=f"run:{file}", mode="hybrid", out=tmp_path / "again", **changes)
    )
    assert ranks(out) == told
    of_ranks = {name for name in first.overall.search if "_at_" in name or name == "mrr"}
    assert len(of_ranks) > 5
    assert {name: again.overall.search[name] for name in of_ranks} == {
        name: first.overall.search[name] for name in of_ranks
    }
    warnings = run_of(out)["warnings"]
    assert any("50%20off.md" in one for one in warnings)
    assert not any("the dataset lacks" in one for one in warnings)
