"""The OpenAI client alone: what every other one is compared with."""

import asyncio

from exchange import Job, bare, measured, tell

job = Job()
tell("openai", asyncio.run(measured(bare(job), job)))
