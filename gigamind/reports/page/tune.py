"""tune.html: which setting of a grid to take, how sure that is, and the surface it was chosen from."""

from collections.abc import Iterator, Sequence

from gigamind.metrics.table import keys_in, label
from gigamind.reports.page.charts import Curve, Pen, Spot, Surface
from gigamind.reports.page.headline import percent
from gigamind.reports.page.layout import drawn, rendered
from gigamind.reports.tuning import SearchSetting, TunedSetting, Tuning, WorseMetric
from gigamind.wording import Language, Words, share, signed, words

_PLACE = 0.17  # between names behind the end of the x axis
_WORSE_TOLD = 3
_TOLD = 0.0005  # what a figure of three decimals shows
_PENS = {False: Pen("accent"), True: Pen("warn", "dashed")}


def render_tuning(
    tuning: Tuning,
    *,
    lang: Language = "en",
    moved: Sequence[str] = (),
    judges: Sequence[str] = (),
    report: str = "",
) -> str:
    """The page.

    Args:
        moved: what the chosen setting changes, in the page's language.
        judges: what is said of the judges that cost nothing, in the page's language.
        report: address of the report of the chosen setting beside as-is; "" where there is none.
    """
    say = words(lang)
    first, *others = findings(tuning, say)
    shown = [key for key in _beside(tuning) if key in tuning.as_is.figures]
    return rendered(
        "tune.html.jinja",
        say,
        version=tuning.app_version,
        tuning=tuning,
        headline=first,
        findings=[*others, *moved],
        judges=judges,
        metric=label(tuning.metric, lang),
        surfaces=[drawn(chart, say(_("The metric by alpha with and without graph rerank, with CIs of the difference from " "the current setting"))) for chart in _surfaces(tuning, say)],
        columns=[label(key, lang) for key in shown],
        rows=list(_rows(tuning, shown, say)),
        method=say(_("Nested cross-validation with {folds} folds, {partitions} times. The switch decision " "uses White's reality check across all settings at the {level}% level.", folds=tuning.folds, partitions=tuning.partitions, level=f"{100 * tuning.level:g}")),
        report=report,
    )


def findings(tuning: Tuning, say: Words) -> list[str]:
    """What was found, in sentences, the main one first."""
    tuned, metric = tuning.told, label(tuning.metric, say.language)
    values = {
        "setting": setting_name(tuned.setting, tuning, say),
        "metric": metric,
        "queries": tuning.queries,
        "others": len(tuning.settings) - 1,
        "gain": signed(tuning.gain),
        "low": signed(tuning.low),
        "high": signed(tuning.high),
        "here": signed(tuned.gain),
        "before": share(tuning.as_is.figures[tuning.metric]),
        "after": share(tuned.figures[tuning.metric]),
    }
    if tuning.is_switch:
        switch = say(_("Switch to {setting}: {metric} {gain} (95% CI {low} to {high}), cross-validated.", **values))
        if tuning.worse:
            costs = ", ".join(_cost_told(metric, say) for metric in tuning.worse[:_WORSE_TOLD])
            switch = f"{switch} {say(_("In return, these get worse: {costs}.", costs=costs))}"
        lines = [switch, say(_("{metric} over all {queries} queries: {before} → {after}.", **values))]
        if tuned.gain - tuning.gain >= _TOLD:
            flattery = f"{tuned.gain - tuning.gain:.3f}"
            lines.append(say(_("In-sample gain is {here}; about {bias} of that is selection bias from picking the " "best of {others} settings.", **values)))
    else:
        kept = setting_name(tuning.as_is.setting, tuning, say)
        lines = [say(_("Keep the current setting ({kept}). None of {others} other settings is significantly " "better over {queries} queries.", kept=kept, **values))]
        lines.append(say("tune.best_looking" if tuning.best else "tune.none_better", **values))
        if tuning.detectable is not None:
            lines.append(say(_("With {queries} queries, gains of {detectable} or more are detected with 80% power.", detectable=f"{tuning.detectable:.3f}", **values)))
    if tuning.left_out:
        lines.append(say(n_("{n} answerable query without a value of {metric} was left out.", "{n:,} answerable queries without a value of {metric} were left out.", n=tuning.left_out, metric=metric)))
    return lines


def _cost_told(worse: WorseMetric, say: Words) -> str:
    name, interval = label(worse.metric, say.language), say(_("95% CI"))
    values = f"{share(worse.baseline)} → {share(worse.current)}"
    return f"{name} {values} ({interval} {signed(worse.low)} … {signed(worse.high)})"


def setting_name(setting: SearchSetting, tuning: Tuning, say: Words) -> str:
    """A setting in words: how it joins its legs, and what else differs in the grid."""
    parts = [_joining(setting, say)]
    varied = {name for name in ("title_weight", "chunk_chars", "embedder") if _varies(tuning, name)}
    if "title_weight" in varied and setting.fusion == "balanced":
        parts.append(say(_("title weight {weight}", weight=f"{setting.title_weight:g}")))
    if "chunk_chars" in varied:
        parts.append(say(_("chunks of {chars} characters", chars=setting.chunk_chars)))
    if "embedder" in varied and setting.mode != "keyword":
        parts.append(setting.embedder)
    if setting.graph_rerank:
        parts.append(say(_("graph rerank")))
    return ", ".join(parts)


