"""Functions of the library and their options, for type checkers: the evaluations of the command line as values.

Options have the names, ranges and defaults of the command line, with `_` for `-`: `topk=5` is `--topk 5`.
"""

import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Unpack, cast, overload

from gigamind.choices import Phase, PromptLanguage, Relaxable, StoreMode, UnanswerableMode
from gigamind.errors import EvaluationError, InputError
from gigamind.event_loop import async_twin
from gigamind.i18n import LanguageChoice, translator
from gigamind.interop.ranking import RankedNote
from gigamind.llm.settings import Mode as Structured
from gigamind.retrieval.settings import DEFAULT_EMBEDDER, FusionName, Mode
from gigamind.systems.protocol import Answerer, Retriever

if TYPE_CHECKING:
    from gigamind.evaluation.options import EvalOptions
    from gigamind.evaluation.progress import Progress
    from gigamind.evaluation.task import Task
    from gigamind.judges.protocol import Judge
    from gigamind.judges.unanswerable import UnanswerableJudge
    from gigamind.linking.suggest import LinkSuggestion
    from gigamind.records.schema import ErrorReport, Record, RunReport
    from gigamind.release.comparison import Comparison, Experiment
    from gigamind.release.model import EvalSnapshot
    from gigamind.release.policy import GateResult, Release
    from gigamind.reports.tune import Tuning
    from gigamind.tasks.answers.schema import AnswerItemReport, AnswerSummaryReport
    from gigamind.tasks.links.schema import LinkItemReport, LinkSummaryReport
    from gigamind.tasks.search.schema import ItemReport, SummaryReport


_File = str | Path


class _EvalKeywords(TypedDict, total=False):
    """Options of every evaluation; those from `format` on need an `out` folder."""

    seed: int
    deterministic: bool
    sample: str
    strict: bool
    min_rows: float
    exclude: Sequence[str]
    notes_hash_mode: Literal["content", "mtime"]
    notes_hash_exclude: Sequence[str]
    compare: _File
    changed: Sequence[Relaxable]
    phase: Phase
    gates: _File
    judge_card: _File
    format: Literal["json", "md", "both"]
    lang: LanguageChoice
    save_snapshot: bool
    junit: _File
    comment: _File


class _ModelKeywords(TypedDict, total=False):
    """Options of runs that query models: which models, and what they may cost.  Keys come from the environment."""

    model: str
    api_base: str
    key_variable: str
    structured: Structured
    model_timeout_s: float
    max_wait: float
    max_in_flight: int
    requests_per_minute: int
    tokens_per_minute: int
    prices: _File
    max_cost_usd: float
    max_calls: int
    max_minutes: float
    store: _File
    store_mode: StoreMode
    judge: _File
    judge_lang: PromptLanguage
    batch: bool
    batch_poll: float
    fresh_fraction: float
    resume: _File
    allow_partial: bool
    min_coverage: float
    cache_dir: _File


class _SearchKeywords(_EvalKeywords, _ModelKeywords, total=False):
    """Further options of a search evaluation; `system` may also be a retriever object."""

    system: str | Retriever[RankedNote]
    system_config: str
    system_name: str
    mode: Mode
    fusion: FusionName
    topk: int
    evidence_notes: int
    alpha: float
    title_weight: float
    chunk_chars: int
    graph_rerank: bool
    rerank: str
    embedder: str
    embedding_api_base: str
    qdrant_url: str
    cold_start: bool
    unanswerable_mode: UnanswerableMode
    min_score: float
    judge_forecast: bool
    context_notes: int
    context_chars: int
    warmup: int
    timeout_ms: int
    max_concurrency: int
    speed_passes: int


class _TuneKeywords(_SearchKeywords, total=False):
    """Further options of tuning: the metric to choose by, and the values of each axis of the grid."""

    metric: str
    modes: Sequence[Mode]
    fusions: Sequence[FusionName]
    alphas: Sequence[float]
    graph_reranks: Sequence[Literal["off", "on"]]
    reranks: Sequence[str]
    title_weights: Sequence[float]
    chunk_sizes: Sequence[int]
    embedders: Sequence[str]


