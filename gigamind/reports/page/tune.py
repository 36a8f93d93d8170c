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
        surfaces=[drawn(chart, say("tune.surface_label")) for chart in _surfaces(tuning, say)],
        columns=[label(key, lang) for key in shown],
        rows=list(_rows(tuning, shown, say)),
        method=say(
            "tune.method",
            folds=tuning.folds,
            partitions=tuning.partitions,
            level=f"{100 * tuning.level:g}",
        ),
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
        switch = say("tune.switch", **values)
        if tuning.worse:
            costs = ", ".join(_cost_told(metric, say) for metric in tuning.worse[:_WORSE_TOLD])
            switch = f"{switch} {say('tune.costs', costs=costs)}"
        lines = [switch, say("tune.gained", **values)]
        if tuned.gain - tuning.gain >= _TOLD:
            flattery = f"{tuned.gain - tuning.gain:.3f}"
            lines.append(say("tune.flattered", flattery=flattery, **values))
    else:
        kept = setting_name(tuning.as_is.setting, tuning, say)
        lines = [say("tune.keep", kept=kept, **values)]
        lines.append(say("tune.best_looking" if tuning.best else "tune.none_better", **values))
        if tuning.detectable is not None:
            lines.append(say("tune.detectable", detectable=f"{tuning.detectable:.3f}", **values))
    if tuning.left_out:
        lines.append(say("tune.left_out", count=tuning.left_out, metric=metric))
    return lines


def _cost_told(worse: WorseMetric, say: Words) -> str:
    name, interval = label(worse.metric, say.language), say("page.interval")
    values = f"{share(worse.baseline)} → {share(worse.current)}"
    return f"{name} {values} ({interval} {signed(worse.low)} … {signed(worse.high)})"


def setting_name(setting: SearchSetting, tuning: Tuning, say: Words) -> str:
    """A setting in words: how it joins its legs, and what else differs in the grid."""
    parts = [_joining(setting, say)]
    varied = {name for name in ("title_weight", "chunk_chars", "embedder") if _varies(tuning, name)}
    if "title_weight" in varied and setting.fusion == "balanced":
        parts.append(say("tune.title", weight=f"{setting.title_weight:g}"))
    if "chunk_chars" in varied:
        parts.append(say("tune.chunks", chars=setting.chunk_chars))
    if "embedder" in varied and setting.mode != "keyword":
        parts.append(setting.embedder)
    if setting.graph_rerank:
        parts.append(say("tune.rerank"))
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
        parts = [say("tune.over_alpha", metric=label(tuning.metric, say.language))]
        parts += [embedder] if _varies(tuning, "embedder") else []
        parts += [say("tune.chunks", chars=chars)] if _varies(tuning, "chunk_chars") else []
        yield Surface(
            title=" · ".join(parts),
            x_label=say("tune.alpha"),
            curves=[
                _curve(
                    [tuned for tuned in own if tuned.setting.graph_rerank == moved], at, tuning, say
                )
                for moved in sorted({tuned.setting.graph_rerank for tuned in own})
            ],
            places={
                place: f"{weight:g}" if len(weights) > 1 else say("tune.balanced")
                for place, weight in places.items()
            },
            places_label=say("tune.title_places") if len(weights) > 1 else "",
            level=(tuning.as_is.figures[tuning.metric], say("tune.as_is")),
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
