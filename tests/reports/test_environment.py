import platform
import re
from importlib.metadata import version

from gigamind import __version__
from gigamind.records.schema import Environment, Hardware


def test_the_versions_are_those_of_the_running_packages():
    found = Environment.here("model", "1.2", None)
    assert found.app_version == __version__
    assert found.python_version == platform.python_version()
    assert found.packages["numpy"] == version("numpy")
    assert found.packages["pyromark"] == version("pyromark")
    assert found.packages["rank-bm25"] == version("rank-bm25")
    assert (found.embedding_model, found.rag_schema_version) == ("model", "1.2")


def test_the_machine_is_described_alike_each_time_and_without_its_name():
    one, two = Hardware.here(), Hardware.here()
    assert one == two
    assert one.cores > 0
    assert one.memory_gib > 0
    assert re.fullmatch("[0-9a-f]{16}", one.hash)
    assert platform.node() not in one.model_dump_json()
