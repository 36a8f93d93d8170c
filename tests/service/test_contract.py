"""Whatever the OpenAPI document allows is answered, and never by a failure of ours."""

from collections import Counter

import hypothesis

_EXAMPLES = 4  # of each operation


def test_no_request_that_the_document_allows_breaks_the_service(serve, tmp_path):
    import schemathesis  # takes a second to load

    service = serve(feedback=tmp_path / "said", asks_per_minute=100_000)
    asked: Counter[str] = Counter()

    def send(operation):
        @hypothesis.given(case=operation.as_strategy())
        @hypothesis.settings(
            max_examples=_EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        def each(case):
            answer = case.call(base_url=service.url, timeout=20)
            asked[case.path] += 1
            assert answer.status_code < 500, (case.method, case.path, case.body, answer.text)

        each()

    for operation in schemathesis.openapi.from_url(
        f"{service.url}/openapi.json"
    ).get_all_operations():
        send(operation.ok())
    assert {"/api/ai/stream", "/api/ai/chat", "/api/search", "/api/feedback"} <= set(asked)
