"""What a model that can judge answers the fake server's requests with: every id that it is asked about, once."""

import re
from typing import Any

from answer_reply import answer_reply
from second_looks import looks

ASKED_IDS = re.compile(r"^(?:판정할 문장의 id|Ids of the sentences to judge): (.+)$", re.MULTILINE)
CHECKED_ITEM = re.compile(r'^\{"id": "(\w+)".*"quote_from"', re.MULTILINE)


def able(body: dict[str, Any]) -> dict[str, Any] | None:
    """The reply to a request; None where the schema alone says what fits."""
    if "response_format" not in body:
        return None
    fields = body["response_format"]["json_schema"]["schema"]["properties"]
    system, user = (body["messages"][0]["content"], body["messages"][-1]["content"])
    if "looks" in fields:
        return looks(user, lambda _: True)
    if "items" in fields:
        return {
            "items": [
                {"id": name, "yes": False, "quote": ""} for name in CHECKED_ITEM.findall(system)
            ]
        }
    if "claims" in fields:
        (ids,) = ASKED_IDS.findall(user)
        return answer_reply(
            {"id": int(one), "role": "claim", "abstention_quote": "", "verdict": "not_found"}
            | {"note": None, "quote": ""}
            for one in ids.split(", ")
        )
    if "questions" in fields:
        question = {
            "question": "Who knows?", "answerable": False, "quote": "", "difficulty": "easy",
        }  # fmt: skip
        return {"questions": [question]}
    return None
