"""The first step of an evaluation: read dataset and vault, and hold one against the other."""

from dataclasses import dataclass, field

from gigamind.datasets.check import CheckedDataset, CheckedQuery, check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError
from gigamind.evals.chosen_judge import ChosenJudge, choose_judge
from gigamind.evals.moved import find_again
from gigamind.evals.options import SearchEvalOptions
from gigamind.judges.threshold import ThresholdJudge
from gigamind.judges.unanswerable import UnanswerableJudge
from gigamind.reports.schema import ErrorReport
from gigamind.retrieval.rerank import BOOST
from gigamind.spans import Utf16
from gigamind.vault.fingerprint import notes_hash
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault

_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Prepared:
    """Valid input of one run.

    Attributes:
        queries: those to run, in the dataset's order.
        not_sampled: usable queries that `--sample` left out.
        errors: rows that cannot be used.
        warnings: of the vault and of the dataset.
    """

    options: SearchEvalOptions
    vault: Vault
    identities: Identities
    judge: ChosenJudge
    queries: tuple[CheckedQuery, ...]
    not_sampled: int
    errors: tuple[ErrorReport, ...]
    warnings: tuple[str, ...]
    dataset_hash: str
    notes_hash: str
    converters: dict[str, Utf16] = field(default_factory=dict[str, Utf16], compare=False)

    def units(self, path: str) -> Utf16:
        """Converter of offsets in the note at `path`, made once a note.

        Raises:
            KeyError: the vault has no such note.
        """
        if path not in self.converters:
            note = self.vault.note(path)
            if note is None:
                raise KeyError(path)
            self.converters[path] = Utf16(note.text)
        return self.converters[path]


def prepare(options: SearchEvalOptions) -> Prepared:
    """Read and check everything that a run needs.

    Raises:
        InputError: the dataset or the judge is missing or unreadable.
        DatasetError: no row can be used, or one is bad under `--strict`.
        NotesError: the vault is missing, unreadable or empty.
    """
    judge = choose_judge(options)
    dataset = read_queries(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_queries(dataset, vault, identities, find_again)
    errors = tuple(
        ErrorReport(
            kind="row",
            line=e.line,
            id=e.item_id or None,
            field=e.field or None,
            error=DatasetError.__name__,
            message=e.describe(dataset.path),
        )
        for e in checked.errors
    )
    _refuse(options, checked, errors)
    size = sample_size(options.sample) if options.sample else len(checked.queries)
    chosen = sample(checked.queries, size, options.seed)
    return Prepared(
        options=options,
        vault=vault,
        identities=identities,
        judge=judge,
        queries=chosen,
        not_sampled=len(checked.queries) - len(chosen),
        errors=errors,
        warnings=(*_blunt_threshold(options, judge.judge), *vault.warnings, *checked.warnings),
        dataset_hash=dataset.sha256,
        notes_hash=notes_hash(options.notes, options.notes_hash_mode, options.notes_hash_exclude),
    )


def _blunt_threshold(options: SearchEvalOptions, judge: UnanswerableJudge) -> tuple[str, ...]:
    """A word on a threshold that can never tell an unanswerable query.

    The chunk with the query's best BM25 has a keyword score of 1 by definition, so once a word matches, the best note
    has at least the keyword leg's share; a note that the link graph puts before it has that share without the boost.
    """
    if not isinstance(judge, ThresholdJudge):
        return ()
    share = 1 - options.retrieval.semantic_share
    floor = share / (1 + BOOST) if options.graph_rerank else share
    if not 0 < judge.min_score <= floor:
        return ()
    least = f"{floor:.3g} or more" if floor < 1 else "1"
    higher = "" if options.mode == "keyword" else f" a --min-score above {floor:.3g},"
    return (
        (
            f"--min-score {judge.min_score:g} finds no query unanswerable that shares a word with the vault: in"
            f" {options.mode} mode the Top-1 then scores {least}. Use --unanswerable-mode calibrated,{higher} or --mode"
            " semantic."
        ),
    )


def _refuse(
    options: SearchEvalOptions,
    checked: CheckedDataset,
    errors: tuple[ErrorReport, ...],
) -> None:
    """Stop where going on would be of no use, or where `--strict` asks for it."""
    listed = _listed([error.message for error in errors])
    # Unanswerable rows name no note, so they fit every vault and prove nothing.
    asked = any(item.answerable for item in checked.dataset.items)
    if asked and not any(query.item.answerable for query in checked.queries):
        raise DatasetError(
            f"{options.dataset}: no answerable row can be evaluated over {options.notes}."
            f" Is it the dataset of another vault?\n{listed}"
        )
    if not checked.queries:
        raise DatasetError(f"{options.dataset}: no row can be evaluated\n{listed}")
    if not options.strict:
        return
    if errors:
        raise DatasetError(
            f"{options.dataset}: {_count(len(errors), 'problem')}, and --strict is set\n{listed}"
        )
    if checked.collisions:  # met by the dataset; two README.md that it never names do no harm
        raise DatasetError(
            f"{options.dataset}: names that mean more than one note: {len(checked.collisions)}, and --strict is set."
            " Write the note's path, or rename all but one of each.\n"
            + _listed(list(map(str, checked.collisions)))
        )


def _count(number: int, one: str) -> str:
    return f"{number} {one}" if number == 1 else f"{number} {one}s"


def _listed(lines: list[str]) -> str:
    more = len(lines) - _ERRORS_SHOWN
    return "\n".join([*lines[:_ERRORS_SHOWN], *([f"... and {more} more"] if more > 0 else [])])
