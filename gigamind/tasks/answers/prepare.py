"""Prepares an answer run: its answers, or questions with the top search results, 12 000 characters (spec 004)."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gigamind.assets import asset
from gigamind.datasets.check import CheckedAnswer, GivenNote, check_answers, check_queries
from gigamind.datasets.jsonl import dataset_kind, read_answers, read_queries, read_questions
from gigamind.datasets.schema import AnswerLabels, QueryItem
from gigamind.errors import InputError
from gigamind.evaluation.inputs import context_of_hits, draw
from gigamind.evaluation.progress import Progress
from gigamind.i18n import Text, _, n_
from gigamind.judges.load import OF_ANSWERS, judge_place, load_judge
from gigamind.judges.protocol import chosen
from gigamind.judges.quality_gate import QualityGate
from gigamind.judges.search_qa.segments import claims_of, comparable, pieces_of
from gigamind.retrieval.prepare import open_retriever
from gigamind.systems.dialect import ANSWERS
from gigamind.systems.open import describe_system
from gigamind.systems.settings import BUILTIN
from gigamind.tasks.answers.prepared import (
    AnswerJudge,
    ContextReader,
    EvalCase,
    Gate,
    PreparedAnswers,
    backing,
)
from gigamind.tasks.options import AnswerEvalOptions
from gigamind.vault.identity import Identities
from gigamind.vault.language import question_language
from gigamind.vault.notes import Vault


def _choose_answer_judge(options: AnswerEvalOptions) -> AnswerJudge:
    """Return the judge of the options; InputError if its file cannot be used, or no model is given."""
    if options.judge is None and options.model is None:
        problem = _(
            "--model: required, for example --model openai/gpt-4o-mini (or a model of your own server with"
            " --api-base). To judge without a model, use --judge words."
        )
        raise InputError(problem)
    path = options.judge or asset("judges") / "search_qa.toml"
    judge = load_judge(path, options.judge_lang, OF_ANSWERS)
    return chosen(judge, judge_place(str(path)), options)


def _choose_gate(options: AnswerEvalOptions) -> Gate | None:
    """Return the quality gate of the options, or raise InputError; None without `--checklist`."""
    if not options.checklist:
        if idle := options.flags(["checklist_judge"]) or options.flags(["feature"]):
            raise InputError(
                "{option}: requires --checklist. Add --checklist or remove it.", option=idle
            )
        return None
    path = options.checklist_judge or asset("judges") / "quality_gate.toml"
    return chosen(QualityGate.load(path, options.feature, options.judge_lang), path, options)


_Read = tuple[Sequence[EvalCase], dict[str, Any]]
"""The cases of a run, and the fields of `PreparedAnswers` that depend on their origin."""


def prepare_answers(options: AnswerEvalOptions, progress: Progress) -> PreparedAnswers:
    """Read and check all input of a run; with `--answer-model`, search the notes for the context of every query.

    Raises:
        InputError: The dataset is missing or unreadable, or an option does not apply.
        DatasetError: Too few rows are usable, or a row is invalid under `--strict`.
        NotesError, IndexingError, EmbeddingError: The vault cannot be read or searched.
    """
    judge, gate = _choose_answer_judge(options), _choose_gate(options)
    _refuse_idle(options)
    vault = Vault.read(options.notes, options.exclude) if options.notes else None
    identities = Identities(vault.notes if vault else ())
    if options.system is not None:
        cases, fields = _from_questions(options, options.system, vault, identities)
    elif options.answer_model:
        cases, fields = _from_queries(options, vault, identities, progress)
    else:
        cases, fields = _from_answers(options, vault, identities)
    if not gate and not judge.report.asks_a_model and options.typed(["model"]):
        idle = _(
            "--model {model}: not used, because --judge {judge} calls no model. Remove one of them.",
            model=options.model,
            judge=options.judge,
        )
        fields["warnings"] = (idle, *fields["warnings"])
    return PreparedAnswers(
        **fields,
        judge=judge,
        gate=gate,
        cases=_repeated({case.id: case for case in cases}, options.repeats),
        notes=len(vault.notes) if vault else 0,
    )


def _repeated(cases: Mapping[str, EvalCase], repeats: int) -> dict[str, EvalCase]:
    """Return as many cases of each question; a further one has its number in its id, as "q1@2"."""
    every = [
        replace(case, id=f"{name}@{repeat}", repeat=repeat) if repeat > 1 else case
        for name, case in cases.items()
        for repeat in range(1, repeats + 1)
    ]
    if taken := [case.id for case in every if case.repeat > 1 and case.id in cases]:
        raise InputError(
            "--repeats {repeats}: a further answer would have the id {id} of another question of the dataset."
            " Change that id.",
            repeats=repeats,
            id=taken[0],
        )
    return {case.id: case for case in every}


def _refuse_idle(options: AnswerEvalOptions) -> None:
    """Check that each option has an effect in the run; raises InputError otherwise."""
    recorded = options.system is None or options.system.startswith("run:")
    if options.repeats > 1 and recorded and not options.answer_model:
        raise InputError(
            "--repeats {repeats}: requires a system that can answer a question again, not recorded answers. Use"
            " --answer-model, or a --system that is an address, a command or a function.",
            repeats=options.repeats,
        )
    if options.system is None:
        if idle := options.flags(options.of_systems):
            raise InputError(
                "{option}: requires --system. Add --system or remove this option.", option=idle
            )
    elif options.system == BUILTIN:
        problem = _(
            "--system builtin: not available for answers. To let gigamind answer, use --answer-model. To"
            " evaluate another system, name it with --system."
        )
        raise InputError(problem)
    elif options.answer_model:
        raise InputError(_("--answer-model: cannot be combined with --system. Remove one of them."))


def _from_answers(options: AnswerEvalOptions, vault: Vault | None, identities: Identities) -> _Read:
    checked = check_answers(read_answers(options.dataset), vault, identities)
    chosen, fields = draw(options, checked, vault, checked.usable)
    fields["warnings"] += tuple(_label_warnings(options.dataset, chosen))
    return [_case(row) for row in chosen], fields


def _from_questions(
    options: AnswerEvalOptions, system: str, vault: Vault | None, identities: Identities
) -> _Read:
    """Return questions for a system: the queries of a dataset, or the questions of an answers dataset."""
    described = describe_system(system, options.system_config, ANSWERS, options.system_name)
    if dataset_kind(options.dataset) == "queries":
        checked = check_queries(read_queries(options.dataset), vault, identities)
        rows = ((row.item, row.relevant if vault else None) for row in checked.usable)
        cases = [_of_query(item, relevant) for item, relevant in rows]
    else:
        questions = read_questions(options.dataset)
        checked = check_answers(questions, vault, identities, answered=False)
        cases = [_of_question(row) for row in checked.usable]
    chosen, fields = draw(options, checked, vault, cases)
    reader = ContextReader(identities, has_vault=vault is not None)
    return chosen, {**fields, "system": described, "contexts": reader}


def _from_queries(
    options: AnswerEvalOptions, vault: Vault | None, identities: Identities, progress: Progress
) -> _Read:
    """Return queries with the notes that a search finds for each."""
    if vault is None:
        raise InputError(_("--answer-model: requires --notes, the vault to search"))
    checked = check_queries(read_queries(options.dataset), vault, identities)
    chosen, fields = draw(options, checked, vault, checked.usable)
    with open_retriever(
        vault, identities, options.retrieval, partial(progress.stage, "Indexing")
    ) as retriever:
        cases: list[EvalCase] = []
        for query in chosen:
            context = context_of_hits(vault, retriever.search(query.item.query), options)
            notes = tuple(GivenNote(x.path, x.source.title, x.source.text) for x in context)
            cases.append(_of_query(query.item, query.relevant).given(notes))
            progress.stage("Searching", len(cases), len(chosen))
        model = retriever.semantic.embedder.name if retriever.semantic else None
    return cases, {**fields, "embedding_model": model}


def _of_query(item: QueryItem, relevant: Iterable[str] | None = None) -> EvalCase:
    return EvalCase(
        id=item.id,
        question=item.query,
        answer=None,
        language=item.language or question_language(item.query),
        tags=item.tags,
        notes=(),
        expected=None if relevant is None else frozenset(relevant),
        unanswerable=not item.answerable,
    )


def _of_question(row: CheckedAnswer) -> EvalCase:
    """Return the question of a row. Only its fact labels apply; the other labels belong to the row's answer."""
    facts = row.item.labels.facts if row.item.labels else ()
    return replace(
        _case(row),
        answer=None,
        notes=(),
        labels=AnswerLabels(facts=facts) if facts else None,
        references=tuple(note.text for note in row.notes),
    )


