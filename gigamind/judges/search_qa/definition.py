"""What defines the judge: its file, its prompts, and by its fingerprint which verdicts may be compared."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from gigamind.judges.panel import PanelJudgeFile
from gigamind.judges.search_qa.reply import (
    MOST_CLAIMS,
    RULES,
    PartsReply,
    ProofRules,
    SearchQAReply,
)
from gigamind.judges.search_qa.second_look import SecondLook, load_second_look
from gigamind.judges.spec import (
    Language,
    LlmJudge,
    PromptName,
    fingerprint_of,
    load_judge_prompt,
    load_llm_judge,
)
from gigamind.llm.prompts import Prompt

_GIVEN = ("nonce", "notes", "question", "answer", "ids", "part")  # the variables of its prompts
_CLAIMS_IN_MAX_TOKENS = (
    4  # of about 120 Korean characters of quote each, beside 250 tokens for the rest
)


class SearchQAJudgeFile(PanelJudgeFile, ProofRules):
    """A judge file of kind `search_qa`."""

    kind: Literal["search_qa"]
    tokens_per_claim: Annotated[int, Field(ge=16, le=2_000)] = 160
    claims_per_call: Annotated[int, Field(ge=1, le=MOST_CLAIMS)] = 24
    max_claims: Annotated[int, Field(ge=1, le=2_000)] = 200
    second_model: Annotated[str, Field(max_length=200)] = ""
    second_prompt: PromptName = "search_qa_second/v1"
    claims: Literal["sentences", "llm"] = "sentences"
    claims_prompt: PromptName = "search_qa_claims/v1"

    def tokens_for(self, claims: int) -> int:
        """Tokens that a reply about so many claims may take."""
        return self.max_tokens + self.tokens_per_claim * max(0, claims - _CLAIMS_IN_MAX_TOKENS)


@dataclass(frozen=True, slots=True)
class SearchQAJudge(LlmJudge[SearchQAJudgeFile]):
    """The judge.

    Attributes:
        cutting: how a model is asked to cut sentences into claims; None where our code does it alone.
        second: how it is asked to look at claims once more; None where it is not.
    """

    cutting: Prompt | None = None
    second: SecondLook | None = None

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        """All that it sends."""
        more = (self.cutting, self.second.prompt if self.second else None)
        return (self.prompt, *filter(None, more))


def load_search_qa_judge(path: Path, language: Language) -> SearchQAJudge:
    """The judge of a file, with its prompts in one language.

    Raises:
        InputError: see `load_llm_judge`.
    """
    found = load_llm_judge(path, language, SearchQAJudgeFile, SearchQAReply, _GIVEN)
    file, cutting, second = found.file, None, None
    parts: list[str | type[BaseModel]] = [found.fingerprint, f"rules {RULES}"]
    if file.claims == "llm":
        cutting = load_judge_prompt(file.claims_prompt, language, ("sentences",))
        parts += [cutting.fingerprint, PartsReply]
    if file.second_look != "never":
        second = load_second_look(file.second_prompt, language, file.second_model)
        parts.append(second.fingerprint)
    return SearchQAJudge(file, found.prompt, fingerprint_of(file, *parts), cutting, second)
