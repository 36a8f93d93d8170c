"""How far a long run is stands on its page, and costs it nothing."""

import asyncio
from contextlib import closing

import pytest
from flow_artifacts import newest_artifact


@pytest.mark.prefect
@pytest.mark.usefixtures("prefect_server")
def test_a_long_run_shows_how_far_it_is_from_within_an_event_loop():
    import prefect

    from gigamind.publish.flows import _RunProgress

    @prefect.flow
    def judges() -> None:
        async def ask(progress: _RunProgress) -> None:
            for done in range(5):
                progress.stage("Judging", done, 4)
                await asyncio.sleep(0.05)

        with closing(_RunProgress("a-progress", long_s=0.1, every_s=0.0)) as progress:
            asyncio.run(ask(progress))

    judges()
    shown = newest_artifact("a-progress")
    assert (shown.type, float(shown.data)) == ("progress", 100.0)
    assert shown.description == "Judging: 4 of 4"


@pytest.mark.prefect
@pytest.mark.usefixtures("prefect_server")
def test_a_short_run_shows_nothing_and_a_server_that_refuses_costs_a_line(caplog):
    import prefect

    from gigamind.publish.flows import _RunProgress

    @prefect.flow
    def judges(key: str, long_s: float) -> None:
        with closing(_RunProgress(key, long_s=long_s, every_s=0.0)) as progress:
            progress.stage("Judging", 1, 2)

    judges("b-progress", 60.0)
    assert "progress" not in caplog.text or "not published" not in caplog.text
    judges("no key can have spaces", 0.0)
    assert "progress was not published" in caplog.text
