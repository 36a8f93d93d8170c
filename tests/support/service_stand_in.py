"""A Search-QA service that plays scenes, for tests of its page: each question has one, streamed as the service does."""

import asyncio
import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from judged_folders import EVALUATION

import gigamind
from gigamind.evidence.align import align_all
from gigamind.evidence.result import Quote
from gigamind.i18n import script_messages, translator
from gigamind.judges.search_qa.segments import _without_citations, citations
from gigamind.records.judged import QualityReport, SearchQAEvaluation
from gigamind.reports.labels import LABELS
from gigamind.service.options import PAGE_LANGUAGES
from gigamind.spans import Utf16

PACKAGE = Path(gigamind.__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True)
class Note:
    """A note of the vault.

    Attributes:
        text: the file's.
        shown_from: code point offset of what a model is shown of it.
    """

    note_id: str
    title: str
    text: str
    shown_from: int = 0


@dataclass(frozen=True)
class Said:
    """A claim of an answer, and the words of a note that are given as its proof."""

    text: str
    verdict: str
    note: int | None = None
    quote: str | None = None
    doubt: str | None = None
    new_numbers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scene:
    """What is streamed for one question.

    Attributes:
        notes: the ids of the notes that are found, best first.
        quality, evaluation: None where there is none, for which `why` has the codes.
        error: code and message where the model fails behind the chunks.
        waits: "answer" or "evaluation", before which the stream stands still until `StandIn.go_on` is set.
        breaks: the connection ends behind the chunks.
        pause_s: between two chunks.
    """

    chunks: Sequence[str]
    notes: Sequence[str] = ()
    quality: Mapping[str, Any] | None = None
    evaluation: Mapping[str, Any] | None = None
    why: Mapping[str, str] | None = None
    error: tuple[str, str] | None = None
    waits: str | None = None
    breaks: bool = False
    pause_s: float = 0.0


def checklist(*yes: bool) -> dict[str, Any]:
    """The checklist with these items fulfilled; three of four pass it."""
    names = {
        "direct": "질문에 직접적으로 답변했는가?",
        "grounded": "검색 결과를 근거로 활용했는가?",
        "sources": "출처(노트 제목 등)를 명시했는가?",
        "uncertainty": "불확실한 부분을 솔직히 표시했는가?",
    }
    items = [
        {"id": name, "text": question, "yes": told, "told": told, "trusted": told, "source": None}
        | {"quote": "[노트 1]" if told else ""}
        for (name, question), told in zip(names.items(), yes, strict=True)
    ]
    checked = {"passed": sum(yes) >= 3, "ratio": sum(yes) / 4, "items": items}
    return QualityReport.model_validate(checked).model_dump(mode="json")


def evaluated(
    answer: str,
    notes: Sequence[Note],
    claims: Sequence[Said],
    *,
    left_out: Sequence[tuple[str, int, str]] = (),
    **told: Any,
) -> dict[str, Any]:
    """An evaluation as the service sends it, its quotes aligned as the judge does; `told` are other fields."""

    shown = [note.text[note.shown_from :] for note in notes]

    def evidence(note: int, quote: str) -> dict[str, Any]:
        return dict(*align_all([Quote(quote, source_index=note - 1)], shown).records(shown))

    units = Utf16(answer)
    judged: list[dict[str, Any]] = []
    for number, said in enumerate(claims, start=1):
        start = answer.index(said.text)
        place = {"start": start, "end": start + len(said.text)}
        judged.append(
            {
                "id": number, "text": _without_citations(said.text), **place,
                **{f"utf16_{name}": units.from_code_points(at) for name, at in place.items()},
                "cited": citations(said.text), "verdict": said.verdict, "note": said.note,
                "doubt": said.doubt, "told": "supported" if said.doubt else said.verdict,
                "new_numbers": said.new_numbers,
                "contradictions": ("number",) if said.new_numbers else (),
                "source": {"heading": "", "text": said.quote} if said.quote else None,
                "evidence": evidence(said.note or 1, said.quote) if said.quote else None,
            }
        )  # fmt: skip
    proven = {
        said.note: _without_citations(said.text) for said in claims if said.verdict == "supported"
    }
    coverage = [
        {
            "note_index": number, "note_title": note.title, "cited": number in proven,
            "relevant_claim": proven.get(number, ""), "relevant": None, "marked": False,
        }
        for number, note in enumerate(notes, start=1)
    ]  # fmt: skip
    sentences = {
        "contradicted": "‘{}’ — 노트의 내용과 다릅니다.",
        "not_found": "‘{}’ — 노트에 없는 내용입니다.",
        "unverified": "‘{}’ — 근거로 든 인용이 뒷받침하지 못합니다.",
    }
    issues = [
        sentences[said.verdict].format(_without_citations(said.text))
        for said in claims
        if said.verdict in sentences
    ]
    omissions = [
        {"what": what, "note": note, "doubt": None, "evidence": evidence(note, quote)}
        for what, note, quote in left_out
    ]
    fields = {
        "utility": 1.0, "source_coverage": coverage, "grounding_issues": issues, "claims": judged,
        "omissions": omissions,
    }  # fmt: skip
    evaluation = SearchQAEvaluation.model_validate(EVALUATION | fields | told).model_dump(
        mode="json"
    )
    for use, note in zip(evaluation["source_coverage"], notes, strict=True):
        shift = Utf16(note.text).from_code_points(note.shown_from)
        use |= {"note_id": note.note_id, "utf16_shift": shift}
    return evaluation


