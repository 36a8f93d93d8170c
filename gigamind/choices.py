"""Allowed values and defaults of options whose own modules import too slowly for a page of help."""

from pathlib import Path
from typing import Final, Literal, get_args

from gigamind.i18n import LanguageChoice

TaskName = Literal["search", "links", "answers"]
Phase = Literal["mvp", "beta", "ga"]  # which thresholds of gates.toml apply
Relaxable = Literal["notes", "hardware", "settings", "sample", "models"]
"""Differences between two runs that `--changed` or gates.toml can allow in a comparison."""
PromptLanguage = LanguageChoice  # auto: the item's language
FreeJudge = Literal["threshold", "answer_score", "calibrated"]
UnanswerableMode = Literal[FreeJudge, "llm"]  # the judge of unanswerable queries
StoreMode = Literal["off", "readwrite", "refresh", "replay"]  # see `llm.store.Store`
_NamedForm = Literal["title", "heading", "near-miss"]
Form = Literal[_NamedForm, "left-out"]  # the source of a question; --leave-out gives the last
FORMS: Final[tuple[Form, ...]] = get_args(_NamedForm)
SHOWN_CONFIDENCE = 0.3  # lowest confidence of a link that suggest-links shows
BASELINES = Path("eval") / "baselines"
