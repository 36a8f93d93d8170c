"""A RAG system of a team's own, as small as can be: it answers with one sentence of the notes, over HTTP.

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
    """Pairs of letters that a text has of the question; long texts do not win by their length."""
    asked, said = (set(pairwise(one.lower())) for one in (question, text))
    return len(asked & said) / (20 + len(said)) ** 0.5


class Rag(BaseHTTPRequestHandler):
    """Answers POST {"question"} with {"answer", "contexts": [{"note", "text"}]}."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["question"]
        found = sorted(NOTES, key=lambda note: -shared(asked, NOTES[note]))[:2]
        sentences = re.findall(r"[^\n.!?|#]{12,}[.!?]", NOTES[found[0]])
        best = max(sentences, key=lambda one: shared(asked, one), default="Nobody wrote it.")
        contexts = [{"note": note, "text": NOTES[note]} for note in found]
        answer = f"{best.strip(' -*>')} [Note 1]"
        reply = json.dumps({"answer": answer, "contexts": contexts}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Rag).serve_forever()
