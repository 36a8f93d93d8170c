"""What judges that ask models have in common on trial: their names, and why a panel gave no verdict.

Name and fingerprint are those that run.json has of the same judge, so that a trial can stand on its card.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Generic

from gigamind.errors import LlmError
from gigamind.judges.localised import Judge, LocalisedJudge, named
from gigamind.judges.panel import Seat
from gigamind.judges.trial import OF_THE_REPLY
from gigamind.llm.ask import LanguageModel
from gigamind.llm.prompts import Prompt


@dataclass(frozen=True, slots=True)
class AskingModels(Generic[Judge]):
    """A judge with its model, or those of its panel."""

    loaded: LocalisedJudge[Judge]
    asked: Sequence[LanguageModel]
    fence_key: bytes

    @property
    def fingerprint(self) -> str:
        return self.loaded.fingerprint(self.model_name)

    @property
    def model_name(self) -> str:
        return named([model.settings.model for model in self.asked])

    @property
    def instructions(self) -> str:
        prompts = (prompt for judge in self.loaded.by_language.values() for prompt in judge.prompts)
        return "\n\n".join(map(_system_message, prompts))

    @property
    def by_name(self) -> Mapping[str, LanguageModel]:
        """The models by their names."""
        return {model.settings.model: model for model in self.asked}


def why_unscored(errors: Mapping[Seat, LlmError], otherwise: str) -> LlmError:
    """Why a panel gave no verdict: the fault of a seat, else a tie.

    A seat that could not be asked says nothing of the case, so it comes before one whose reply was none.
    """
    found = sorted(errors.values(), key=lambda error: error.code in OF_THE_REPLY)
    return found[0] if found else LlmError(otherwise, "panel_tied")


def _system_message(prompt: Prompt) -> str:
    """A prompt's instructions, with nothing of a case in them."""
    return str(prompt.render(**dict.fromkeys(prompt.variables, ""))[0]["content"])