@dataclass
class StandIn:
    """The service; start it with `faulty_model.run`.

    Attributes:
        scenes: by question; a question that is none of them is refused.
        token: what requests must carry; None for none.
        asked: the bodies of questions; `recorded` are those of feedback and saved questions, with their path.
        left: set when a reader went away before the end of the stream.
    """

    notes: Sequence[Note]
    scenes: Mapping[str, Scene]
    feedback: bool = False
    token: str | None = None
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    recorded: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    go_on: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)

    @property
    def address(self) -> str:
        """Of the page, without a slash at its end."""
        return self.url.removesuffix("/v1")  # `run` is made for servers of models

    def application(self) -> web.Application:
        """All routes of the service that the page uses."""
        app = web.Application(middlewares=[self._guard])
        app.add_routes([
            web.get("/api/config", self._config),
            web.get("/api/notes", self._list),
            web.get("/api/notes/{path:.+}", self._note),
            web.post("/api/ai/stream", self._stream),
            web.get("/api/ai/answers/{id}", self._why),
            web.post("/api/feedback", self._record),
            web.post("/api/questions", self._record),
            web.get("/", self._page),
            web.get("/locales", self._languages),
            web.get("/locales/{name}.json", self._messages),
            web.static("/", PACKAGE / "service/static"),
        ])  # fmt: skip
        return app

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        known = request.headers.get("Authorization") == f"Bearer {self.token}"
        if self.token and request.path.startswith("/api/") and not known:
            return web.json_response({"detail": "토큰이 필요합니다."}, status=401)
        answer = await handler(request)
        if not answer.prepared:
            answer.headers["Content-Security-Policy"] = POLICY
        return answer

    async def _page(self, _request: web.Request) -> web.FileResponse:
        return web.FileResponse(PACKAGE / "service/static/index.html")

    async def _languages(self, _request: web.Request) -> web.Response:
        return web.json_response(list(PAGE_LANGUAGES))

    async def _messages(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        say = translator(name)
        labels = {f"label {key}": say(label) for key, label in LABELS.items()}
        return web.json_response(script_messages(name) | labels)

    async def _config(self, _request: web.Request) -> web.Response:
        models = {"model": "openai/gpt-4o-mini", "judge_model": "openai/gpt-4o"}
        told = {"languages": list(PAGE_LANGUAGES), "feedback": self.feedback, "vault": "handbook"}
        return web.json_response(told | models | {"quality_gate": True})

    async def _list(self, _request: web.Request) -> web.Response:
        return web.json_response(
            [{"note_id": one.note_id, "title": one.title} for one in self.notes]
        )

    async def _note(self, request: web.Request) -> web.Response:
        for note in self.notes:
            if note.note_id == request.match_info["path"]:
                return web.json_response(
                    {"note_id": note.note_id, "title": note.title, "text": note.text}
                )
        return web.json_response({"detail": "그런 노트가 없습니다."}, status=404)

    async def _why(self, request: web.Request) -> web.Response:
        answer_id = request.match_info["id"]
        scene = self.scenes[self.asked[int(answer_id)]["content"]]
        told = {"state": "done", "why": scene.why, "evaluation": scene.evaluation}
        return web.json_response({"answer_id": answer_id, **told})

    async def _record(self, request: web.Request) -> web.Response:
        if not self.feedback:
            return web.json_response({"detail": "의견을 받지 않습니다."}, status=404)
        self.recorded.append((request.path, await request.json()))
        return web.Response(status=204)

    async def _stream(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        scene = self.scenes.get(body["content"])
        if scene is None:
            return web.json_response({"detail": "unknown question"}, status=400)
        self.asked.append(body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            await self._play(scene, body, response)
            if scene.breaks and request.transport:
                request.transport.abort()
        except (ConnectionError, asyncio.CancelledError):
            self.left.set()
            raise
        return response

    async def _play(
        self, scene: Scene, body: Mapping[str, Any], response: web.StreamResponse
    ) -> None:
        async def send(event: str | None, data: Any) -> None:
            told = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
            name = f"event: {event}\n" if event else ""
            await response.write(f"{name}data: {told}\n\n".encode())

        found = [note for path in scene.notes for note in self.notes if note.note_id == path]
        matched = [
            {"note_id": note.note_id, "title": note.title, "score": 0.83 - 0.17 * at}
            for at, note in enumerate(found)
        ]
        about = {"answer_id": str(len(self.asked) - 1), "feature": body["feature"]}
        await send("metadata", about | {"lang": "ko", "matched_notes": matched})
        for chunk in scene.chunks:
            await send(None, {"chunk": chunk})
            await asyncio.sleep(scene.pause_s)
        await self._wait(response, "answer", scene)
        if scene.breaks:
            return
        if scene.error:
            await send("error", dict(zip(("code", "message"), scene.error, strict=True)))
        await send(None, "[DONE]")
        await self._wait(response, "evaluation", scene)
        await send("quality", scene.quality)
        details = {"details": f"api/ai/answers/{about['answer_id']}"}
        await send("qa_evaluation", scene.evaluation and details)

    async def _wait(self, response: web.StreamResponse, place: str, scene: Scene) -> None:
        """Heartbeats until the test goes on; who has left is noticed by them."""
        while scene.waits == place and not self.go_on.is_set():
            await response.write(b": heartbeat\n\n")
            await asyncio.sleep(0.02)
