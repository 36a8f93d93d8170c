import re
from pathlib import Path

import pytest

from gigamind.assets import asset


def test_flows_prompts_and_examples_of_a_clone_are_those_at_its_root():
    root = Path(__file__).parents[1]
    assert asset("flows") == root / "flows"
    assert (asset("prompts") / "extract" / "v1" / "ko.jinja").is_file()
    assert (asset("examples") / "queries.jsonl").is_file()


@pytest.mark.parametrize("name", ["verdicts", "pyproject.toml"])
def test_what_is_no_folder_of_the_package_is_a_broken_installation(name):
    with pytest.raises(FileNotFoundError, match=rf"^{name}: .*install gigamind-eval again"):
        asset(name)


def test_the_demo_installs_what_the_tests_are_run_with():
    root = Path(__file__).parents[1]
    pinned, demo = (
        set(re.findall(pattern, (root / name).read_text(), re.MULTILINE))
        for name, pattern in (
            ("constraints.txt", r"^([\w.-]+)"),
            ("deployments/packages.txt", r"^([\w.-]+) demo"),
        )
    )
    assert len(demo) > 100
    assert not demo - pinned