class _LinkKeywords(_EvalKeywords, total=False):
    """Further options of a link evaluation."""

    system: str
    allow_partial: bool
    topk: int
    min_confidence: float
    context_chars: int
    semantic: bool
    embedder: str
    exclude_linked: bool
    cache_dir: _File


class _AnswerKeywords(_EvalKeywords, _ModelKeywords, total=False):
    """Further options of an answer evaluation; `system` may also be an answerer object."""

    system: str | Answerer
    system_config: str
    system_name: str
    timeout_ms: int
    max_concurrency: int
    repeats: int
    answer_model: str
    answer_api_base: str
    answer_max_tokens: int
    mode: Mode
    fusion: FusionName
    embedder: str
    checklist: bool
    feature: str
    checklist_judge: _File
    context_notes: int
    context_chars: int


_Summary_co = TypeVar("_Summary_co", covariant=True)
_Item_co = TypeVar("_Item_co", covariant=True)


@dataclass(frozen=True)
class EvaluationResult(Generic[_Summary_co, _Item_co]):
    """A finished evaluation.

    Attributes:
        summary: the figures, as in summary.json.
        items: one for each evaluated item, in the dataset's order, as in per_item.jsonl.
        errors: rows and items that could not be evaluated, with the reason.
        run: options, versions, hashes, hardware.
        snapshot: input of `compare` and `gate`; `snapshot.model_dump_json()` can be kept as a baseline.
        out: the folder with all results and the report; None if `out` was not given.
        comparison: the comparison with the baseline; None if `compare` was not given.
        gate: the result of the release gates; without `compare`, of the floors and ceilings in `gates`; None if there
            are none.
    """

    summary: _Summary_co
    items: "Sequence[_Item_co]"
    errors: "Sequence[ErrorReport]"
    run: "RunReport"
    snapshot: "EvalSnapshot[Any, Any]"
    out: Path | None
    comparison: "Comparison | None"
    gate: "GateResult | None"
    _record: "Record[Any, Any]" = field(repr=False, compare=False)
    _release: "Release | None" = field(repr=False, compare=False)

    def __repr__(self) -> str:
        """Return a line with the figures; the fields have everything."""
        overall: dict[str, Any] = self._record.summary.model_dump(mode="json")["overall"]
        means: dict[str, float | None] = overall.get(self.run.task) or {}
        figures = (f"{name}={value:.3f}" for name, value in means.items() if value is not None)
        return f"<{type(self).__name__} {self.run.task}, {len(self.items)} items: {', '.join(figures)}>"

    def to_pandas(self) -> Any:  # noqa: ANN401  pandas need not be installed
        """Return a pandas.DataFrame with a row for each item; InputError if pandas is not installed."""
        return self._frame("pandas")

    def to_polars(self) -> Any:  # noqa: ANN401  likewise
        """Return a polars.DataFrame with a row for each item; InputError if polars is not installed."""
        return self._frame("polars")

    def _frame(self, library: str) -> Any:  # noqa: ANN401  likewise
        from gigamind.interop.tables import data_frame, flat_row

        return data_frame(
            library, [flat_row(i.model_dump(mode="json")) for i in self._record.items]
        )

    def _repr_html_(self) -> str:
        """Return the report for a notebook, without the list of items."""
        from gigamind.reports.html import render_cell
        from gigamind.reports.run import Outcome, run_document
        from gigamind.tasks import TASKS

        say = translator(str(self.run.options.get("lang")))
        bounds = None if self._release else self.gate
        outcome = Outcome(release=self._release, bounds=bounds, out=self.out)
        view = TASKS[self.run.task].view
        return render_cell(run_document(view, self._record, outcome, say, items=False), say)


_Run = EvaluationResult[Any, Any] | str | Path
"""A result, or the path of a run: an out folder, a snapshot.json, or a folder of baselines."""


