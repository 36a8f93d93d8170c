"""A policy of release gates with round numbers, that stay when those that come with gigamind change."""

from pathlib import Path

from gigamind.assets import asset
from gigamind.release.policy import GateResult, Policy, RuleResult

POLICY = """
schema = 1
[phases.mvp]
drop = 0.02
[phases.beta]
drop = 0.015
[phases.ga]
drop = 0.01
[small_sample]
below = 200
drop = 0.03
[quality]
metrics = ["search.hit_at_1"]
[coverage]
max_lost = 0.0
[speed.search_p95]
ratio = 1.15
rise_ms = 200
ratio_from_ms = 100
[speed.cold_start]
ratio = 1.20
rise_ms = 120000
ratio_from_ms = 10000
"""


def shipped(*relax: str) -> str:
    """The text of the policy that comes with gigamind, with these differences of runs relaxed."""
    text = (asset("deployments") / "gates.toml").read_text(encoding="utf-8")
    return text.replace("relax = []", f"relax = {list(relax)}")


def rule_of(gate: GateResult, metric: str) -> RuleResult:
    """The rule on that metric."""
    return next(rule for rule in gate.rules if rule.metric == metric)


def policy_of(folder: Path, text: str = POLICY) -> Policy:
    """The policy of a file with that text."""
    file = folder / "gates.toml"
    file.write_text(text, encoding="utf-8")
    return Policy.read(file)
