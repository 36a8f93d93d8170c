"""The routes of the service."""

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from gigamind.errors import (
    GigamindError,
    InputError,
    LlmError,
    reason_of,
)
from gigamind.i18n import _
from gigamind.runs.folders import private_folder
from gigamind.service.answering import Answered, Answering, Ask, Figures
from gigamind.service.guard import guard
from gigamind.service.options import PAGE_LANGUAGES, ServiceOptions
from gigamind.version import __version__

ANSWERS, QUERIES = "answers.jsonl", "queries.jsonl"


class Feedback:
    """A folder with answers.jsonl and queries.jsonl, to which rows are appended; InputError if it cannot be written.

    Ratings are candidates for people who label, never labels: each row is an answer with a tag.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        try:
            private_folder(folder)
            (folder / ANSWERS).open("ab").close()
        except OSError as error:
            raise InputError(
                "--feedback {folder}: this folder cannot be written: {reason}",
                folder=folder,
                reason=reason_of(error),
            ) from error

    def rate(self, answer_id: str, answered: Answered, *, good: bool, claim: int | None) -> None:
        """Store the answer as good or bad, or one of its claims by number; InputError if there is no such claim."""
        evaluation = answered.judged.evaluation if answered.judged else None
        known = {one["id"] for one in (evaluation or {}).get("claims", ())}
        if claim is not None and claim not in known:
            raise InputError("claim_id {claim}: the answer has no such claim", claim=claim)
        tag = "good" if good else "bad"
        row = {
            "id": answer_id if claim is None else f"{answer_id}-{claim}",
            "question": answered.ask.content,
            "answer": answered.text,
            "context_notes": [
                {"title": source.title or "-", "text": source.text}
                for source in answered.context.sources
            ],
            "language": answered.ask.language,
            "tags": [tag if claim is None else f"{tag}-claim"],
            "source": "service",
        }
        self._append(ANSWERS, row)

    def keep_question(self, answer_id: str, answered: Answered) -> None:
        """Store the question with its cited notes as a row of a search dataset, for review."""
        evaluation = (answered.judged.evaluation if answered.judged else None) or {}
        cited = [
            use["note_id"]
            for use in evaluation.get("source_coverage", ())
            if use["cited"] and use["note_id"]
        ]
        row = {
            "id": answer_id,
            "query": answered.ask.content,
            "answerable": bool(cited),
            "expected_notes": cited,
            "language": answered.ask.language,
            "source": "service",
        }
        self._append(QUERIES, row)

    def _append(self, name: str, row: dict[str, Any]) -> None:
        stamped = {**row, "created_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
        line = json.dumps(stamped, ensure_ascii=False) + "\n"
        with self._lock, (self._folder / name).open("ab") as file:
            file.write(line.encode("utf-8", "replace"))


_HEARTBEAT_S = 15.0
_PASSAGE_CHARS = 300


class Rating(BaseModel, extra="forbid", frozen=True):
    """A rating of an answer or of one of its claims."""

    answer_id: str
    kind: Literal["answer", "claim"] = "answer"
    claim_id: int | None = None
    good: bool


class SavedQuestion(BaseModel, extra="forbid", frozen=True):
    """A question to store as a dataset row."""

    answer_id: str


def create_app(
    options: ServiceOptions,
    *,
    heartbeat_s: float = _HEARTBEAT_S,
    ready: Callable[[], None] = lambda: None,
) -> FastAPI:
    """Return the service.  If it cannot start, `state.refused` is the error.

    Args:
        heartbeat_s: seconds of silence in a stream until a comment is sent.
        ready: called after the vault is read.

    Raises:
        InputError: the folder of feedback cannot be written.
    """
    feedback = Feedback(options.feedback) if options.feedback else None
    figures = Figures()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        try:
            answering = await Answering.open(options, figures)
        except GigamindError as error:
            app.state.refused = error
            raise
        app.state.answering = answering
        ready()
        try:
            yield
        finally:
            app.state.answering = None
            await answering.close()

    app = FastAPI(
        title="gigamind", version=__version__, lifespan=lifespan, redoc_url=None, docs_url=None
    )
    guard(app, options.host, token=options.token, asks_per_minute=options.asks_per_minute)
    _add_health(app, figures)
    _add_asking(app, options, figures, heartbeat_s)
    _add_notes(app, options, figures)
    if feedback:
        _add_feedback(app, feedback)
    static = resources.files("gigamind") / "service" / "static"
    app.mount("/", StaticFiles(directory=str(static), html=True, check_dir=False))
    return app


def _answering(request: Request) -> Answering:
    return request.app.state.answering


def _add_health(app: FastAPI, figures: Figures) -> None:
    @app.get("/healthz", tags=["operations"])
    async def health() -> dict[str, str]:  # pyright: ignore[reportUnusedFunction]  a route
        """Report that the process answers."""
        return {"status": "ok", "version": __version__}

    @app.get("/readyz", tags=["operations"], responses={503: {"description": "not ready"}})
    async def ready(request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        """Report whether the vault is indexed and questions are accepted."""
        is_ready = getattr(request.app.state, "answering", None) is not None
        return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)

    @app.get("/metrics", tags=["operations"])
    async def metrics() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Return the metrics for Prometheus."""
        return Response(figures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_asking(
    app: FastAPI, options: ServiceOptions, figures: Figures, heartbeat_s: float
) -> None:
    running = asyncio.Semaphore(options.max_streams)

    def refuse_if_full() -> None:
        if running.locked():
            raise HTTPException(
                503, _("The service is busy. Try again in a moment."), {"Retry-After": "1"}
            )

    @app.post("/api/ai/stream", tags=["asking"], response_class=StreamingResponse)
    async def stream(ask: Ask, request: Request) -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]
        """Stream an answer as server-sent events: metadata, chunks, [DONE], quality, qa_evaluation."""
        refuse_if_full()
        answering = _answering(request)
        answer_id, answered = await answering.begin(ask)

        async def sent() -> AsyncIterator[bytes]:
            status = "left"
            figures.streams.inc()
            try:
                async with running:
                    async for part in _with_heartbeats(
                        answering.events(answer_id, answered), heartbeat_s
                    ):
                        yield part
                status = "failed" if answered.error else "answered"
            finally:
                figures.streams.dec()
                figures.asks.labels(ask.feature, status).inc()

        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        return StreamingResponse(sent(), media_type="text/event-stream", headers=headers)

    @app.post("/api/ai/chat", tags=["asking"], responses={502: {"description": "no answer"}})
    async def chat(ask: Ask, request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        """Return a complete answer with its evaluation."""
        refuse_if_full()
        answering = _answering(request)
        answer_id, answered = await answering.begin(ask)
        try:
            async with running:
                await answering.whole(answered)
        except LlmError:
            figures.asks.labels(ask.feature, "failed").inc()
            raise
        figures.asks.labels(ask.feature, "answered").inc()
        judged = answered.judged
        quality = judged.quality if judged else None
        if judged and (quality is not None or judged.evaluation is not None):
            quality = {**(quality or {}), "qa_evaluation": judged.evaluation}
        content = {
            "answer_id": answer_id,
            "content": answered.text,
            "matched_notes": answered.context.matched(),
            "quality": quality,
        }
        return JSONResponse(content | ({"scripted": True} if figures.scripted else {}))

    @app.get(
        "/api/ai/answers/{answer_id}", tags=["asking"], responses={404: {"description": "unknown"}}
    )
    async def state(answer_id: str, request: Request) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Return whether an answer is judged, its whole evaluation, and why it has none."""
        judged = _known(_answering(request), answer_id).judged
        state, why = ("done", judged.why or None) if judged else ("running", None)
        evaluation = judged.evaluation if judged else None
        return {"answer_id": answer_id, "state": state, "why": why, "evaluation": evaluation}


def _known(answering: Answering, answer_id: str) -> Answered:
    answered = answering.answered(answer_id)
    if answered is None:
        raise HTTPException(
            404, _("The service no longer has this answer, or the answer's id is wrong.")
        )
    return answered


async def _with_heartbeats(events: AsyncIterator[bytes], every_s: float) -> AsyncGenerator[bytes]:
    waiting: asyncio.Task[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _pending = await asyncio.wait({waiting}, timeout=every_s)
            if not done:
                yield b": heartbeat\n\n"
                continue
            try:
                event = waiting.result()
            except StopAsyncIteration:
                return
            finally:
                waiting = None
            yield event
    finally:
        if waiting:
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await waiting
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _add_notes(app: FastAPI, options: ServiceOptions, figures: Figures) -> None:
    @app.get("/api/config", tags=["notes"])
    async def config(request: Request) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Return what the page needs to know."""
        return {
            "languages": list(PAGE_LANGUAGES),
            "feedback": options.feedback is not None,
            "vault": options.notes.resolve().name,
            "model": options.model,
            "judge_model": _answering(request).models.judge_name,
            "quality_gate": options.evaluate_share > 0,
            "scripted": figures.scripted,
        }

    @app.get("/api/notes", tags=["notes"])
    async def notes(request: Request) -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]
        """List all notes."""
        vault = _answering(request).desk.vault
        return [{"note_id": note.path, "title": note.title} for note in vault.notes]

    @app.get(
        "/api/notes/{path:path}", tags=["notes"], responses={404: {"description": "no such note"}}
    )
    async def note(path: str, request: Request) -> dict[str, str]:  # pyright: ignore[reportUnusedFunction]
        """Return a note as it was when the service started."""
        vault_note = _answering(request).desk.vault.note(path)
        if vault_note is None:
            raise HTTPException(404, _("The vault has no such note."))
        return {"note_id": vault_note.path, "title": vault_note.title, "text": vault_note.text}

    @app.get("/api/search", tags=["notes"])
    async def search(  # pyright: ignore[reportUnusedFunction]
        request: Request,
        q: Annotated[str, Query(min_length=1, max_length=4_000, pattern=r"\S")],
        limit: Annotated[int, Query(ge=1, le=50)] = 5,
    ) -> list[dict[str, Any]]:
        """Search the notes, best first."""
        hits = await _answering(request).desk.search(q)
        return [
            {
                "note_id": hit.note,
                "title": hit.title,
                "score": round(hit.base_score, 4),
                "passage": hit.passage.text[:_PASSAGE_CHARS],
            }
            for hit in hits[:limit]
        ]


def _add_feedback(app: FastAPI, feedback: Feedback) -> None:
    unknown: dict[int | str, dict[str, Any]] = {404: {"description": "the answer is unknown"}}

    @app.post("/api/feedback", tags=["feedback"], status_code=204, responses=unknown)
    async def rate(rating: Rating, request: Request) -> None:  # pyright: ignore[reportUnusedFunction]
        """Store a rating of an answer."""
        answered = _known(_answering(request), rating.answer_id)
        if rating.kind == "claim" and rating.claim_id is None:
            raise InputError(_("claim_id is required for feedback on a claim"))
        claim = rating.claim_id if rating.kind == "claim" else None
        await asyncio.to_thread(
            feedback.rate, rating.answer_id, answered, good=rating.good, claim=claim
        )

    @app.post("/api/questions", tags=["feedback"], status_code=204, responses=unknown)
    async def save(question: SavedQuestion, request: Request) -> None:  # pyright: ignore[reportUnusedFunction]
        """Store a question as a row of a dataset."""
        answered = _known(_answering(request), question.answer_id)
        await asyncio.to_thread(feedback.keep_question, question.answer_id, answered)
