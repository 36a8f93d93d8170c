"""The first step of a link evaluation: read dataset and vault, and hold one against the other."""

from collections.abc import Mapping
from dataclasses import dataclass

from gigamind.datasets.check_links import CheckedLink, CheckedLinks, check_links
from gigamind.datasets.jsonl import read_links
from gigamind.datasets.sample import sample, sample_size
from gigamind.errors import DatasetError
from gigamind.evals.link_options import LinkEvalOptions
from gigamind.reports.schema import ErrorReport
from gigamind.vault.fingerprint import notes_hash
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault, read_vault

_ERRORS_SHOWN = 5


@dataclass(frozen=True, slots=True)
class PreparedLinks:
    """Valid input of one run.

    Attributes:
        rows: path of a note -> its expected links, in the vault's order.
        not_sampled: notes that `--sample` left out.
    """

    options: LinkEvalOptions
    vault: Vault
    identities: Identities
    checked: CheckedLinks
    rows: Mapping[str, tuple[CheckedLink, ...]]
    not_sampled: int
    notes_hash: str

    @property
    def errors(self) -> list[ErrorReport]:
        """The rows that cannot be used."""
        return [
            ErrorReport(
                kind="row",
                line=error.line,
                id=error.item_id or None,
                field=error.field or None,
                error=DatasetError.__name__,
                message=error.describe(self.options.dataset),
            )
            for error in self.checked.errors
        ]


def prepare_links(options: LinkEvalOptions) -> PreparedLinks:
    """Read and check everything that a run needs.

    Raises:
        InputError: the dataset is missing or unreadable.
        DatasetError: no row can be used, or one is bad under `--strict`.
        NotesError: the vault is missing, unreadable or empty.
    """
    dataset = read_links(options.dataset)
    vault = read_vault(options.notes)
    identities = Identities(vault.notes)
    checked = check_links(dataset, vault, identities)
    _refuse(options, checked)
    by_note: dict[str, list[CheckedLink]] = {}
    for link in checked.links:
        by_note.setdefault(link.note.path, []).append(link)
    paths = sorted(by_note)
    size = sample_size(options.sample) if options.sample else len(paths)
    chosen = sample(paths, size, options.seed)
    return PreparedLinks(
        options=options,
        vault=vault,
        identities=identities,
        checked=checked,
        rows={path: tuple(by_note[path]) for path in chosen},
        not_sampled=len(paths) - len(chosen),
        notes_hash=notes_hash(options.notes, options.notes_hash_mode, options.notes_hash_exclude),
    )


def _refuse(options: LinkEvalOptions, checked: CheckedLinks) -> None:
    """Stop where going on would be of no use, or where `--strict` asks for it."""
    listed = [error.describe(options.dataset) for error in checked.errors]
    listed += [str(collision) for collision in checked.collisions] if options.strict else []
    shown = "\n".join(listed[:_ERRORS_SHOWN])
    if not checked.links:
        raise DatasetError(
            f"{options.dataset}: no row can be evaluated over {options.notes}."
            f" Is it the dataset of another vault?\n{shown}"
        )
    if options.strict and listed:
        raise DatasetError(f"{options.dataset}: problems, and --strict is set\n{shown}")
