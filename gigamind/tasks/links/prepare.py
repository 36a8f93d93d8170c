"""The first step of a link evaluation: read the dataset and the vault, and check that they fit."""

from collections.abc import Mapping
from dataclasses import dataclass

from gigamind.datasets.check_links import CheckedLink, CheckedLinks, check_links
from gigamind.datasets.jsonl import read_links
from gigamind.errors import InputError
from gigamind.evaluation.inputs import Inputs, PreparedInput
from gigamind.records.schema import SystemReport
from gigamind.systems.open import describe_run
from gigamind.tasks.links.options import OF_OWN, LinkEvalOptions
from gigamind.tasks.links.suggesters import run_path
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault


@dataclass(frozen=True, slots=True)
class PreparedLinks(PreparedInput):
    """Valid input of one run; `--sample` draws notes."""

    options: LinkEvalOptions
    vault: Vault
    identities: Identities
    checked: CheckedLinks
    # Expected links by the path of their note, in the vault's order.
    rows: Mapping[str, tuple[CheckedLink, ...]]
    # The other tool that made the suggestions; None for gigamind.
    system: SystemReport | None = None


def prepare_links(options: LinkEvalOptions) -> PreparedLinks:
    """Read and check all input of a run.

    Raises:
        InputError: The dataset is missing or unreadable.
        DatasetError: Too few rows are usable, or a row is invalid under `--strict`.
        NotesError: The vault is missing, unreadable or empty.
    """
    inputs, system = Inputs(options), _system(options)
    dataset = read_links(options.dataset)
    vault = read_vault(options.notes, options.exclude)
    identities = Identities(vault.notes)
    checked = check_links(dataset, vault, identities)
    inputs.refuse_unusable(checked)
    by_note: dict[str, list[CheckedLink]] = {}
    for link in checked.links:
        by_note.setdefault(link.note.path, []).append(link)
    paths = sorted(by_note)
    chosen = inputs.drawn(paths)
    return PreparedLinks(
        **inputs.prepared(checked, vault, len(paths) - len(chosen)),
        vault=vault,
        identities=identities,
        checked=checked,
        rows={path: tuple(by_note[path]) for path in chosen},
        system=system,
    )


def _system(options: LinkEvalOptions) -> SystemReport | None:
    if options.system is None:
        if options.allow_partial:
            raise InputError(
                "{option}: requires --system. Add --system or remove this option.",
                option="--allow-partial",
            )
        return None
    if idle := options.flags(OF_OWN):
        raise InputError(
            "{option}: works only with gigamind's own suggestions, but --system names another tool. Remove one"
            " of the two options.",
            option=idle,
        )
    return describe_run(run_path(options.system))
