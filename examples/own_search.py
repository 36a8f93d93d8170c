"""A minimal search of your own over HTTP: the notes with the most query words.

python examples/own_search.py examples/vault 9000
gigamind eval search --dataset examples/queries.jsonl --notes examples/vault --system http://127.0.0.1:9000
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VAULT = Path(sys.argv[1])
NOTES = {str(path.relative_to(VAULT)): path.read_text("utf-8") for path in VAULT.rglob("*.md")}
WORDS = {note: set(re.findall(r"\w+", text.lower())) for note, text in NOTES.items()}


class Search(BaseHTTPRequestHandler):
    """Answers POST {"query", "topk"} with {"hits": [{"note", "score"}]}."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # otherwise a reply can wait for 40 ms

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        wanted = set(re.findall(r"\w+", request["query"].lower()))
        shares = {note: len(wanted & words) / len(wanted) for note, words in WORDS.items()}
        best = sorted(shares, key=lambda note: (-shares[note], note))[: request["topk"]]
        reply = json.dumps({"hits": [{"note": n, "score": shares[n]} for n in best]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        pass


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Search).serve_forever()
