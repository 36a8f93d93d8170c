"""Which judge an evaluation of answers uses, in each language that it may ask in."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gigamind.assets import asset
from gigamind.evals.answer_options import AnswerEvalOptions
from gigamind.judges.search_qa.reply import SearchQAJudge, load_search_qa_judge
from gigamind.judges.spec import LANGUAGES, Language, fingerprint_of_run
from gigamind.judges.unanswerable import named
from gigamind.llm.options import ModelOptions
from gigamind.reports.judged import JudgeReport


@dataclass(frozen=True, slots=True)
class AnswerJudge:
    """A judge, ready to ask, and what run.json says of it."""

    by_language: Mapping[Language, SearchQAJudge]
    report: JudgeReport

    @property
    def repeats(self) -> int:
        """How often a model is asked about an answer, at most."""
        return next(iter(self.by_language.values())).file.repeats

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """The models that it asks: those of its panel, else that of the run.

        Raises:
            InputError: neither the judge file nor the options name one.
        """
        file = next(iter(self.by_language.values())).file
        return file.panel or (options.settings().model,)

    def judge_in(self, language: Language) -> SearchQAJudge:
        """The judge whose prompt is in this language, else in the one there is."""
        return self.by_language.get(language) or next(iter(self.by_language.values()))


def choose_answer_judge(options: AnswerEvalOptions) -> AnswerJudge:
    """The judge of the options.

    Raises:
        InputError: its file cannot be used, or no model is named.
    """
    path = options.judge or asset("judges") / "search_qa.toml"
    judges: dict[Language, SearchQAJudge] = {
        name: load_search_qa_judge(path, name) for name in LANGUAGES[options.judge_lang]
    }
    first = next(iter(judges.values()))
    model = named(first.file.panel or (options.settings().model,))
    report = JudgeReport(
        kind=first.file.kind,
        file=short_name(path),
        fingerprint=fingerprint_of_run(list(judges.values()), model),
        model=model,
        languages=tuple(judges),
    )
    return AnswerJudge(judges, report)


def short_name(path: Path) -> str:
    """A file that comes with gigamind by its short name, which is the same everywhere."""
    return f"judges/{path.name}" if path.parent == asset("judges") else str(path)
