import pytest

FEATURE = '[features.f]\nitems = [{ id = "a", ko = "가?", en = "A?" }]'


@pytest.fixture
def judge_file(tmp_path):
    def write(**changes):
        lines = {"kind": '"checklist"', "prompt": '"quality_gate/v1"', **changes}
        features = lines.pop("features", FEATURE)
        path = tmp_path / "judge.toml"
        head = "\n".join(f"{name} = {value}" for name, value in lines.items())
        path.write_text(f"{head}\n{features}\n", encoding="utf-8")
        return path

    return write
