"""The first step of a link evaluation: read dataset and vault, and hold one against the other."""

from collections.abc import Mapping
from dataclasses import dataclass

from gigamind.datasets.check import CheckedLink, CheckedLinks, check_links
from gigamind.datasets.jsonl import read_links
from gigamind.evaluation.inputs import Inputs, PreparedInput
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault


@dataclass(frozen=True, slots=True)
class PreparedLinks(PreparedInput):
    """Valid input of one run; it is notes that are sampled.

    Attributes:
        rows: path of a note -> its expected links, in the vault's order.
    """

    options: LinkEvalOptions
    vault: Vault
    identities: Identities
    checked: CheckedLinks
    rows: Mapping[str, tuple[CheckedLink, ...]]


def prepare_links(options: LinkEvalOptions) -> PreparedLinks:
    """Read and check everything that a run needs.

    Raises:
        InputError: the dataset is missing or unreadable.
        DatasetError: too few rows can be used, or one is bad under `--strict`.
        NotesError: the vault is missing, unreadable or empty.
    """
    inputs = Inputs(options)
    dataset = read_links(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_links(dataset, vault, identities)
    inputs.refuse_unusable(checked)
    by_note: dict[str, list[CheckedLink]] = {}
    for link in checked.links:
        by_note.setdefault(link.note.path, []).append(link)
    paths = sorted(by_note)
    chosen = inputs.drawn(paths)
    return PreparedLinks(
        options=options,
        vault=vault,
        identities=identities,
        checked=checked,
        rows={path: tuple(by_note[path]) for path in chosen},
        not_sampled=len(paths) - len(chosen),
        errors=inputs.row_reports(checked.errors),
        warnings=(*vault.warnings, *checked.warnings),
        dataset_hash=dataset.sha256,
        notes_hash=inputs.notes_hash(),
    )
