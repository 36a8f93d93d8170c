"""Write benchmarks/RESULTS.md from the figures of benchmarks/all.py: slower results first."""

import json
import os
import platform
from collections.abc import Iterator, Sequence
from math import log
from pathlib import Path
from typing import Any, NamedTuple

import drawings
import numpy as np
from evidence import ALONE, OURS

Figures = dict[str, Any]
SIZES = (1_000, 5_000, 20_000, 100_000)
COMPARED = (20_000, 100_000)
MILLION = 1_000_000
GROWING = {"build_s": "build, s", "p50": "query, ms", "peak_gb": "memory, GB"}


class Duel(NamedTuple):
    """Hold one figure of gigamind and of an opponent in one unit; less is better."""

    what: str
    opponent: str
    ours: float
    theirs: float
    unit: str

    @property
    def ratio(self) -> float:
        return self.ours / self.theirs

    def row(self) -> tuple[str, ...]:
        return (
            self.what,
            self.opponent,
            f"{figure(self.ours)} {self.unit}",
            f"{figure(self.theirs)} {self.unit}",
            f"**{self.ratio:.2f}**",
        )


class Goal(NamedTuple):
    """Hold an upper limit for a figure of gigamind."""

    what: str
    ours: float
    limit: float
    unit: str

    def row(self) -> tuple[str, ...]:
        reached = "yes" if self.ours <= self.limit else "**no**"
        return (
            self.what,
            f"{figure(self.ours)} {self.unit}",
            f"{self.limit:g} {self.unit}",
            reached,
        )


def write(folder: Path, out: Path, names: Sequence[str]) -> None:
    """Write RESULTS.md and its drawings; name parts that did not run, with the reason."""
    kept: Figures = {
        name: json.loads((out / f"{name}.json").read_text("utf-8"))
        for name in names
        if (out / f"{name}.json").is_file()
    }
    found: Figures = {name: part["found"] for name, part in kept.items() if part["found"]}
    duels = list(all_duels(found))
    slower = sorted((duel for duel in duels if duel.ratio > 1), key=lambda duel: -duel.ratio)
    heads = ("work", "opponent", "gigamind", "opponent's", "times")
    dates = sorted({part["date"] for part in kept.values()})
    minutes = sum(part["wall_s"] for name, part in kept.items() if "1000000" not in name) / 60
    parts = [
        "# Results",
        introduction(dates, minutes),
        "![CPU and memory of gigamind as a share of each opponent's](figures/duels.svg)",
        "## Slower than an opponent",
        table(heads, [duel.row() for duel in slower]) if slower else "Nothing that was measured.",
        "## As fast or faster",
        table(heads, [duel.row() for duel in duels if duel.ratio <= 1]),
        "Qdrant Edge fuses by ranks of chunks, so its ranking differs from gigamind's exact one.",
        "## Targets",
        table(("figure", "gigamind", "target", "reached"), [goal.row() for goal in goals(found)]),
        *search(found),
        *scaling(found),
        *million(kept),
        *evidence(found),
        *ranking(found),
        *answers(found),
        *start_and_report(found),
        *missing(kept, names),
    ]
    (folder / "RESULTS.md").write_text("\n\n".join(parts) + "\n", "utf-8")
    figures = folder / "figures"
    figures.mkdir(exist_ok=True)
    ratios = [(f"{duel.what}, {duel.opponent}", duel.ratio) for duel in duels]
    if ratios:
        drawn = drawings.duels(sorted(ratios, key=lambda ratio: -ratio[1]))
        (figures / "duels.svg").write_text(drawn, "utf-8")
    sizes = [chunks for chunks in (*SIZES, MILLION) if of_alone(found, "gigamind", chunks)]
    if len(sizes) > 1:
        courses = {
            label: [found[f"alone-gigamind-{chunks}"][name] for chunks in sizes]
            for name, label in GROWING.items()
        }
        (figures / "growth.svg").write_text(drawings.growth(sizes, courses), "utf-8")


