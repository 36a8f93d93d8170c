"""A server that allows five at a time and answers 429 beyond is not stormed, and no question is lost."""

import asyncio


def test_a_server_that_allows_five_at_a_time_gets_few_calls_in_vain(
    connected, fake_server, verdict
):
    model = connected(";allowed=5;lat=20;ra=0.05", attempts=5, backoff_s=0.01, timeout_s=10)

    async def run():
        questions = [[{"role": "user", "content": f"question {n}"}] for n in range(150)]
        replies = await asyncio.gather(
            *(model.ask(q, verdict, item_id=q[0]["content"]) for q in questions)
        )
        await model.close()
        return replies

    assert len(asyncio.run(run())) == 150
    assert fake_server.seen.total <= 1.3 * 150
    assert fake_server.seen.most_in_flight == 5
