import json

import pytest


@pytest.fixture
def judge_file(tmp_path):
    """A judge file with a few fields of its own."""

    def write(**fields):
        lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
        path = tmp_path / "judge.toml"
        text = 'kind = "search_qa"\nprompt = "search_qa/v2"\n' + "\n".join(lines)
        path.write_text(text, encoding="utf-8")
        return path

    return write
