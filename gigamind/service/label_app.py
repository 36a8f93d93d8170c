"""The page of `gigamind label`: one item at a time, saved at each key press."""

import json
import re
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, Field

from gigamind.assurance.labelling import Labelling
from gigamind.datasets.write import write_text
from gigamind.i18n import Language, script_messages
from gigamind.service.guard import guard
from gigamind.service.options import PAGE_LANGUAGES
from gigamind.version import __version__

_STATIC = resources.files("gigamind") / "service" / "static"
_SCRIPTS = ("messages.js", "words.js", "dom.js", "label.js")  # each after those that it imports
_Name = Annotated[str, Field(min_length=1, max_length=100)]


class Decision(BaseModel, extra="forbid", frozen=True):
    """One key press."""

    annotator: _Name
    key: str
    content: str
    choice: str = ""
    reason: Annotated[str, Field(max_length=2_000)] = ""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    again: bool = False
    settled: bool = False


def create_label_app(session: Labelling, annotator: str, language: Language) -> FastAPI:
    """Return the app of a session.  Requests are handled one after another, in the event loop."""
    app = FastAPI(title="gigamind label", version=__version__, docs_url=None, redoc_url=None)
    guard(app, "127.0.0.1")

    def next_unit(name: str) -> dict[str, Any]:
        found = session.next(name)
        unit = found and session.unit(found[0], name, again=found[1])
        return {"unit": unit, "progress": session.progress(name)}

    @app.get("/api/label")
    async def state(
        annotator: Annotated[str, Query(min_length=1, max_length=100)],
    ) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]  a route
        """Return the next unit of an annotator (null at the end) and the progress."""
        return next_unit(annotator)

    @app.post("/api/label")
    async def decide(decision: Decision) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Save a label; return the judge's verdict, the figure before and after, and the progress."""
        more = decision.model_dump(include={"reason", "seconds", "again", "settled"})
        decided = decision.key, decision.content
        return session.label(decision.annotator, decided, decision.choice, **more)

    @app.post("/api/label/skip")
    async def skip(decision: Decision) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Leave the task's unit out for this annotator, and return the next."""
        session.skip(decision.annotator, (decision.key, decision.content))
        return next_unit(decision.annotator)

    @app.post("/api/label/undo")
    async def undo(decision: Decision) -> dict[str, Any]:  # pyright: ignore[reportUnusedFunction]
        """Take back the annotator's last label, and return its unit."""
        undone = session.undo(decision.annotator)
        if undone is None:
            return next_unit(decision.annotator)
        unit = session.unit(session.drawable_of(undone), decision.annotator)
        progress = session.progress(decision.annotator)
        return {"unit": unit, "undone": undone[0], "progress": progress}

    @app.get("/api/label/disputed")
    async def disputed() -> list[dict[str, Any]]:  # pyright: ignore[reportUnusedFunction]
        """Return the tasks on which annotators disagree."""
        return session.disputed()

    @app.get("/", response_class=HTMLResponse)
    def page() -> str:  # pyright: ignore[reportUnusedFunction]
        """Return the page."""
        return _page(session, annotator, language)

    app.mount("/", StaticFiles(directory=str(_STATIC), check_dir=False))
    return app


def _page(
    session: Labelling, annotator: str, language: Language, offline: dict[str, Any] | None = None
) -> str:
    boot = {
        "annotator": annotator,
        "language": language,
        "languages": PAGE_LANGUAGES,
        "task": session.task,
        "key": " ".join(session.plan.runs),
        "command": session.command(adds=bool(offline)),
        "offline": offline,
    }
    written = json.dumps(boot).replace("<", "\\u003c")
    return (_STATIC / "label.html").read_text("utf-8").replace("{{ boot }}", written)


def write_offline_page(path: Path, session: Labelling, annotator: str, language: Language) -> None:
    """Write the page with its items and messages as one HTML file; EvaluationError if it cannot be written."""

    def text(name: str) -> str:
        return (_STATIC / name).read_text("utf-8")

    offline = {
        "units": session.all_units(annotator),
        "progress": session.progress(annotator),
        "messages": {name: script_messages(name) for name in PAGE_LANGUAGES},
    }
    script = "\n".join(re.sub(r"(?m)^import .*\n|^export ", "", text(name)) for name in _SCRIPTS)
    page = _page(session, annotator, language, offline)
    page = re.sub(
        r'<link rel="stylesheet" href="(.*)">', lambda link: f"<style>{text(link[1])}</style>", page
    )
    page = page.replace(' src="label.js">', f">{script}")
    write_text(path, page)
