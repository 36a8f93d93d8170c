"""A minimal RAG system of your own: it answers over HTTP with one sentence of the notes.

python examples/own_rag.py examples/vault 9001
gigamind eval answers --dataset examples/answers.jsonl --system http://127.0.0.1:9001 --model MODEL
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path

VAULT = Path(sys.argv[1])
NOTES = {str(path.relative_to(VAULT)): path.read_text("utf-8") for path in VAULT.rglob("*.md")}


def shared(question: str, text: str) -> float:
    """Return the shared letter pairs of question and text, normalised by the length of the text."""
    wanted, pairs = set(pairwise(question.lower())), set(pairwise(text.lower()))
    return len(wanted & pairs) / (20 + len(pairs)) ** 0.5


class Rag(BaseHTTPRequestHandler):
    """Answers POST {"question"} with {"answer", "contexts": [{"note", "text"}]}."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise a reply can wait for 40 ms

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        notes = sorted(NOTES, key=lambda note: -shared(question, NOTES[note]))[:2]
        sentences = re.findall(r"[^\n.!?|#]{12,}[.!?]", NOTES[notes[0]])
        best = max(sentences, key=lambda text: shared(question, text), default="No note says it.")
        contexts = [{"note": note, "text": NOTES[note]} for note in notes]
        answer = f"{best.strip(' -*>')} [Note 1]"
        reply = json.dumps({"answer": answer, "contexts": contexts}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Rag).serve_forever()
