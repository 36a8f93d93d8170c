"""Write JUnit XML, which every CI system shows as test results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree as ET


@dataclass(frozen=True, slots=True)
class JunitCase:
    """One check."""

    name: str  # what was checked
    outcome: Literal["passed", "failed", "skipped", "error"]  # error: not carried out
    message: str  # why it did not pass; figures of a passed check


def junit_xml(suite: str, cases: Sequence[JunitCase]) -> str:
    """One test suite as XML text, characters that XML 1.0 forbids left out."""
    root = ET.Element(
        "testsuite",
        name=suite,
        tests=str(len(cases)),
        failures=str(sum(case.outcome == "failed" for case in cases)),
        errors=str(sum(case.outcome == "error" for case in cases)),
        skipped=str(sum(case.outcome == "skipped" for case in cases)),
    )
    tags = {"failed": "failure", "error": "error", "skipped": "skipped"}
    for case in cases:
        element = ET.SubElement(root, "testcase", classname=suite, name=_allowed(case.name))
        if case.outcome in tags:
            ET.SubElement(element, tags[case.outcome], message=_allowed(case.message))
        else:
            ET.SubElement(element, "system-out").text = _allowed(case.message)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _allowed(text: str) -> str:
    return "".join(
        c
        for c in text
        if c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c > "\uffff"
    )
