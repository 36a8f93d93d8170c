"""A judge that asks a model, or a panel of them, with its prompt in each language that it may ask in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from gigamind.judges.panel import PanelFields
from gigamind.judges.spec import Language, LlmJudge, LlmJudgeFile, fingerprint_of_run
from gigamind.llm.options import ModelOptions
from gigamind.llm.settings import ModelSettings


class PanelJudgeFile(LlmJudgeFile, PanelFields):
    """A judge file that may name a panel."""


Judge = TypeVar("Judge", bound=LlmJudge[PanelJudgeFile])


@dataclass(frozen=True, slots=True)
class LocalisedJudge(Generic[Judge]):
    """One judge file, with its prompts."""

    by_language: Mapping[Language, Judge]

    @property
    def file(self) -> PanelJudgeFile:
        """The judge file."""
        return self.judge_in("").file

    def judge_in(self, language: str) -> Judge:
        """The judge whose prompt is in this language, else in the first there is."""
        known = {str(name): judge for name, judge in self.by_language.items()}
        return known.get(language) or next(iter(known.values()))

    def models(self, options: ModelOptions) -> tuple[str, ...]:
        """The models that it asks: those of its panel, else that of the run.

        Raises:
            InputError: neither the judge file nor the options name one.
        """
        return self.file.panel or (options.settings().model,)

    def settings(self, settings: ModelSettings) -> ModelSettings:
        """The same model, called with the parameters of the judge file."""
        return self.judge_in("").settings(settings)

    def fingerprint(self, model: str) -> str:
        """Changes with the file, a prompt, the reply's schema, and the model, or `named(models)` of a panel."""
        return fingerprint_of_run(list(self.by_language.values()), model)


def named(models: Sequence[str]) -> str:
    """One or several models as reports name them."""
    return ", ".join(models)
