import runpy
from pathlib import Path

MUTANTS = runpy.run_path(str(Path(__file__).parents[1] / "benchmarks" / "mutants.py"))


def test_every_fault_can_still_be_put_into_the_package_and_has_its_tests():
    assert len(MUTANTS["read_mutants"]()) > 100
