"""Evaluate retrieval, answers, evidence and links over a local Markdown vault.

The names in `__all__` are the library; each is loaded when it is first used.  All other names and modules are private
and may change without notice.  Errors are `GigamindError`s, whose message says what to fix.
"""

import importlib
from typing import TYPE_CHECKING

from gigamind.version import __version__ as __version__

if TYPE_CHECKING:
    from gigamind.errors import EvaluationError, GigamindError, InputError, LlmError, NotesError
    from gigamind.evaluation.progress import Progress
    from gigamind.evidence.align import align, align_all
    from gigamind.evidence.result import Aligned, AlignResult, Failed, Quote
    from gigamind.interop.ranking import RankedNote, Ranking, Reply
    from gigamind.judges.own import OwnJudge
    from gigamind.judges.protocol import AnswerCase, Asking, Judge, PlannedCall, Proof, Verdict
    from gigamind.library import (
        EvaluationResult,
        aevaluate_answers,
        aevaluate_links,
        aevaluate_search,
        assert_no_regression,
        atune_search,
        compare,
        evaluate_answers,
        evaluate_links,
        evaluate_search,
        gate,
        load_judge,
        suggest_links,
        tune_search,
    )
    from gigamind.linking.suggest import LinkSuggestion
    from gigamind.metrics.spec import Metric, Text, Use
    from gigamind.prompting.replies import Auxiliary, ModelReply, Most
    from gigamind.release.comparison import Comparison, Experiment
    from gigamind.release.model import EvalSnapshot
    from gigamind.release.policy import GateResult
    from gigamind.reports.tune import Tuning
    from gigamind.spans import Span
    from gigamind.systems.protocol import Answerer, Query, Retriever
    from gigamind.tasks.answers.schema import AnswerItemReport, AnswerSummaryReport
    from gigamind.tasks.links.schema import LinkItemReport, LinkSummaryReport
    from gigamind.tasks.search.schema import ItemReport, SummaryReport

__all__ = [
    "AlignResult",
    "Aligned",
    "AnswerCase",
    "AnswerItemReport",
    "AnswerSummaryReport",
    "Answerer",
    "Asking",
    "Auxiliary",
    "Comparison",
    "EvalSnapshot",
    "EvaluationError",
    "EvaluationResult",
    "Experiment",
    "Failed",
    "GateResult",
    "GigamindError",
    "InputError",
    "ItemReport",
    "Judge",
    "LinkItemReport",
    "LinkSuggestion",
    "LinkSummaryReport",
    "LlmError",
    "Metric",
    "ModelReply",
    "Most",
    "NotesError",
    "OwnJudge",
    "PlannedCall",
    "Progress",
    "Proof",
    "Query",
    "Quote",
    "RankedNote",
    "Ranking",
    "Reply",
    "Retriever",
    "Span",
    "SummaryReport",
    "Text",
    "Tuning",
    "Use",
    "Verdict",
    "aevaluate_answers",
    "aevaluate_links",
    "aevaluate_search",
    "align",
    "align_all",
    "assert_no_regression",
    "atune_search",
    "compare",
    "evaluate_answers",
    "evaluate_links",
    "evaluate_search",
    "gate",
    "load_judge",
    "suggest_links",
    "tune_search",
]

# The module of each name that is not defined in `library`.
_HOMES = {
    "errors": ("EvaluationError", "GigamindError", "InputError", "LlmError", "NotesError"),
    "evaluation.progress": ("Progress",),
    "evidence.align": ("align", "align_all"),
    "evidence.result": ("AlignResult", "Aligned", "Failed", "Quote"),
    "interop.ranking": ("RankedNote", "Ranking", "Reply"),
    "judges.own": ("OwnJudge",),
    "judges.protocol": ("AnswerCase", "Asking", "Judge", "PlannedCall", "Proof", "Verdict"),
    "linking.suggest": ("LinkSuggestion",),
    "prompting.replies": ("Auxiliary", "ModelReply", "Most"),
    "metrics.spec": ("Metric", "Text", "Use"),
    "release.compare": ("Comparison", "Experiment"),
    "release.model": ("EvalSnapshot",),
    "release.policy": ("GateResult",),
    "reports.tune": ("Tuning",),
    "spans": ("Span",),
    "systems.protocol": ("Answerer", "Query", "Retriever"),
    "tasks.answers.schema": ("AnswerItemReport", "AnswerSummaryReport"),
    "tasks.links.schema": ("LinkItemReport", "LinkSummaryReport"),
    "tasks.search.schema": ("ItemReport", "SummaryReport"),
}


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((home for home, names in _HOMES.items() if name in names), "library")
    return getattr(importlib.import_module(f"gigamind.{module}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