def evaluate_search(
    dataset: _File,
    notes: _File | None = None,
    *,
    out: _File | None = None,
    progress: "Progress | None" = None,
    **options: Unpack[_SearchKeywords],
) -> "EvaluationResult[SummaryReport, ItemReport]":
    """Measure how well retrieval over a vault, or another search system, answers a dataset of queries.

    Rates are in [0, 1], times in milliseconds, offsets in UTF-16 code units, half-open.  Without `out`, only the cache
    of vectors is written.  Runs that query a model need `out`, which keeps the model's replies.

    Args:
        dataset: JSON lines, one query each.
        notes: the vault, a folder of Markdown notes; other systems need none.
        out: a new folder for the results; it appears complete or not at all.
        progress: receives the progress of the run; by default a bar in a notebook, and nothing elsewhere.

    Raises:
        InputError: an option, the dataset or the baseline cannot be used.
        NotesError: the vault cannot be read.
        EvaluationError: every query failed, another system failed for more than a fifth of the queries, or too many
            queries have no verdict.
        KeyboardInterrupt: Ctrl-C; `out` keeps what was measured until then.

    >>> result = evaluate_search("examples/queries.jsonl", "examples/vault", mode="keyword", sample="8")
    >>> round(result.summary.overall.search["mrr"], 3)
    0.556
    """
    from gigamind.tasks.options import SearchEvalOptions
    from gigamind.tasks.search.task import SearchTask

    given = {"dataset": dataset, "notes": notes, **options}
    return _evaluate(SearchEvalOptions, given, out, progress, SearchTask)


def tune_search(
    dataset: _File,
    notes: _File,
    *,
    progress: "Progress | None" = None,
    **options: Unpack[_TuneKeywords],
) -> "Tuning":
    """Compare search settings on a dataset and recommend one.  Only the cache of vectors is written.

    The options of `evaluate_search` are the current setting; options with plural names (`alphas`, `modes`) are the
    values to try.

    Args:
        dataset, notes, progress: see `evaluate_search`, as for the errors.

    >>> options = {"mode": "keyword", "modes": ["keyword"], "sample": "40"}
    >>> tuning = tune_search("examples/queries.jsonl", "examples/vault", **options)
    >>> tuning.is_switch, len(tuning.settings)
    (False, 2)
    """
    from gigamind.evaluation.options import validated
    from gigamind.tasks.options import GridOptions, SearchEvalOptions
    from gigamind.tasks.search.tune import tune_grid

    axes = {name: value for name, value in options.items() if name in GridOptions.model_fields}
    own = {name: value for name, value in options.items() if name not in axes}
    given = validated(SearchEvalOptions, {"dataset": dataset, "notes": notes, **own})
    with _shown(progress, given.language) as shown:
        return tune_grid(given, validated(GridOptions, axes), shown)


def evaluate_links(
    dataset: _File,
    notes: _File,
    *,
    out: _File | None = None,
    progress: "Progress | None" = None,
    **options: Unpack[_LinkKeywords],
) -> "EvaluationResult[LinkSummaryReport, LinkItemReport]":
    """Measure how many of the links that were removed from a copy of a vault are suggested again.

    An item is a note.  Rates and confidences are in [0, 1].  No LLM is involved.

    Args:
        dataset: JSON lines, one removed link each; `gigamind eval generate-links` creates them.
        notes: the copy of the vault.
        out, progress: see `evaluate_search`, as for the errors.

    >>> result = evaluate_links("links.jsonl", "vault-without-links", topk=5)
    >>> 0 <= result.summary.overall.links["recall_at_5"] <= 1
    True
    """
    from gigamind.tasks.options import LinkEvalOptions

    given = {"dataset": dataset, "notes": notes, **options}
    return _evaluate(LinkEvalOptions, given, out, progress)


def evaluate_answers(
    dataset: _File,
    notes: _File | None = None,
    *,
    out: _File,
    progress: "Progress | None" = None,
    **options: Unpack[_AnswerKeywords],
) -> "EvaluationResult[AnswerSummaryReport, AnswerItemReport]":
    """Judge answers claim by claim; a claim counts only with a quote that is in the notes.

    The judge queries `model`.  `out` keeps the replies: `resume=out` resumes a
    stopped run and pays for the rest only.

    Args:
        dataset: JSON lines, one answer each, with its question and notes; queries with `answer_model`; questions or
            queries with `system`.
        notes: the vault; None if the rows or the system supply the text of their notes.
        out, progress: see `evaluate_search`.

    Raises:
        LlmError: the model cannot be called at all.
        GigamindError: as `evaluate_search`.

    >>> result = evaluate_answers("answers.jsonl", out="run", model="openai/judge", api_base=server)
    >>> [item.evaluation.correctness for item in result.items]
    [1.0]
    """
    from gigamind.tasks.answers.task import AnswerTask
    from gigamind.tasks.options import AnswerEvalOptions

    given = {"dataset": dataset, "notes": notes, **options}
    return _evaluate(AnswerEvalOptions, given, out, progress, AnswerTask)


