"""Which judge an evaluation of answers uses, in each language that it may ask in."""

from dataclasses import dataclass
from pathlib import Path

from gigamind.assets import asset
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.judges.localised import LocalisedJudge, named
from gigamind.judges.search_qa.reply import SearchQAJudge, load_search_qa_judge
from gigamind.judges.spec import LANGUAGES, Language
from gigamind.reports.judged import JudgeReport


@dataclass(frozen=True, slots=True)
class AnswerJudge:
    """A judge, ready to ask, and what run.json says of it."""

    asked: LocalisedJudge[SearchQAJudge]
    report: JudgeReport


def choose_answer_judge(options: AnswerEvalOptions) -> AnswerJudge:
    """The judge of the options.

    Raises:
        InputError: its file cannot be used, or no model is named.
    """
    path = options.judge or asset("judges") / "search_qa.toml"
    judges: dict[Language, SearchQAJudge] = {
        name: load_search_qa_judge(path, name) for name in LANGUAGES[options.judge_lang]
    }
    asked = LocalisedJudge(judges)
    model = named(asked.models(options))
    report = JudgeReport(
        kind=asked.judge_in("").file.kind,
        file=short_name(path),
        fingerprint=asked.fingerprint(model),
        model=model,
        languages=tuple(judges),
    )
    return AnswerJudge(asked, report)


def short_name(path: Path) -> str:
    """A file that comes with gigamind by its short name, which is the same everywhere."""
    return f"judges/{path.name}" if path.parent == asset("judges") else str(path)
