"""Files as other tools write them, in one folder, by the names that docs/systems.md gives them."""

import csv
import json
from importlib.util import find_spec
from pathlib import Path

from row_files import as_lines

CONTEXT = "🌴 휴가는 팀장에게 신청한다. The garden has roses."
PARAGRAPHS = [
    {
        "context": CONTEXT,
        "qas": [
            {"id": "k1", "question": "휴가는 누구에게 신청하나?", "answers": [{"text": "팀장", "answer_start": 6}]},
            {"id": "k2", "question": "What grows there?", "answers": [{"text": "roses", "answer_start": 0}]},
            {"id": "k3", "question": "Who?", "answers": [], "is_impossible": True},
        ],
    },
    {"context": "The deploy runs every Friday.", "qas": []},
]  # fmt: skip
GOLDENS = [
    {
        "input": "휴가는 누구에게 신청하나요?", "actual_output": "팀장에게 신청합니다.",
        "expected_output": "팀장",
        "retrieval_context": ["휴가는 팀장에게 신청한다.", "The garden has roses."],
        "context": None, "name": "leave",
    },
    {"input": "When?", "actual_output": None, "expected_output": "Friday", "context": ["Friday."]},
]  # fmt: skip
SAMPLES = [
    {
        "user_input": "휴가는 누구에게 신청하나요?",
        "retrieved_contexts": "['휴가는 팀장에게 신청한다.', \"It's red.\"]",
        "response": "팀장에게 신청합니다.",
        "reference": "팀장",
    }
]


def write_foreign_files(folder: Path) -> None:
    def write(name: str, text: str) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")

    write("qrels.txt", "1 0 d1 2\n1 0 d2 0\n1 0 d3 1\n2 0 d2 1\n3 0 d1 0\n")
    write("topics.tsv", "1\t휴가 신청\n2\troses\n3\tzebra\n4\tnever judged\n")
    write("bm25.run", "1 Q0 d2 1 0.9 t\n1 Q0 d9 2 0.8 t\n1 Q0 d1 3 0.7 t\n2 Q0 d2 1 0.5 t\n")
    corpus = {"d1": ("휴가", "휴가는 팀장에게 신청한다."), "d2": ("", "The garden has roses.")}
    corpus |= {"a/b:c": ("Deploy", "The deploy runs every Friday."), "d4": ("", "--- odd ---")}
    documents = [{"_id": n, "title": title, "text": x} for n, (title, x) in corpus.items()]
    write("scifact/corpus.jsonl", as_lines(documents))
    queries = {"q1": "휴가 신청", "q2": "deploy Friday", "q3": "never judged"}
    write("scifact/queries.jsonl", as_lines([{"_id": n, "text": x} for n, x in queries.items()]))
    rows = ["q1\td1\t2", "q1\td2\t0", "q2\ta/b:c\t1", "q2\tgone\t1"]
    write("scifact/qrels/test.tsv", "\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    data = {"version": "x", "data": [{"title": "Office", "paragraphs": PARAGRAPHS}]}
    write("KorQuAD_v1.0_dev.json", json.dumps(data))
    write("goldens.json", json.dumps(GOLDENS))
    with (folder / "testset.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(SAMPLES[0]))
        table.writeheader()
        table.writerows(SAMPLES)
    write("log.csv", "prompt,completion,passages,gold\nWho?,The boss.,The boss.,The boss.\n")
    if find_spec("pyarrow"):
        from pyarrow import Table, parquet

        found = {"qid": "1", "query": "roses?", "retrieval_gt": [["d2"]], "generation_gt": ["Yes."]}
        parquet.write_table(Table.from_pylist([found]), folder / "qa.parquet")
        chunks = [{"doc_id": "d2", "contents": "The garden has roses.", "metadata": {"page": 1}}]
        parquet.write_table(Table.from_pylist(chunks), folder / "corpus.parquet")