aevaluate_search = async_twin(evaluate_search)
aevaluate_answers = async_twin(evaluate_answers)
aevaluate_links = async_twin(evaluate_links)
atune_search = async_twin(tune_search)


@contextmanager
def _shown(progress: "Progress | None", language: str) -> "Generator[Progress]":
    """Yield the progress to report to: in a notebook, a bar unless there is another; a cancelled twin stops by it."""
    from gigamind.evaluation.progress import Quiet, Stoppable, progress_bar

    if progress is None and "IPython" in sys.modules:
        from rich.console import Console

        if (console := Console()).is_jupyter:
            with progress_bar(console, translator(language)) as bar:
                yield Stoppable(bar)
            return
    yield Stoppable(progress or Quiet())


_OUT_OPTIONS = ("format", "lang", "save_snapshot", "junit", "comment", "resume")


def _evaluate(
    model: "type[EvalOptions]",
    values: Mapping[str, Any],
    out: _File | None,
    progress: "Progress | None",
    task_with: "Callable[[Any], Task[Any, Any, Any]] | None" = None,
) -> EvaluationResult[Any, Any]:
    """Evaluate with these options; a `system` that is an object is named in them, and given to `task_with`."""
    from gigamind.evaluation.finish import bounds_of
    from gigamind.evaluation.options import validated
    from gigamind.evaluation.release import Reference
    from gigamind.evaluation.run import evaluate_and_keep, measure
    from gigamind.tasks import KINDS, TASKS

    system, task = values.get("system"), None
    if task_with and system is not None and not isinstance(system, str):
        kind = type(cast("object", system))
        values = {**values, "system": f"python:{kind.__module__}:{kind.__qualname__}"}
        task = task_with(system)
    options = validated(model, {**values, "out": out})
    task = task or TASKS[options.task]
    if out is not None:
        with _shown(progress, options.language) as shown:
            record, finished = evaluate_and_keep(task, options, KINDS, shown)
        return _result(record, finished.out, finished.verdict, finished.bounds)
    if misplaced := [name for name in _OUT_OPTIONS if name in values]:
        raise InputError(
            "{options}: valid only if you also set `out` (output folder)", options=misplaced
        )
    reference = Reference.from_options(options, KINDS)
    with _shown(progress, options.language) as shown:
        record = measure(task, options, shown)
    why = task.shortfall(record) if record.items and record.run.status == "complete" else None
    if why and not getattr(options, "allow_partial", False):
        raise EvaluationError(why)
    verdict = bounds = None
    if reference and record.run.status == "complete":
        verdict = reference.decide(task.compared.take_snapshot(record))
    elif record.items:
        bounds = bounds_of(record, options, lambda: task.compared.take_snapshot(record))
    return _result(record, None, verdict, bounds)


def _result(
    record: "Record[Any, Any]",
    out: Path | None,
    verdict: "Release | None",
    bounds: "GateResult | None",
) -> EvaluationResult[Any, Any]:
    from gigamind.evaluation.finish import first_failure
    from gigamind.metrics.spec import unit_of
    from gigamind.tasks import KINDS

    if record.run.status == "interrupted":
        raise KeyboardInterrupt
    if not record.items:
        unit, why = unit_of(record.run.task), first_failure(record)
        raise EvaluationError(
            "every {unit} failed. The first failure: {reason}", unit=unit, reason=why
        )
    return EvaluationResult(
        record.summary,
        record.items,
        record.errors,
        record.run,
        KINDS[record.run.task].take_snapshot(record),
        out,
        verdict.comparison if verdict else None,
        verdict.gate if verdict else bounds,
        record,
        verdict,
    )