def introduction(dates: Sequence[str], minutes: float) -> str:
    return (
        f"Written by `make bench` ({', '.join(dates)}; {minutes:.0f} minutes) on {machine()}. Figures are medians of"
        " five runs of CPU time (not wall time), both sides in turn in one process. Search over 20,000 chunks uses five"
        " processes, memory one process per side, and metrics of 100,000 queries three runs. Scripts and data:"
        " [README.md](README.md)."
    )


def machine() -> str:
    """Return the processor, its cores and software versions."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text("utf-8").splitlines() if cpuinfo.is_file() else []
    model = next((line.split(":", 1)[1].strip() for line in lines if "model name" in line), "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    system = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return f"{model or platform.processor()}, {cores} cores, {system}, NumPy {np.__version__}"


def all_duels(found: Figures) -> Iterator[Duel]:
    for chunks in COMPARED:
        if part := found.get(f"search-{chunks}"):
            yield from duels_of_queries(part)
        yield from duels_of_indexes(found, chunks)
    yield from duels_of_ranking(found)
    yield from duels_of_quotes(found)
    yield from duels_of_answers(found.get("answers", {}))


def duels_of_quotes(found: Figures) -> Iterator[Duel]:
    """Yield comparisons of the same work, and of all of `align`, which the others do not do."""
    rows = {(row["method"], row["edits"]): row for row in found.get("evidence", ())}
    for (method, edits), row in rows.items():
        if method not in {OURS, ALONE}:
            what = f"a quote of 200 in 100 kB, {edits:.0%} changed"
            yield Duel(f"{what}: position", method, rows[ALONE, edits]["ms"], row["ms"], "ms")
            more = f"{what}: position and proof"
            yield Duel(more, method, rows[OURS, edits]["ms"], row["ms"], "ms")


PAIRS = (
    ("hybrid", "gigamind", "NumPy"),
    ("hybrid", "gigamind", "Qdrant Edge"),
    ("BM25", "BM25", "bm25s"),
)


def duels_of_queries(part: Figures) -> Iterator[Duel]:
    for kind, ours, theirs in PAIRS:
        for quantile in ("p50", "p95"):
            if theirs in part["ms"]:
                mine, other = (part["ms"][side][quantile] for side in (ours, theirs))
                what = f"{kind} top 10, {part['chunks']:,} chunks, {quantile}"
                yield Duel(what, theirs, mine, other, "ms")


def duels_of_indexes(found: Figures, chunks: int) -> Iterator[Duel]:
    for kind, ours, theirs in PAIRS:
        mine, other = (of_alone(found, side, chunks) for side in (ours, theirs))
        if mine and other:
            for what, name, unit in (("build", "build_s", "s"), ("peak memory", "peak_gb", "GB")):
                yield Duel(
                    f"{kind}, {chunks:,} chunks: {what}", theirs, mine[name], other[name], unit
                )


def duels_of_ranking(found: Figures) -> Iterator[Duel]:
    for name in ("ranking", "ranking-100000"):
        part = found.get(name, {"cpu_s": {}})
        for theirs, taken in part["cpu_s"].items():
            if theirs != "gigamind":
                what = f"ranking metrics, {part['queries']:,} queries x {part['hits']} hits"
                yield Duel(what, theirs, part["cpu_s"]["gigamind"], taken, "s")


def duels_of_answers(part: Figures) -> Iterator[Duel]:
    whole = {side: costs for side, costs in part.items() if isinstance(costs, dict)}
    ours = whole.pop("gigamind", None)
    for side, costs in whole.items() if ours else ():
        for what, name, unit in (
            ("CPU", "cpu_ms_an_answer", "ms"),
            ("calls", "calls", ""),
            ("prompt tokens", "prompt_tokens", ""),
        ):
            yield Duel(f"evaluation of an answer: {what}", side, ours[name], costs[name], unit)


def of_alone(found: Figures, side: str, chunks: int) -> Figures | None:
    return found.get(f"alone-{side.replace(' ', '-')}-{chunks}")


def goals(found: Figures) -> Iterator[Goal]:
    """Yield the project's targets that this page covers."""
    yield from goals_beside_opponents(found)
    if part := of_alone(found, "gigamind", 100_000):
        yield Goal("build of 100,000 chunks, CPU", part["build_s"], 12, "s")
        yield Goal("its peak memory, queries included", part["peak_gb"], 1.3, "GB")
    if part := found.get("start"):
        for mode, limit in (("keyword", 1.5), ("hybrid", 3)):
            yield Goal(f"start to figures, {mode}, CPU", part[mode]["cpu_s"], limit, "s")
    if (part := found.get("report")) and "loaded_s" in part:
        yield Goal("report of 50,000 items, until its list is shown", part["loaded_s"], 2, "s")


