"""A run that no gate holds: its JUnit XML, and what is said of options that have no part in it."""

import xml.etree.ElementTree as ET


def idle(ended):
    """Return the warnings about options that have no effect without a baseline."""
    warnings = [line for line in ended.stdout.splitlines() if line.startswith("  ! ")]
    return [line for line in warnings if "--compare" in line]


def cases(file):
    """The name of each case, and the tag of its outcome."""
    root = ET.parse(file).getroot()
    return [(case.get("name"), case[0].tag) for case in root]


def test_junit_is_written_where_no_gate_holds_the_run(case, search):
    assert search("--junit", "j.xml").code == 0
    assert cases(case / "j.xml") == [("evaluation", "system-out")]
    korean = search("--junit", "k.xml", "--lang", "ko", "--out", "again")
    assert korean.code == 0
    assert cases(case / "k.xml") == [("평가", "system-out")]


def test_junit_says_why_a_run_was_refused_by_its_options_alone(case, search):
    (case / "a.run").write_text("a Q0 deploy.md 1 0.9 t\n", "utf-8")
    assert search("--system", "run:a.run", "--junit", "j.xml").code == 1
    assert cases(case / "j.xml") == [("evaluation", "error")]


def test_an_option_of_gates_without_a_part_is_said_and_one_of_a_file_of_options_is_not(
    case, search
):
    (warning,) = idle(search("--phase", "ga", "--changed", "notes"))
    assert "--changed, --phase" in warning
    assert idle(search("--phase", "mvp", "--out", "default")) == []
    (case / "floors.toml").write_text('[floors]\n"search.hit_at_1" = 0.1\n', "utf-8")
    held = search("--phase", "ga", "--gates", "floors.toml", "--out", "held")
    assert idle(held) == []
    compared = search("--phase", "ga", "--compare", "held", "--out", "compared")
    assert idle(compared) == []
    (case / "gigamind.toml").write_text('[search]\nphase = "ga"\n', "utf-8")
    assert idle(search("--out", "by-file")) == []