@overload
def compare(baseline: _Run, current: _Run) -> "Comparison": ...
@overload
def compare(baseline: _Run, current: _Run, another: _Run, /, *others: _Run) -> "Experiment": ...
def compare(baseline: _Run, current: _Run, *others: _Run) -> "Comparison | Experiment":
    """Compare two runs of one task on the items that both evaluated, or several runs with the first of them.

    Differences are current - baseline, in the metric's unit.  Intervals are 95 % confidence intervals.  p values are
    from a paired test, adjusted over all metrics.  `mismatches` lists what else differs between the runs.

    More than two runs over one dataset give an `Experiment`.  It has the figures of each run on the items that all
    evaluated, the comparison of each with the first, also by slice, and the settings that differ.  Its intervals are
    simultaneous (Bonferroni), and its p values are adjusted over all metrics and runs.

    Raises:
        InputError: a run cannot be read, or the tasks differ; of more than two, the datasets or all items.

    >>> before = evaluate_search("examples/queries.jsonl", "examples/vault", mode="keyword", sample="8")
    >>> compare(before, before).metric("search.mrr").difference
    0.0
    >>> short = evaluate_search("examples/queries.jsonl", "examples/vault", mode="keyword", sample="8", topk=1)
    >>> [round(run.figures["search.mrr"], 3) for run in compare(before, before, short).runs]
    [0.556, 0.556, 0.5]
    """
    runs = [_snapshot(run) for run in (baseline, current, *others)]
    if not others:
        from gigamind.release.compare import compare as compare_snapshots

        return compare_snapshots(*runs).published()
    from gigamind.release.compare import compare_with_first

    return compare_with_first([_label(run) for run in (baseline, current, *others)], runs)


def _label(run: _Run) -> str:
    """Return the label of a run in an experiment: the name of its folder, or its id."""
    from gigamind.evaluation.release import label_of

    if isinstance(run, str | Path):
        return label_of(Path(run))
    return label_of(run.out) if run.out else run.run.run_id


def gate(
    baseline: _Run,
    current: _Run,
    *,
    changed: Sequence[Relaxable] = (),
    phase: Phase = "mvp",
    gates: _File | None = None,
    judge_card: _File | None = None,
) -> "GateResult":
    """Decide whether a release may go out: compare two runs and apply the rules of a phase.

    Takes the runs instead of their `Comparison`, as some rules are about the judge of the current run.

    Args:
        changed: what was changed intentionally and may differ from the baseline.
        gates: a file of thresholds; by default gigamind's own `gates.toml`.
        judge_card: the judge report that `gigamind judge certify` wrote for the current run's judge, or its folder.

    Raises:
        InputError: as `compare`; or the gates or the judge report cannot be used.

    >>> before = evaluate_search("examples/queries.jsonl", "examples/vault", mode="keyword", sample="8")
    >>> gate(before, before, phase="ga").failed
    ()
    """
    options = {"changed": tuple(changed), "phase": phase, "gates": gates, "judge_card": judge_card}
    return _released(baseline, current, options).gate


def _released(baseline: _Run, current: _Run, options: Mapping[str, object]) -> "Release":
    from gigamind.evaluation.options import ReleaseOptions, validated
    from gigamind.evaluation.release import Reference

    reference = Reference.of(_snapshot(baseline), validated(ReleaseOptions, options))
    return reference.decide(_snapshot(current))


_MOST_WORSE = 20