def goals_beside_opponents(found: Figures) -> Iterator[Goal]:
    for chunks in COMPARED:
        if part := found.get(f"search-{chunks}"):
            for duel in duels_of_queries(part):
                limit = {"NumPy": 1.15, "bm25s": 1}.get(duel.opponent)
                if limit:
                    yield Goal(f"{duel.what}, to {duel.opponent}", duel.ratio, limit, "times")
    for duel in duels_of_ranking(found):
        if duel.opponent == "pytrec_eval":
            yield Goal(f"{duel.what}, to pytrec_eval", duel.ratio, 1, "times")
    for duel in duels_of_quotes(found):
        if duel.opponent == "edlib":
            yield Goal(f"{duel.what}, to edlib", duel.ratio, 1, "times")


def search(found: Figures) -> Iterator[str]:
    yield "## Search"
    rows: list[tuple[str, ...]] = []
    same: list[str] = []
    for chunks in COMPARED:
        part = found.get(f"search-{chunks}", {"ms": {}})
        for side, times in part["ms"].items():
            own = of_alone(found, side, chunks) or {}
            built = figure(own["build_s"]) if own else "-"
            peak = f"{own['peak_gb']:.2f}" if own else "-"
            ms = (figure(times["p50"]), figure(times["p95"]))
            rows.append((f"{chunks:,}", side, *ms, built, peak))
        if "same" in part:
            asked = part["queries"] * part["runs"]
            same.append(f"{part['same'].get('NumPy', 0)} of {asked} at {chunks:,} chunks")
    yield table(("chunks", "side", "p50 ms", "p95 ms", "build s", "peak GB"), rows)
    if same:
        yield f"The top 10 of gigamind is that of NumPy in {', '.join(same)}."


def scaling(found: Figures) -> Iterator[str]:
    parts = {chunks: part for chunks in SIZES if (part := of_alone(found, "gigamind", chunks))}
    if len(parts) < len(SIZES):
        return
    yield "## Scaling"
    names = ("build_s", "p50", "p95", "peak_gb")
    rows = [
        (f"{chunks:,}", *(figure(part[name]) for name in names)) for chunks, part in parts.items()
    ]
    exponents = [slope([(chunks, part[name]) for chunks, part in parts.items()]) for name in names]
    large = [slope([(c, parts[c][name]) for c in COMPARED]) for name in names]
    rows.append(("exponent, all", *(f"{value:.2f}" for value in exponents)))
    rows.append(("exponent, 20,000 to 100,000", *(f"{value:.2f}" for value in large)))
    yield table(("chunks", "build s", "query p50 ms", "p95 ms", "peak GB"), rows)
    yield "![Growth with the number of chunks](figures/growth.svg)"
    yield "Exponents of a log-log fit. Every process needs 0.1 GB, which lowers the exponent of memory."


def slope(points: Sequence[tuple[float, float]]) -> float:
    return float(np.polyfit([log(x) for x, _ in points], [log(y) for _, y in points], 1)[0])


def million(kept: Figures) -> Iterator[str]:
    yield "## A million chunks"
    part = kept.get("alone-gigamind-1000000")
    if not part:
        yield "Not run: `python benchmarks/all.py --million --only alone-gigamind-1000000`."
    elif part["failed"]:
        yield f"Broke after {part['wall_s'] / 60:.0f} minutes: {part['failed']}"
    else:
        one = part["found"]
        yield (
            f"Completed: built in {one['build_s']:.0f} s of CPU, {one['p50']:.0f} ms per query,"
            f" p95 {one['p95']:.0f} ms, peak memory {one['peak_gb']:.1f} GB, of which {one['texts_gb']:.1f} GB are"
            " texts and program."
        )


