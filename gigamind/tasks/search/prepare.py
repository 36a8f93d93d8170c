"""Prepares a search run: its judge, vault and queries. Moved passages are located again (evidence/again.py)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.errors import InputError
from gigamind.evaluation.inputs import PreparedInput, draw
from gigamind.evidence.again import find_again
from gigamind.i18n import Text, _
from gigamind.judges.spec import Chosen, learned_from, short_name
from gigamind.judges.unanswerable import (
    CalibratedJudge,
    RuleJudge,
    ThresholdJudge,
    UnanswerableJudge,
    judge_path,
    load_question_judge,
)
from gigamind.loading import require
from gigamind.metrics.spans import OutOfReach
from gigamind.records.judged import JudgeReport
from gigamind.retrieval.fuse import BOOST
from gigamind.retrieval.settings import DEFAULT_ALPHA, DEFAULT_TITLE_WEIGHT
from gigamind.spans import Utf16
from gigamind.systems.dialect import rankings
from gigamind.systems.open import describe_system
from gigamind.systems.settings import shown_system
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.schema import SearchJudge
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

_NO_THRESHOLD = _(
    "gigamind does not judge which queries are unanswerable, because the scores of another --system have their own"
    " scale. Set --min-score on that scale, or let a model read the retrieved notes with --unanswerable-mode llm."
)


def choose_judge(options: SearchEvalOptions, embedder: str | None = None) -> SearchJudge | None:
    """Return the judge of the options; None for another system without a threshold for its scores.

    The name of the `embedder` is None in keyword mode, or while it is unknown. Raises InputError if the judge file
    cannot be used, or an option contradicts it.
    """
    mode = options.unanswerable_mode
    path = options.judge or judge_path(mode)
    judge = load_question_judge(path, options.judge_lang, embedder)
    if options.judge and mode not in {"threshold", judge.kind}:
        raise InputError(
            "--judge {file}: its kind is {kind}, but --unanswerable-mode is {mode}. Remove one of them.",
            file=path,
            kind=judge.kind,
            mode=mode,
        )
    if options.resume and isinstance(judge, RuleJudge):
        raise InputError(
            "--resume: the judge {file} calls no model, so its runs cannot be resumed. Remove --resume.",
            file=path,
        )
    if not options.is_builtin and not _can_judge(judge, options):
        return None
    if judge.kind == "answer_score" and options.mode != "hybrid":
        raise InputError(
            "--unanswerable-mode answer_score: requires hybrid search, but --mode is {mode}. Use --mode hybrid, or"
            " another --unanswerable-mode.",
            mode=options.mode,
        )
    if isinstance(judge, ThresholdJudge):
        if options.min_score is not None:
            judge = judge.model_copy(update={"min_score": options.min_score})
        if options.is_builtin and not 0 <= judge.min_score <= 1:
            named = "--min-score" if options.min_score is not None else f"--judge {path}: min_score"
            raise InputError(
                "{option} {value:g}: must be from 0 to 1, the score range of gigamind's own search",
                option=named,
                value=judge.min_score,
            )
        return Chosen(judge, _report(judge, path, judge.min_score))
    if options.min_score is not None:
        raise InputError(
            _("--min-score: only for judges of the kind threshold or answer_score. Remove it.")
        )
    if isinstance(judge, CalibratedJudge):
        return Chosen(judge, _report(judge, path, judge.file.min_probability), judge.warnings)
    from gigamind.judges.protocol import chosen

    _check_model(options)
    return Chosen(judge, chosen(judge, path, options).report)


def _report(judge: RuleJudge, path: Path, setting: float) -> JudgeReport:
    return JudgeReport(
        kind=judge.kind,
        file=short_name(path),
        fingerprint=judge.fingerprint,
        setting=setting,
        learned_from=learned_from(judge),
    )


def _check_model(options: SearchEvalOptions) -> None:
    require("litellm")
    if options.model is None:
        problem = _(
            "--model: required, for example --model openai/gpt-4o-mini; or set model below [search] in"
            " gigamind.toml, or GIGAMIND_EVAL_SEARCH_MODEL"
        )
        raise InputError(problem)


def _can_judge(judge: UnanswerableJudge, options: SearchEvalOptions) -> bool:
    """Return whether a judge can judge another system: a threshold that was set for it; InputError if it never can."""
    if judge.kind in {"calibrated", "answer_score"}:
        raise InputError(
            "--unanswerable-mode {kind}: requires gigamind's own search, but --system names another system. Use"
            " --min-score, or --unanswerable-mode llm with --notes.",
            kind=judge.kind,
        )
    calls_model = not isinstance(judge, RuleJudge)
    if calls_model and options.notes is None:
        raise InputError(
            _("--unanswerable-mode llm: requires --notes, because the model reads them")
        )
    return calls_model or not (options.judge is options.min_score is None)


@dataclass(frozen=True, slots=True)
class Prepared(PreparedInput):
    """Valid input of one run."""

    options: SearchEvalOptions
    vault: Vault  # empty without `--notes`
    identities: Identities
    judge: SearchJudge | None  # None if nothing is judged
    queries: tuple[CheckedQuery, ...]  # the queries to run, in dataset order
    # Labelled spans that no evidence can match; None without any, and until the vault is indexed.
    out_of_reach: OutOfReach | None = None
    converters: dict[str, Utf16] = field(default_factory=dict[str, Utf16], compare=False)

    @property
    def is_timed(self) -> bool:
        """Whether searches take time in this run; a run file has the rankings of an earlier search."""
        return self.system is None or self.system.kind != "run"

    def units(self, path: str) -> Utf16:
        """Return the cached offset converter of the note at `path`, or raise KeyError."""
        if path not in self.converters:
            if (note := self.vault.note(path)) is None:
                raise KeyError(path)
            self.converters[path] = Utf16(note.text)
        return self.converters[path]

    def blunt_threshold(self) -> tuple[Text, ...]:
        """Return a warning if the threshold of gigamind's own search is too low to detect any unanswerable query.

        The best BM25 chunk has a keyword score of 1, so if any word matches, the best note scores at least the keyword
        weight. A note that the link graph moves above it lacks only the boost.
        """
        options, judge = self.options, self.judge.judge if self.judge else None
        if (
            not options.is_builtin
            or not isinstance(judge, ThresholdJudge)
            or judge.kind != "threshold"
            or options.retrieval.balanced
            or all(query.item.answerable for query in self.queries)
        ):
            return ()
        floor = (1 - options.retrieval.semantic_share) / (1 + BOOST * options.graph_rerank)
        if not 0 < judge.min_score <= floor:
            return ()
        caution = _(
            "With --min-score {score:g}, gigamind detects no unanswerable query that shares a word with the vault. In"
            " {mode} mode, the top score of a query is then at least {floor:.3g}. The report of the run shows whether"
            " another --unanswerable-mode does better on your queries.",
            score=judge.min_score,
            floor=floor,
            mode=options.mode,
        )
        return (caution,)


def prepare(options: SearchEvalOptions) -> Prepared:
    """Read and check all input of a run.

    Raises:
        InputError: The dataset or the judge is missing or unreadable.
        DatasetError: Too few rows are usable, or a row is invalid under `--strict`.
        NotesError: The vault is missing, unreadable or empty.
    """
    option_warnings = idle_options(options)
    judge = choose_judge(options)
    system = describe_system(
        options.system, options.system_config, rankings(options.topk), options.system_name
    )
    dataset = read_queries(options.dataset)
    vault = Vault.read(options.notes, options.exclude) if options.notes else Vault(Path(), (), ())
    identities = Identities(vault.notes)
    checked = check_queries(dataset, vault if options.notes else None, identities, find_again)
    chosen, fields = draw(options, checked, vault, checked.usable)
    is_judged = judge or all(query.item.answerable for query in chosen)
    threshold_warnings = () if is_judged else (_NO_THRESHOLD,)
    prepared = Prepared(
        **fields, vault=vault, identities=identities, judge=judge, system=system, queries=chosen
    )
    return replace(prepared, warnings=(*option_warnings, *threshold_warnings, *prepared.warnings))


def idle_options(options: SearchEvalOptions) -> tuple[Text, ...]:
    """Return a warning for each option without effect in this run; InputError if one does not apply."""
    choose_judge(options)
    if options.is_builtin:
        if options.notes is None:
            raise InputError(_("--notes: required, unless --system names another system"))
        return tuple(_idle_fusion(options))
    if idle := options.flags(options.of_engine):
        raise InputError(
            "{option}: only for gigamind's own search, but --system is {system}. Remove it.",
            option=idle,
            system=shown_system(options.system),
        )
    return ()


def _idle_fusion(options: SearchEvalOptions) -> Iterator[Text]:
    """Yield warnings for fusion options without effect in this run."""
    mode, alpha, weight = options.mode, options.alpha, options.title_weight
    if options.fusion == "balanced" and mode != "hybrid":
        yield _("--fusion balanced: no effect in {mode} mode; only hybrid mode uses it.", mode=mode)
    if options.retrieval.balanced and alpha != DEFAULT_ALPHA:
        yield _("--alpha {alpha:g}: no effect with balanced fusion. Remove it.", alpha=alpha)
    if not options.retrieval.balanced and weight != DEFAULT_TITLE_WEIGHT:
        yield _(
            "--title-weight {weight:g}: only balanced fusion uses it. Remove it.", weight=weight
        )
