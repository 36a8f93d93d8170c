"""The routes of the service; `create_app` takes what stands behind them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from importlib import resources
from typing import Annotated, Any, Literal, cast

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from gigamind.errors import EmbeddingError, GigamindError, IndexingError, InputError, LlmError
from gigamind.messages import message_in
from gigamind.service.account import Figures
from gigamind.service.answering import HEARTBEAT, Answered, Answering, Event
from gigamind.service.asking import Ask, Desk, open_desk
from gigamind.service.feedback import Feedback
from gigamind.service.guard import Guard, language_asked, refused
from gigamind.service.models import Models
from gigamind.service.options import ServiceOptions
from gigamind.version import __version__

HEARTBEAT_S = 15.0
_PASSAGE_CHARS = 300


class Said(BaseModel):
    """What an asker says of an answer, or of one of its claims."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer_id: str
    kind: Literal["answer", "claim"] = "answer"
    claim_id: int | None = None
    good: bool


class Kept(BaseModel):
    """A question to be kept as a dataset row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    answer_id: str


def create_app(
    options: ServiceOptions,
    *,
    desk: Callable[[ServiceOptions], Desk] = open_desk,
    models: Callable[[ServiceOptions, Figures], Models] = Models,
    heartbeat_s: float = HEARTBEAT_S,
    ready: Callable[[], None] = lambda: None,
) -> FastAPI:
    """The service.

    Args:
        desk: opens the vault; it is called when the service starts.
        models: opens the models, in the event loop that serves.
        heartbeat_s: seconds of silence of a stream until a comment is sent.
        ready: called once the vault is read.

    Where it cannot start, `state.refused` is why.

    Raises:
        InputError: the folder of feedback cannot be written.
    """
    feedback = Feedback(options.feedback) if options.feedback else None
    figures = Figures()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
        try:
            opened = await asyncio.to_thread(desk, options)
            asked = models(options, figures)
        except GigamindError as error:
            app.state.refused = error
            raise
        app.state.answering = Answering(options, opened, asked, figures)
        ready()
        try:
            yield
        finally:
            app.state.answering = None
            await asked.close()
            opened.close()

    app = FastAPI(
        title="gigamind", version=__version__, lifespan=lifespan, redoc_url=None, docs_url=None
    )
    app.add_middleware(Guard, options=options)  # pyright: ignore[reportArgumentType]  starlette's protocol has no keywords
    app.add_exception_handler(GigamindError, _told)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    _add_health(app, figures)
    _add_asking(app, options, figures, heartbeat_s)
    _add_notes(app, options)
    if feedback:
        _add_feedback(app, feedback)
    here = resources.files("gigamind")
    app.mount("/locales", StaticFiles(directory=str(here / "locales"), check_dir=False))
    app.mount(
        "/", StaticFiles(directory=str(here / "service" / "static"), html=True, check_dir=False)
    )
    return app


def _answering(request: Request) -> Answering:
    return request.app.state.answering


async def _told(request: Request, error: Exception) -> Response:
    """Our errors as HTTP has them; a failure of the search or a model is not the asker's."""
    failed = isinstance(error, EmbeddingError | IndexingError | LlmError)
    return refused(request.headers, 502 if failed else 400, str(error))


async def _refused(request: Request, error: Exception) -> Response:
    """What a route refuses, and a path that is none."""
    if not isinstance(error, HTTPException):
        raise error
    return refused(request.headers, error.status_code, error.detail, error.headers)


async def _invalid(request: Request, error: Exception) -> Response:
    """What is wrong with a request, in ASCII and without the values: some, as half a character, cannot be sent back."""
    errors = cast("RequestValidationError", error).errors()
    language = language_asked(request.headers)
    detail = [
        {
            "type": problem["type"],
            "loc": problem["loc"],
            "msg": message_in(language, problem["msg"]),
        }
        for problem in errors
    ]
    return Response(json.dumps({"detail": detail}), 422, media_type="application/json")


