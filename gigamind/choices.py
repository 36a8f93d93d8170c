"""Words that an option may be, and its default, where the room that acts on them is too heavy for a page of help."""

from pathlib import Path
from typing import Final, Literal, get_args

TaskName = Literal["search", "links", "answers"]
Phase = Literal["mvp", "beta", "ga"]  # which thresholds of gates.toml apply
Relaxable = Literal["notes", "hardware", "settings", "sample", "models"]
"""In what two runs may differ and be compared all the same, where `--changed` or gates.toml says so."""
PromptLanguage = Literal["auto", "ko", "en"]  # auto: that of the item
LeaveOut = Literal["auto", "always", "never"]  # auto: where few unanswerable queries are known
FreeJudge = Literal["threshold", "answer_score", "calibrated"]
UnanswerableMode = Literal[FreeJudge, "llm"]  # the judge of unanswerable queries
NamedForm = Literal["title", "heading", "list", "table", "sentence", "near-miss"]
Form = Literal[NamedForm, "left-out"]  # what a question is made of; --leave-out gives the last
FORMS: Final[tuple[Form, ...]] = get_args(NamedForm)
SHOWN_CONFIDENCE = 0.3  # of a suggested link, from which on suggest-links shows it
BASELINES = Path("eval") / "baselines"