def _case(row: CheckedAnswer) -> EvalCase:
    item = row.item
    return EvalCase(
        id=item.id,
        question=item.question,
        answer=item.answer,
        language=item.language or question_language(item.question),
        tags=item.tags,
        notes=row.notes,
        labels=item.labels,
    )


def _label_warnings(file: Path, chosen: Sequence[CheckedAnswer]) -> Iterator[Text]:
    """Yield a warning for each labelled claim that the answer lacks, and one for all facts that the notes lack."""
    for row in chosen:
        for text in _unmatched_labels(row.item.answer or "", row.item.labels):
            yield _(
                '{file}:{line}: field "labels.claims": the answer has no claim "{text}", so the label is not used.',
                file=file,
                line=row.line,
                text=text,
            )
    facts = [
        (row.line, fact.text)
        for row in chosen
        for fact in (row.item.labels.facts if row.item.labels else ())
        if not backing(fact.text, tuple(note.text for note in row.notes))
    ]
    for line, text in facts[:1]:
        yield n_(
            '{file}:{line}: field "labels.facts": no context note states "{text}", so the fact is not counted.'
            " Write it in the words of a note.",
            '{file}:{line}: field "labels.facts": no context note states "{text}"; {n:,} such facts are not counted.'
            " Write them in the words of a note.",
            n=len(facts),
            file=file,
            line=line,
            text=text,
        )


def _unmatched_labels(answer: str, labels: AnswerLabels | None) -> list[str]:
    """Return the labelled claims that the answer lacks."""
    if labels is None:
        return []
    known = {comparable(claim.text) for claim in claims_of(pieces_of(answer))}
    return [claim.text for claim in labels.claims if comparable(claim.text) not in known]