def _joining(setting: SearchSetting, say: Words) -> str:
    if setting.mode != "hybrid":
        return say(f"tune.{setting.mode}")
    return say(f"tune.{setting.fusion}", alpha=f"{setting.alpha:g}")


def _varies(tuning: Tuning, name: str) -> bool:
    """Whether settings for which an option has a meaning have several values of it."""
    own = [tuned.setting for tuned in tuning.settings]
    if name == "title_weight":
        own = [setting for setting in own if setting.fusion == "balanced"]
    return len({getattr(setting, name) for setting in own}) > 1


def _beside(tuning: Tuning) -> list[str]:
    """The metrics that stand beside the one that chose."""
    deepest = max(
        (int(name.rpartition("_")[2]) for name in tuning.as_is.figures if "_at_" in name), default=1
    )
    return [key for key in keys_in("main", ("search",), deepest) if key != tuning.metric]


def _rows(tuning: Tuning, shown: Sequence[str], say: Words) -> Iterator[dict[str, object]]:
    """Every setting, the highest figure first."""
    order = sorted(
        range(len(tuning.settings)),
        key=lambda place: (-tuning.settings[place].figures[tuning.metric], place),
    )
    for place in order:
        tuned = tuning.settings[place]
        yield {
            "name": setting_name(tuned.setting, tuning, say),
            "is_as_is": place == 0,
            "is_chosen": place == tuning.chosen,
            "value": share(tuned.figures[tuning.metric]),
            "gain": signed(tuned.gain) if place else "–",
            "interval": f"{signed(tuned.low)} … {signed(tuned.high)}" if place else "",
            "better": _sure(tuned, tuning) if place else None,
            "picked": percent(tuned.picked) if tuned.picked else "–",
            "out_of_fold": signed(tuned.out_of_fold) if tuned.picked and place else "–",
            "figures": [share(tuned.figures.get(key)) for key in shown],
        }


def _sure(tuned: TunedSetting, tuning: Tuning) -> bool | None:
    """Whether it is surely better or worse than as-is."""
    if tuned.p_value <= tuning.level and tuned.gain > 0:
        return True
    return False if tuned.high < 0 else None


def _surfaces(tuning: Tuning, say: Words) -> Iterator[Surface]:
    """The metric over alpha, a chart for each index; balanced fusion, which has no alpha, stands beside it."""
    indexes = dict.fromkeys(
        (tuned.setting.embedder, tuned.setting.chunk_chars) for tuned in tuning.settings
    )
    for embedder, chars in indexes:
        own = [
            tuned
            for tuned in tuning.settings
            if (tuned.setting.embedder, tuned.setting.chunk_chars) == (embedder, chars)
        ]
        weights = sorted({o.setting.title_weight for o in own if o.setting.fusion == "balanced"})
        places = {1 + _PLACE * number: weight for number, weight in enumerate(weights, 1)}
        at = {weight: place for place, weight in places.items()}
        parts = [say(_("{metric} by alpha", metric=label(tuning.metric, say.language)))]
        parts += [embedder] if _varies(tuning, "embedder") else []
        parts += [say(_("chunks of {chars} characters", chars=chars))] if _varies(tuning, "chunk_chars") else []
        yield Surface(
            title=" · ".join(parts),
            x_label=say(_("alpha (0: keyword, 1: semantic)")),
            curves=[
                _curve(
                    [tuned for tuned in own if tuned.setting.graph_rerank == moved], at, tuning, say
                )
                for moved in sorted({tuned.setting.graph_rerank for tuned in own})
            ],
            places={
                place: f"{weight:g}" if len(weights) > 1 else say(_("balanced"))
                for place, weight in places.items()
            },
            places_label=say(_("balanced, by title weight")) if len(weights) > 1 else "",
            level=(tuning.as_is.figures[tuning.metric], say(_("current"))),
        )


def _curve(
    own: Sequence[TunedSetting], at: dict[float, float], tuning: Tuning, say: Words
) -> Curve:
    level, ends = tuning.as_is.figures[tuning.metric], {"keyword": 0.0, "semantic": 1.0}
    spots: dict[bool, list[Spot]] = {True: [], False: []}
    for tuned in own:
        setting, apart = tuned.setting, tuned.setting.fusion == "balanced"
        place = at[setting.title_weight] if apart else ends.get(setting.mode, setting.alpha)
        whisker = level + tuned.low, level + tuned.high
        spots[apart].append(Spot(place, tuned.figures[tuning.metric], whisker))
    moved = own[0].setting.graph_rerank
    return Curve(
        say("tune.rerank" if moved else "tune.no_rerank"),
        sorted(spots[False], key=lambda spot: spot.at),
        spots[True],
        _PENS[moved],
    )