def evidence(found: Figures) -> Iterator[str]:
    if rows := found.get("evidence"):
        yield "## Evidence"
        cells = [
            (
                row["method"],
                f"{row['edits']:.0%}",
                f"{row['right']:.2f}",
                f"{row['exact']:.2f}",
                figure(row["ms"]),
                figure(row["p95"]),
            )
            for row in sorted(
                rows, key=lambda row: (row["method"] not in {OURS, ALONE}, row["method"])
            )
        ]
        yield table(("method", "edits", "right span", "exact bounds", "mean ms", "p95 ms"), cells)


def ranking(found: Figures) -> Iterator[str]:
    if part := found.get("ranking"):
        yield "## Ranking metrics"
        rows = [(side, figure(taken)) for side, taken in part["cpu_s"].items()]
        yield table(("side", f"CPU s, {part['queries']:,} queries x {part['hits']} hits"), rows)
        yield f"The largest difference to a figure of pytrec_eval is {part['largest_difference']:.0e}."


def answers(found: Figures) -> Iterator[str]:
    if part := found.get("answers"):
        yield "## A whole evaluation of answers"
        names = ("calls", "prompt_tokens", "completion_tokens", "cpu_ms_an_answer", "cpu_s_whole")
        whole = {side: costs for side, costs in part.items() if isinstance(costs, dict)}
        rows = [(side, *(figure(costs[name]) for name in names)) for side, costs in whole.items()]
        heads = ("calls", "prompt tokens", "reply tokens", "CPU ms", "whole process, CPU s")
        yield table(("side", *heads), rows)
        yield (
            "Figures are per answer, except in the last column. ragas: faithfulness and factual correctness;"
            " inspect_ai: `model_graded_qa`. They ask different questions, so their calls are not equivalent."
        )
        failed = [f"{side}: {costs}" for side, costs in part.items() if isinstance(costs, str)]
        yield from (f"Left out, {one}" for one in failed)


def start_and_report(found: Figures) -> Iterator[str]:
    if part := found.get("start"):
        yield "## Start to figures"
        rows = [
            (name, *(figure(run[key]) for key in ("cpu_s", "wall_s", "peak_gb")))
            for name, run in part.items()
        ]
        yield table(("run", "CPU s", "wall s", "peak GB"), rows)
    if part := found.get("report"):
        yield "## A large report"
        browser = (
            f"{part['browser']}: first paint after {part['first_paint_s']:.2f} s, loaded with its list after"
            f" {part['loaded_s']:.2f} s."
            if "loaded_s" in part
            else f"Not opened: {part['browser']}."
        )
        yield (
            f"report.html of {part['items']:,} items: {part['mb']:.0f} MB, made in {part['made_cpu_s']:.1f} s of CPU"
            f" with {part['made_peak_gb']:.2f} GB. {browser}"
        )


def missing(kept: Figures, names: Sequence[str]) -> Iterator[str]:
    lost = [f"- {name}: {part['failed']}" for name, part in kept.items() if part["failed"]]
    lost += [f"- {name}: not run" for name in names if name not in kept and "1000000" not in name]
    left = [
        f"- {opponent}: not installed"
        for opponent, part, key in (("bm25s", "search-20000", "ms"), ("ranx", "ranking", "cpu_s"))
        if kept.get(part, {}).get("found") and opponent not in kept[part]["found"][key]
    ]
    rows = kept.get("evidence", {}).get("found") or ()
    if rows and not any(row["method"] == "edlib" for row in rows):
        left.append("- edlib: not installed")
    if lost or left:
        yield "## Left out"
        yield "\n".join([*lost, *left])


def figure(value: float) -> str:
    """Format with three significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---", *(["---:"] * (len(heads) - 1))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
