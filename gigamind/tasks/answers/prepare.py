"""What an answer run needs before models are asked: its answers, or questions with the notes to answer them from.

Notes for a question are the first that search finds, 12 000 characters in all (seed 004).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gigamind.assets import asset
from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.check_answers import CheckedAnswer, CheckedAnswers, GivenNote, check_answers
from gigamind.datasets.jsonl import dataset_kind, read_answers, read_queries, read_questions
from gigamind.datasets.row_errors import RowError
from gigamind.datasets.schema import AnswerLabels
from gigamind.errors import InputError
from gigamind.evaluation.context import context_of
from gigamind.evaluation.inputs import Inputs
from gigamind.evaluation.progress import Progress
from gigamind.judges.load import kind_named, load_answer_judge
from gigamind.judges.protocol import AnswerCase, Judge, chosen
from gigamind.judges.search_qa.judge import SearchQA
from gigamind.judges.spec import Chosen
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.retriever import Retriever
from gigamind.systems.dialect import Answers
from gigamind.systems.open import describe_system
from gigamind.systems.settings import BUILTIN
from gigamind.tasks.answers.case import EvalCase, language_of
from gigamind.tasks.answers.checklist import choose_gate
from gigamind.tasks.answers.contexts import ContextReader
from gigamind.tasks.answers.labels import unbacked_facts, unmatched_labels
from gigamind.tasks.answers.options import OF_SYSTEMS, AnswerEvalOptions
from gigamind.tasks.answers.prepared import PreparedAnswers
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault


def choose_answer_judge(options: AnswerEvalOptions) -> Chosen[Judge[AnswerCase, Any]]:
    """The judge of the options.

    Raises:
        InputError: its file cannot be used, or no model is named.
    """
    if options.judge is None and options.model is None:
        raise InputError(
            "--model: must be given, such as --model openai/gpt-4o-mini (a model of a server of your own counts, with"
            " --api-base), or --judge words, which asks no model"
        )
    path = options.judge or asset("judges") / "search_qa.toml"
    judge = load_answer_judge(path, options.judge_lang)
    return chosen(judge, Path(kind_named(str(path))[0]), options)


@dataclass(frozen=True, slots=True)
class SearchedCases:
    """Queries with what search found for them.

    Attributes:
        embedding_model: None in keyword mode.
    """

    cases: tuple[EvalCase, ...]
    not_sampled: int
    errors: tuple[RowError, ...]
    warnings: tuple[str, ...]
    vault: Vault
    dataset_hash: str
    embedding_model: str | None


def cases_from_search(options: AnswerEvalOptions, progress: Progress) -> SearchedCases:
    """Search for every query of the dataset.

    Raises:
        InputError: the dataset is missing or unreadable, or no vault is named.
        DatasetError: too few rows can be used, or one is bad under `--strict`.
        NotesError, IndexingError, EmbeddingError: the vault cannot be read or searched.
    """
    if options.notes is None:
        raise InputError("--answer-model: needs --notes, the vault to search")
    dataset = read_queries(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_queries(dataset, vault, identities)
    inputs = Inputs(options)
    inputs.refuse_unusable(checked)
    chosen = inputs.drawn(checked.queries)
    retriever = open_retriever(
        vault,
        identities,
        options.retrieval,
        lambda done, total: progress.stage("Indexing", done, total),
    )
    try:
        cases = tuple(_cases(chosen, vault, retriever, options, progress))
        model = retriever.semantic.embedder.name if retriever.semantic else None
    finally:
        retriever.close()
    return SearchedCases(
        cases=cases,
        not_sampled=len(checked.queries) - len(chosen),
        errors=checked.errors,
        warnings=(*vault.warnings, *checked.warnings),
        vault=vault,
        dataset_hash=dataset.sha256,
        embedding_model=model,
    )


def _cases(
    queries: tuple[CheckedQuery, ...],
    vault: Vault,
    retriever: Retriever,
    options: AnswerEvalOptions,
    progress: Progress,
) -> Iterator[EvalCase]:
    for done, query in enumerate(queries, start=1):
        passages = [
            (note, hit.passage.span)
            for hit in retriever.search(query.item.query)
            if (note := vault.note(hit.note)) is not None
        ]
        context = context_of(passages, options.context_notes, options.context_chars)
        notes = tuple(
            GivenNote(context_note.path, context_note.source.title, context_note.source.text)
            for context_note in context
        )
        yield EvalCase(
            id=query.item.id,
            question=query.item.query,
            answer=None,
            language=language_of(query.item.language, query.item.query),
            tags=query.item.tags,
            notes=notes,
            relevant=frozenset(
                number
                for number, given_note in enumerate(notes, start=1)
                if given_note.path in query.relevant
            ),
            unanswerable=not query.item.answerable,
        )
        progress.stage("Searching", done, len(queries))


def prepare_answers(options: AnswerEvalOptions, progress: Progress) -> PreparedAnswers:
    """Read and check everything that a run needs; with `--answer-model`, search for the context.

    Raises:
        InputError: the dataset or the judge file cannot be used, or no model is named.
        DatasetError: too few rows can be used, or one is bad under `--strict`.
        NotesError, IndexingError, EmbeddingError: the vault cannot be read or searched.
    """
    judge, gate = choose_answer_judge(options), choose_gate(options)
    refuse_idle(options)
    if options.system is not None:
        prepared = _from_questions(options, judge)
    elif options.answer_model:
        prepared = _from_queries(options, judge, progress)
    else:
        prepared = _from_answers(options, judge)
    idle = () if gate or judge.report.asks_a_model else _idle_model(options)
    return replace(prepared, gate=gate, warnings=(*idle, *prepared.warnings))


def _idle_model(options: AnswerEvalOptions) -> tuple[str, ...]:
    """A word on a model that nobody asks."""
    if not options.typed(["model"]):
        return ()
    return (
        f"--model {options.model}: is not asked, for --judge {options.judge} asks no model; leave one of them out",
    )


def _from_answers(
    options: AnswerEvalOptions, judge: Chosen[Judge[AnswerCase, Any]]
) -> PreparedAnswers:
    inputs = Inputs(options)
    dataset = read_answers(options.dataset)
    vault = read_vault(options.notes) if options.notes else None
    checked = check_answers(dataset, vault, Identities(vault.notes if vault else ()))
    inputs.refuse_unusable(checked)
    chosen = inputs.drawn(checked.answers)
    parts = isinstance(judge.judge, SearchQA) and judge.judge.cuts
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={row.item.id: _case(row) for row in chosen},
        not_sampled=len(checked.answers) - len(chosen),
        errors=inputs.row_reports(checked.errors),
        warnings=(
            *(vault.warnings if vault else ()),
            *checked.warnings,
            *_odd(checked, chosen, parts=parts),
        ),
        notes=len(vault.notes) if vault else 0,
        dataset_hash=dataset.sha256,
        notes_hash=inputs.notes_hash(),
    )


def refuse_idle(options: AnswerEvalOptions) -> None:
    """See to it that each option has a part in the run.

    Raises:
        InputError: one has none.
    """
    if options.system is None:
        if idle := options.flags(OF_SYSTEMS):
            raise InputError(f"{idle}: only with --system; leave it out")
    elif options.system == BUILTIN:
        raise InputError(
            "--system builtin: gigamind answers by --answer-model; name another system, or leave it out"
        )
    elif options.answer_model:
        raise InputError("--answer-model: --system names what answers; leave one of them out")


def _from_questions(
    options: AnswerEvalOptions, judge: Chosen[Judge[AnswerCase, Any]]
) -> PreparedAnswers:
    """Questions that a system is to answer: of queries, or of answers that are not read."""
    inputs = Inputs(options)
    system = describe_system(
        options.system or BUILTIN, options.system_config, Answers(), options.system_name
    )
    vault = read_vault(options.notes) if options.notes else None
    identities = Identities(vault.notes if vault else ())
    if dataset_kind(options.dataset) == "queries":
        dataset = read_queries(options.dataset)
        checked = check_queries(dataset, vault, identities)
        inputs.refuse_unusable(checked)
        asked = [_of_query(query, options) for query in checked.queries]
    else:
        dataset = read_questions(options.dataset)
        checked = check_answers(dataset, vault, identities, answered=False)
        inputs.refuse_unusable(checked)
        asked = [_of_question(row) for row in checked.answers]
    chosen = inputs.drawn(asked)
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={case.id: case for case in chosen},
        not_sampled=len(asked) - len(chosen),
        errors=inputs.row_reports(checked.errors),
        warnings=(*(vault.warnings if vault else ()), *checked.warnings),
        notes=len(vault.notes) if vault else 0,
        dataset_hash=dataset.sha256,
        notes_hash=inputs.notes_hash(),
        system=system,
        contexts=ContextReader(identities, has_vault=vault is not None),
    )


def _of_query(query: CheckedQuery, options: AnswerEvalOptions) -> EvalCase:
    item = query.item
    return EvalCase(
        id=item.id,
        question=item.query,
        answer=None,
        language=language_of(item.language, item.query),
        tags=item.tags,
        notes=(),
        expected=frozenset(query.relevant) if options.notes else None,
        unanswerable=not item.answerable,
    )


def _of_question(row: CheckedAnswer) -> EvalCase:
    """Of its labels only the facts are of the question; all others are of another answer."""
    facts = row.item.labels.facts if row.item.labels else ()
    return replace(
        _case(row),
        answer=None,
        notes=(),
        labels=AnswerLabels(facts=facts) if facts else None,
        references=tuple(note.text for note in row.notes),
    )


def _from_queries(
    options: AnswerEvalOptions, judge: Chosen[Judge[AnswerCase, Any]], progress: Progress
) -> PreparedAnswers:
    inputs = Inputs(options)
    searched = cases_from_search(options, progress)
    return PreparedAnswers(
        options=options,
        judge=judge,
        cases={case.id: case for case in searched.cases},
        not_sampled=searched.not_sampled,
        errors=inputs.row_reports(searched.errors),
        warnings=searched.warnings,
        notes=len(searched.vault.notes),
        dataset_hash=searched.dataset_hash,
        notes_hash=inputs.notes_hash(),
        embedding_model=searched.embedding_model,
    )


def _case(row: CheckedAnswer) -> EvalCase:
    item = row.item
    return EvalCase(
        id=item.id,
        question=item.question,
        answer=item.answer,
        language=language_of(item.language, item.question),
        tags=item.tags,
        notes=row.notes,
        labels=item.labels,
    )


def _odd(checked: CheckedAnswers, chosen: Sequence[CheckedAnswer], *, parts: bool) -> Iterable[str]:
    """A warning for each labelled claim that is none to the judge, and each fact of no note: both would be lost."""
    for row in chosen:
        for text in unmatched_labels(row.answer, row.item.labels, parts=parts):
            yield (
                f'{checked.dataset.path}:{row.line}: field "labels.claims": no claim of the answer reads'
                f' "{text}"; the label is not used'
            )
        for text in unbacked_facts(row.item.labels, [note.text for note in row.notes]):
            yield (
                f'{checked.dataset.path}:{row.line}: field "labels.facts": no context note says "{text}"; the fact is'
                " not counted. Write it in the words of a note"
            )