def assert_no_regression(
    run: _Run,
    baseline: _Run,
    phase: Phase = "beta",
    *,
    strict: bool = False,
    changed: Sequence[Relaxable] = (),
    gates: _File | None = None,
) -> "GateResult":
    """Fail a test if the gates of a phase stop a run; return their verdict if it passed, perhaps with warnings.

    Gates are about metrics over all items and their intervals, never about one item.  An inconclusive verdict skips a
    test of pytest, and is returned elsewhere.

    Args:
        run, baseline, phase, changed, gates: see `gate`.
        strict: fail if the verdict is inconclusive, too.

    Raises:
        AssertionError: the run failed, or cannot be compared; names the metrics and at most 20 items that got worse.
        InputError: as `gate`.

    >>> before = evaluate_search("examples/queries.jsonl", "examples/vault", mode="keyword", sample="8")
    >>> assert_no_regression(before, before).verdict
    'warned'
    """
    from gigamind.metrics.table import label
    from gigamind.publish.ends import in_form_words
    from gigamind.reports.comparison import difference_of
    from gigamind.reports.document import more_text
    from gigamind.reports.verdict import release_verdict

    release = _released(baseline, run, {"changed": tuple(changed), "phase": phase, "gates": gates})
    found, comparison = release.gate, release.comparison
    if found.verdict in {"passed", "warned"}:
        return found
    say = translator("en")
    written = (re.sub(r"`?--changed (\w+)`?", r'changed=["\1"]', say(one)) for one in found.reasons)
    reasons = map(in_form_words, written)  # the options here have no dashes
    lines = [say(release_verdict(release).sentence), *reasons]
    if found.verdict == "inconclusive" and not strict:
        if "pytest" not in sys.modules:
            return found
        import pytest

        pytest.skip("\n".join(lines))
    changes = filter(None, (comparison.metric(rule.metric) for rule in found.failed))
    lines += [f"{label(x.metric)}: {difference_of(x).text(say)}" for x in changes]
    worse = comparison.changed("worse")
    lines += [f"- {item.id}: {say(item.what)}" for item in worse[:_MOST_WORSE]]
    if len(worse) > _MOST_WORSE:
        lines.append(say(more_text(_MOST_WORSE, len(worse))))
    raise AssertionError("\n".join(lines))


def _snapshot(run: _Run) -> "EvalSnapshot[Any, Any]":
    from gigamind.release.model import read_baseline
    from gigamind.tasks import KINDS

    return read_baseline(Path(run), KINDS) if isinstance(run, str | Path) else run.snapshot


def suggest_links(
    notes: _File,
    note: str,
    *,
    max_suggestions: int = 10,
    min_confidence: float = 0.3,
    include_linked: bool = False,
    embedder: str | None = DEFAULT_EMBEDDER,
    context_chars: int = 400,
) -> "list[LinkSuggestion]":
    """Suggest links in a note, the most confident first: at most one per target, without overlaps.

    Confidences are in [0, 1]; spans are code points of the note's file, half-open.

    Args:
        notes: the vault.
        note: the note's path in the vault, or its name.
        include_linked: also suggest targets that the note links to elsewhere.
        embedder: finds phrases that mean a note without naming it; None suggests names only.
        context_chars: characters around an anchor that are compared with the target and returned as `context`.

    Raises:
        InputError: there is no such note or embedder.
        NotesError: the vault cannot be read.

    >>> [suggestion.target for suggestion in suggest_links("examples/vault", "전주-출시")]
    ['howto/배터리-교체.md']
    """
    from gigamind.linking.suggest import LinkSuggester, SuggestOptions
    from gigamind.retrieval.settings import default_cache_folder
    from gigamind.vault.identity import Identities
    from gigamind.vault.notes import Vault

    vault = Vault.read(Path(notes))
    identities = Identities(vault.notes)
    resolved = identities.resolve(note)
    if resolved is None:
        raise InputError(
            "{note}: no such note in {vault}. Give its path in that folder.",
            note=note,
            vault=vault.root,
        )
    options = SuggestOptions(max_suggestions, min_confidence, not include_linked, context_chars)
    suggester = LinkSuggester.load(vault, identities, embedder, default_cache_folder())
    suggestions = suggester.suggest(resolved.note, options)
    suggester.keep()
    return suggestions


def load_judge(
    judge: _File, *, language: PromptLanguage = "auto"
) -> "Judge[Any, Any] | UnanswerableJudge":
    """Return a judge of answers or of questions, by rules or by an LLM.

    Args:
        judge: a judge file (see judges/README.md), the name of one of gigamind's judges, such as "search_qa", the name
            of an installed judge (entry points `gigamind.judges`), or "module:Class".
        language: language of its prompts, if it queries a model; "auto" takes the item's language.

    Raises:
        InputError: the file, a prompt or the class cannot be used.

    >>> load_judge("unanswerable_threshold").kind
    'threshold'
    """
    from gigamind.judges.load import load_any_judge

    return load_any_judge(judge, language)
