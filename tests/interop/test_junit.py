from xml.etree import ElementTree as ET

from gigamind.evaluation.release import _junit_xml, _JunitCase


def test_cases_and_counts_read_back_from_the_xml():
    text = _junit_xml(
        "gate",
        [
            _JunitCase("search.mrr", "failed", 'worse by 0.1 <"&>'),
            _JunitCase("search.hit_at_1", "passed", "fine"),
            _JunitCase("cold_start", "skipped", "not measured"),
            _JunitCase("comparable", "error", "other dataset"),
        ],
    )
    suite = ET.fromstring(text)
    counts = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.find("testcase[@name='search.mrr']/failure").get("message") == 'worse by 0.1 <"&>'
    assert suite.find("testcase[@name='search.hit_at_1']/system-out").text == "fine"


def test_characters_that_xml_forbids_are_left_out():
    case = _JunitCase("bell\x07", "failed", "nul\x00 lone \ud800 kept \U0001f680 한글")
    found = ET.fromstring(_junit_xml("gate", [case])).find("testcase")
    assert found.get("name") == "bell"
    assert found.find("failure").get("message") == "nul lone  kept \U0001f680 한글"
