"""What defines the judge, and what a model tells it: observations, still untrusted.  Descriptions are prompt text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, Field, model_validator

from gigamind.judges.panel import PanelJudgeFile
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

Told = Literal["supported", "contradicted", "not_found"]
ToldRole = Literal["claim", "abstention", "courtesy", "lead_in", "question", "heading", "source"]
# Part of the fingerprint.  Raise it whenever the code gives the same reply another verdict: the rules of proof, of
# numbers or of utility, or how an answer is cut into claims.
# 5: the source sentence around a quote is held against its claim, and looked at a second time.
# 4: roles told by the model, vetoes of them, omissions.
# 3: any word changed but by the closed set of evidence/proof.py refuses: tenses and endings, too.
# 2: quotes cut inside a word or off their negation, words to the judge, units of numbers, unproven "answerable".
RULES = 5
_GIVEN = ("nonce", "notes", "question", "answer", "ids", "part")  # the variables of its prompts
_CLAIMS_IN_MAX_TOKENS = (
    4  # of about 120 Korean characters of quote each, beside 250 tokens for the rest
)


class SearchQAJudgeFile(PanelJudgeFile):
    """A judge file of kind `search_qa`."""

    kind: Literal["search_qa"]
    tokens_per_claim: Annotated[int, Field(ge=16, le=2_000)] = 160
    claims_per_call: Annotated[int, Field(ge=1, le=200)] = 24
    max_claims: Annotated[int, Field(ge=1, le=2_000)] = 200
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 8
    contradiction: Literal["refuse", "flag"] = "refuse"
    second_look: Literal["doubtful", "all", "never"] = "doubtful"
    second_model: Annotated[str, Field(max_length=200)] = ""
    second_prompt: PromptName = "search_qa_second/v1"
    claims: Literal["sentences", "llm"] = "sentences"
    claims_prompt: PromptName = "search_qa_claims/v1"

    def tokens_for(self, claims: int) -> int:
        """Tokens that a reply about so many claims may take."""
        return self.max_tokens + self.tokens_per_claim * max(0, claims - _CLAIMS_IN_MAX_TOKENS)


_AS_CLAIM = {"role": "claim", "abstention_quote": ""}


class ClaimFinding(BaseModel, extra="forbid", frozen=True):
    """What the model says about one sentence; without a role or words of abstention, it is a claim."""

    id: int = Field(description="number of the sentence")
    role: ToldRole = Field(description="what the sentence is there for; claim if in doubt")
    abstention_quote: str = Field(
        description="the words of the sentence that say that the notes do not tell, copied; empty if none do"
    )
    verdict: Told = Field(
        description="supported: a note says it; contradicted: a note says otherwise; not_found: neither"
    )
    note: int | None = Field(description="number of that note; null if not_found")
    quote: str = Field(
        description="the words of that note that show it, copied character for character; empty if not_found"
    )

    @model_validator(mode="before")
    @classmethod
    def _claim_by_default(cls, given: Any) -> Any:  # noqa: ANN401  whatever a model sent
        """The schema asks for both fields, as providers' strict modes do; a reply without them is a reply."""
        if not isinstance(given, dict):
            return given
        return {"role": "claim", "abstention_quote": ""} | cast("dict[str, Any]", given)


class Omission(BaseModel, extra="forbid", frozen=True):
    """What the model says that an answer leaves out."""

    what: str = Field(description="what is left out, in a few words")
    note: int | None = Field(description="number of the note that says it")
    quote: str = Field(description="the words of that note, copied character for character")


class NoteUse(BaseModel, extra="forbid", frozen=True):
    """What the model says about one note."""

    note_index: int = Field(description="number of the note")
    relevant: bool = Field(description="whether it tells something that the question asks for")
    cited: bool = Field(description="whether the answer uses it")
    relevant_claim: str = Field(description="the words of the answer that use it; empty if none do")
    quote: str = Field(
        description="the words of the note that were used, copied; empty if none were"
    )


class ClaimsReply(BaseModel, extra="forbid", frozen=True):
    """A reply about some sentences."""

    claims: tuple[ClaimFinding, ...] = Field(description="one for each sentence asked about")


class SearchQAReply(ClaimsReply, frozen=True):
    """A reply about sentences and the whole answer."""

    source_coverage: tuple[NoteUse, ...] = Field(description="one for each note")
    grounding_issues: tuple[str, ...] = Field(description="what the answer says without a note")
    omissions: tuple[Omission, ...] = Field(
        description="what the question asks for and a note says, and the answer leaves out"
    )
    answerable: bool = Field(description="whether the notes answer the question")
    answer_note: int | None = Field(description="number of a note that answers it, or null")
    answer_quote: str = Field(description="its words that answer it, copied; empty if none do")
    utility_reason: str = Field(description="why the answer helps or does not, in one sentence")
    utility: float = Field(ge=0, le=1, description="by the rubric")
    correctness: float = Field(ge=0, le=1, description="your estimate of the grounded share")
    summary: str = Field(description="the judgement in one sentence")


class SentenceParts(BaseModel, extra="forbid", frozen=True):
    """What the model says of one sentence."""

    id: int = Field(description="number of the sentence")
    parts: tuple[str, ...] = Field(
        description="the sentence, cut into its claims, copied character for character"
    )


class PartsReply(BaseModel, extra="forbid", frozen=True):
    """A reply about the claims that sentences make."""

    sentences: tuple[SentenceParts, ...] = Field(description="one for each sentence asked about")


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