def _add_health(app: FastAPI, figures: Figures) -> None:
    @app.get("/healthz", tags=["operations"])
    async def health() -> dict[str, str]:  # pyright: ignore[reportUnusedFunction]  a route
        """The process answers."""
        return {"status": "ok", "version": __version__}

    @app.get(
        "/readyz", tags=["operations"], responses={503: {"description": "not yet, or no more"}}
    )
    async def ready(request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        """The vault is indexed, and questions can be asked."""
        is_ready = getattr(request.app.state, "answering", None) is not None
        return JSONResponse({"ready": is_ready}, 200 if is_ready else 503)

    @app.get("/metrics", tags=["operations"])
    async def metrics() -> Response:  # pyright: ignore[reportUnusedFunction]
        """Figures for Prometheus."""
        return Response(figures.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _add_asking(
    app: FastAPI, options: ServiceOptions, figures: Figures, heartbeat_s: float
) -> None:
    running = asyncio.Semaphore(options.max_streams)

    def refuse_if_full() -> None:
        if running.locked():
            raise HTTPException(
                503, "too many answers are being given; try again", {"Retry-After": "1"}
            )

    @app.post("/api/ai/stream", tags=["asking"], response_class=StreamingResponse)
    async def stream(ask: Ask, request: Request) -> StreamingResponse:  # pyright: ignore[reportUnusedFunction]
        """The answer as server-sent events: metadata, chunks, [DONE], quality, qa_evaluation."""
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

    @app.post("/api/ai/chat", tags=["asking"], responses={502: {"description": "no answer came"}})
    async def chat(ask: Ask, request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction]
        """The whole answer, with its quality."""
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
        return JSONResponse(_chat(answer_id, answered))

    @app.get(
        "/api/ai/answers/{answer_id}", tags=["asking"], responses={404: {"description": "unknown"}}
    )
    async def state(answer_id: str, request: Request) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Whether an answer is judged, and why it has no evaluation where it has none."""
        answered = _known(_answering(request), answer_id)
        judged = answered.judged
        why = judged.why if judged else {}
        return {
            "answer_id": answer_id,
            "state": "done" if judged else "running",
            "why": why or None,
        }


def _chat(answer_id: str, answered: Answered) -> dict[str, Any]:
    """The seed's body: the evaluation stands within the quality."""
    judged = answered.judged
    quality = judged.quality if judged else None
    if judged and (quality is not None or judged.evaluation is not None):
        quality = {**(quality or {}), "qa_evaluation": judged.evaluation}
    return {
        "answer_id": answer_id,
        "content": answered.text,
        "matched_notes": answered.context.matched(),
        "quality": quality,
    }


def _known(answering: Answering, answer_id: str) -> Answered:
    answered = answering.answered(answer_id)
    if answered is None:
        raise HTTPException(404, "there is no such answer, or it is too long ago")
    return answered


async def _with_heartbeats(events: AsyncIterator[Event], every_s: float) -> AsyncGenerator[bytes]:
    """The events as they are sent, with a comment in each long silence."""
    waiting: asyncio.Task[Event] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(events))
            done, _ = await asyncio.wait({waiting}, timeout=every_s)
            if not done:
                yield HEARTBEAT
                continue
            try:
                event = waiting.result()
            except StopAsyncIteration:
                return
            finally:
                waiting = None
            yield event.encode()
    finally:
        if waiting:
            waiting.cancel()
            with contextlib.suppress(asyncio.CancelledError, StopAsyncIteration):
                await waiting
        if isinstance(events, AsyncGenerator):
            await events.aclose()


def _add_notes(app: FastAPI, options: ServiceOptions) -> None:
    @app.get("/api/config", tags=["notes"])
    async def config(request: Request) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """What the page must know."""
        return {
            "languages": ["ko", "en"],
            "feedback": options.feedback is not None,
            "vault": options.notes.resolve().name,
            "model": options.model,
            "judge_model": _answering(request).models.judge_name,
            "quality_gate": options.evaluate_share > 0,
        }

    @app.get("/api/notes", tags=["notes"])
    async def notes(request: Request) -> list[dict[str, str]]:  # pyright: ignore[reportUnusedFunction]
        """All notes."""
        vault = _answering(request).desk.vault
        return [{"note_id": note.path, "title": note.title} for note in vault.notes]

    @app.get(
        "/api/notes/{path:path}", tags=["notes"], responses={404: {"description": "no such note"}}
    )
    async def note(path: str, request: Request) -> dict[str, str]:  # pyright: ignore[reportUnusedFunction]
        """One note, as it was when the service started."""
        vault_note = _answering(request).desk.vault.note(path)
        if vault_note is None:
            raise HTTPException(404, "there is no such note")
        return {"note_id": vault_note.path, "title": vault_note.title, "text": vault_note.text}

    @app.get("/api/search", tags=["notes"])
    async def search(  # pyright: ignore[reportUnusedFunction]
        request: Request,
        q: Annotated[str, Query(min_length=1, max_length=4_000, pattern=r"\S")],
        limit: Annotated[int, Query(ge=1, le=50)] = 5,
    ) -> list[dict[str, Any]]:
        """The notes that search finds, best first."""
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
    async def say(said: Said, request: Request) -> None:  # pyright: ignore[reportUnusedFunction]
        """Keep what an asker says of an answer."""
        answered = _known(_answering(request), said.answer_id)
        if said.kind == "claim" and said.claim_id is None:
            raise InputError("claim_id: must be given")
        claim = said.claim_id if said.kind == "claim" else None
        await asyncio.to_thread(feedback.say, said.answer_id, answered, good=said.good, claim=claim)

    @app.post("/api/questions", tags=["feedback"], status_code=204, responses=unknown)
    async def keep(kept: Kept, request: Request) -> None:  # pyright: ignore[reportUnusedFunction]
        """Keep a question as a row of a dataset."""
        answered = _known(_answering(request), kept.answer_id)
        await asyncio.to_thread(feedback.keep_question, kept.answer_id, answered)
