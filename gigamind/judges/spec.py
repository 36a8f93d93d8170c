"""Reads what defines a judge that asks a model: its file in `judges/` and its prompt in `prompts/`.

Both, with the schema of the reply, make the judge's fingerprint: runs with different ones cannot be compared.
"""

import json
import tomllib
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gigamind.assets import asset
from gigamind.errors import InputError
from gigamind.llm.prompts import Prompt, load_prompt
from gigamind.llm.settings import ModelSettings

Language = Literal["ko", "en"]
GIVEN = ("nonce", "notes", "question")  # the variables that a prompt may use


class LlmJudgeFile(BaseModel):
    """A judge file of kind `llm`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["llm"]
    prompt: Annotated[str, Field(pattern=r"^[a-z_]+/v[1-9][0-9]*$")]
    unverified: Literal["unanswerable", "as_told"] = "unanswerable"
    temperature: Annotated[float, Field(ge=0, le=2, allow_inf_nan=False)] = 0.0
    max_tokens: Annotated[int, Field(ge=64, le=64_000)] = 768


@dataclass(frozen=True, slots=True)
class LlmJudge:
    """A judge, ready to ask.

    Attributes:
        fingerprint: SHA-256 of file, prompt and reply schema, in hexadecimal.
    """

    file: LlmJudgeFile
    prompt: Prompt
    fingerprint: str

    def settings(self, settings: ModelSettings) -> ModelSettings:
        """The same model, called with the parameters of the judge file."""
        return replace(settings, temperature=self.file.temperature, max_tokens=self.file.max_tokens)


def load_judge(
    path: Path, language: Language, reply: type[BaseModel], *, prompts: Path | None = None
) -> LlmJudge:
    """The judge of a file, with its prompt in one language.

    Args:
        prompts: the folder of prompts; None for that of this installation.

    Raises:
        InputError: the file or the prompt cannot be read, or says something unknown.
    """
    file = _read(path)
    prompt = load_prompt((prompts or asset("prompts")) / file.prompt / f"{language}.jinja", GIVEN)
    parts = [file.model_dump(mode="json"), prompt.fingerprint, reply.model_json_schema()]
    fingerprint = sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
    return LlmJudge(file, prompt, fingerprint)


def _read(path: Path) -> LlmJudgeFile:
    try:
        return LlmJudgeFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{path}: the judge file cannot be read: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {place}: {first['msg']}") from None
