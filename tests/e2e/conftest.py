import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from answer_reply import aside
from command_line import reached
from prefect_stack import Stack
from scripted_judges import HONEST, LabelledAnswer, read_labelled_answers
from second_looks import is_second_look, looks
from webhook import Webhook, listening

from gigamind.judges.search_qa.reply import ClaimFinding
from gigamind.judges.search_qa.segments import Piece

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class LabelledAnswers:
    """The example answers, and judges of them that are scripted from what people said."""

    rows: tuple[dict[str, Any], ...]
    folder: Path

    def run(self, name: str, replies: list[dict[str, Any]], *options: str) -> Path:
        """The out folder of `gigamind eval answers` on them, over HTTP; the replies are given in turn."""
        from faulty_model import running

        from gigamind.cli.main import main

        examples, out = ROOT / "examples", self.folder / name
        paths = ("--dataset", examples / "answers.jsonl", "--notes", examples / "vault")
        kept = ("--store-mode", "off", "--cache-dir", self.folder / "cache", "--out", out)
        looks_asked = Counter[str]()
        answers = read_labelled_answers(None, None).answers

        def reads(row: dict[str, Any]) -> bool:
            return any(HONEST.confirms(answer, row) for answer in answers)

        def respond(body: dict[str, Any]) -> dict[str, Any] | None:
            """Second looks, as people labelled the claims."""
            text = str(body["messages"][-1]["content"])
            if not is_second_look(text):
                return None
            looks_asked["all"] += 1
            return looks(text, reads=reads)

        with running() as server:
            server.script.extend(replies)
            server.respond = respond
            model = ("--model", "openai/judge", *reached(server), "--max-in-flight", 1)
            with pytest.raises(SystemExit) as ended:
                main(["eval", "answers", *map(str, (*paths, *model, *kept)), *options])
        assert not ended.value.code
        assert server.seen.total - looks_asked.total() == len(replies)
        return out

    def honest(self) -> list[dict[str, Any]]:
        """Each claim as people labelled it, quotes included."""
        return self._replies(HONEST.finding)

    def forging(self, forge: Callable[[dict[str, Any]], str]) -> list[dict[str, Any]]:
        """Every claim is said to be supported; a quote is forged where people found none that supports it."""

        def forged(answer: LabelledAnswer, sentence: Piece) -> ClaimFinding:
            honest, label = HONEST.finding(answer, sentence), answer.claim_labels.get(sentence.id)
            if label is None or label.verdict == "supported":
                return honest
            lie = {"verdict": "supported", "note": label.note or 1}
            return honest.model_copy(update=lie | {"quote": forge(label.model_dump())})

        return self._replies(forged)

    def hiding(self, role: str) -> list[dict[str, Any]]:
        """Every claim is said to be no claim, and to be backed by no note."""

        def hidden(answer: LabelledAnswer, sentence: Piece) -> ClaimFinding:
            if sentence.id not in answer.claim_labels:
                return HONEST.finding(answer, sentence)
            return ClaimFinding.model_validate(aside(role, sentence.text, sentence.id))

        return self._replies(hidden)

    @staticmethod
    def _replies(finding: Callable[[LabelledAnswer, Piece], ClaimFinding]) -> list[dict[str, Any]]:
        """What a judge says that is honest but for what it finds."""
        liar = replace(HONEST, finding=finding)
        answers = read_labelled_answers(None, None).answers
        return [liar.reply(answer).model_dump(mode="json") for answer in answers]

    def checks(self) -> list[dict[str, Any]]:
        """A checklist's reply for each answer: what its labels say of directness, grounds, sources and doubt."""
        return [{"items": [self._checked(row, name) for name in CHECKS]} for row in self.rows]

    def words_of(self, row: dict[str, Any], check: str) -> str:
        """The words that show that an item of the checklist is fulfilled; "" where it is not."""
        labels, answer = row["labels"], row["answer"]
        quotes = [one["quote"] for one in labels["claims"] if one["verdict"] == "supported"]
        found = {
            "direct": answer if labels["utility"] >= 0.5 else "",
            "grounded": quotes[0] if quotes else "",
            "sources": next((word for word in ("[노트 1]", "[Note 1]") if word in answer), ""),
            "uncertainty": answer if labels["abstains"] else "",
        }
        return found[check]

    def _checked(self, row: dict[str, Any], check: str) -> dict[str, Any]:
        words = self.words_of(row, check)
        return {"id": check, "yes": bool(words), "quote": words}


CHECKS = ("direct", "grounded", "sources", "uncertainty")


@pytest.fixture(scope="module")
def labelled_answers(tmp_path_factory):
    """The forty example answers with judges that say what people said."""
    text = (ROOT / "examples" / "answers.jsonl").read_text("utf-8")
    rows = tuple(json.loads(line) for line in text.splitlines())
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        yield LabelledAnswers(rows, tmp_path_factory.mktemp("answers"))


@pytest.fixture(scope="session")
def webhook() -> Iterator[Webhook]:
    """What the deployed automations notify."""
    with listening() as told:
        yield told


@pytest.fixture(scope="session")
def deployed(prefect_stack: Stack, webhook: Webhook) -> Iterator[Stack]:
    """The server with a worker beside it, and the deployments and automations of the repository."""
    with prefect_stack.running("worker"):
        made = prefect_stack.make("deploy", GIGAMIND_WEBHOOK=webhook.url)
        assert made.returncode == 0, made.stdout + made.stderr
        yield prefect_stack
