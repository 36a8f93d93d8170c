"""instructor over litellm, as documented: JSON schema, one retry, litellm's defaults."""

import asyncio

import instructor
import litellm
from exchange import Job, Verdict, measured, tell

job = Job()
client = instructor.from_litellm(
    litellm.acompletion, mode=instructor.Mode.JSON_SCHEMA, async_client=True
)


async def ask(question: str) -> bool:
    try:
        await client.chat.completions.create(
            model=f"openai/{job.model}",
            messages=[{"role": "user", "content": question}],
            response_model=Verdict,
            max_retries=1,
            api_base=job.url,
            api_key="none",
            max_tokens=768,
        )
    except Exception:  # noqa: BLE001  whatever it is, the item is lost
        return False
    return True


tell("instructor", asyncio.run(measured(ask, job)))
