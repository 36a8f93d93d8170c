"""What a run says of the model that judged its items."""

from gigamind.records.judged import LlmReport


def llm_report(**changes: object) -> LlmReport:
    """Five calls at no cost, with a verdict on each of four items."""
    given: dict[str, object] = {
        "calls": 5,
        "cache_hits": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cached_tokens": 0,
        "usd": 0.0,
        "usd_source": "table",
        "reserved_usd": 0.0,
        "by_role": {},
        "outcomes": {"scored": 4},
        "items": 4,
        "coverage": 1.0,
    }
    return LlmReport.model_validate(given | changes)
