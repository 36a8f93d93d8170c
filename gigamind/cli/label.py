"""`gigamind label`: people label items of a run in a browser."""

import getpass
from pathlib import Path
from typing import Any

import click

from gigamind.assurance.options import LabelOptions
from gigamind.cli.command import command
from gigamind.cli.errors import print_line, print_warning
from gigamind.cli.options import options_of
from gigamind.evaluation.options import validated
from gigamind.i18n import _, language_of, n_


@command(
    examples=(
        "gigamind label runs/a --labels labels.jsonl",
        "gigamind label runs/new --baseline runs/old --floor -0.02",
    )
)
@click.argument("run", type=click.Path(path_type=Path))
@options_of(LabelOptions, only=LabelOptions.model_fields.keys() - {"run"})
def label(**values: Any) -> None:  # noqa: ANN401  checked by the options model
    """Label items of RUN in a browser: are claims supported, are hits relevant, are links useful?

    RUN is the output folder of an evaluation. The page draws the items whose labels narrow the interval of the judged
    figure most, hides the judge's verdict until you have decided, and saves each key press. `gigamind judge certify`
    and `gigamind judge tune` use the labels.
    """
    from gigamind.assurance.labelling import Labelling
    from gigamind.tasks import TASKS

    options = validated(LabelOptions, values)
    language = language_of(options.lang)
    session = Labelling(options, TASKS)
    if options.add:
        count = session.file.add(options.add)
        line = n_(
            "added {n} label: {file}", "added {n:,} labels: {file}", n=count, file=options.labels
        )
        print_line(line, err=True)
        return
    if changed := len(session.state.choices.changed):
        warning = n_(
            "{file}: {n} label belongs to another run or to an item that has changed; it is not used",
            "{file}: {n:,} labels belong to another run or to items that have changed; they are not used",
            n=changed,
            file=options.labels,
        )
        print_warning(warning)
    fixed = session.plan
    if (fixed.floor, fixed.random) != (options.floor, options.random) or (
        fixed.budget != min(options.count, len(session.drawables))
    ):
        warning = _(
            "{file} goes on as it was begun: --count {count}, --floor {floor}",
            file=options.labels,
            count=fixed.budget,
            floor=_("none") if fixed.floor is None else f"{fixed.floor:g}",
        )
        print_warning(warning)
    name = options.annotator or getpass.getuser()
    if options.offline:
        from gigamind.service.label_app import write_offline_page

        write_offline_page(options.offline, session, name, language)
        print_line(_("Page: {file}", file=options.offline))
        return
    from gigamind.cli.serve import listening, serve_app
    from gigamind.service.label_app import create_label_app

    with listening("127.0.0.1", options.port) as (place, url):
        line = _(
            "Label {count:,} items of {run} at {url} (Ctrl-C ends)",
            run=options.run,
            url=url,
            count=fixed.budget,
        )
        app = create_label_app(session, name, language)
        app.router.on_startup.append(lambda: print_line(line, err=True))
        serve_app(app, place)
