"""tune.html: the recommended setting of a grid, its significance, and the metric over all settings."""

from collections.abc import Iterator, Sequence

from gigamind.formats import percent, points, share, signed
from gigamind.i18n import Language, Message, Text, Translator, _, joined, n_, translator
from gigamind.metrics.table import keys_in, label
from gigamind.reports.charts import Curve, Pen, Spot, Surface
from gigamind.reports.page.layout import drawn, rendered
from gigamind.reports.tuning import SearchSetting, TunedSetting, Tuning, WorseMetric

_PLACE = 0.17  # between names behind the end of the x axis
_WORSE_SHOWN = 3
_VISIBLE = 0.0005  # smaller differences are 0.0 pp
_PENS = {False: Pen("accent"), True: Pen("warn", "dashed")}


def render_tuning(
    tuning: Tuning,
    *,
    lang: Language = "en",
    moved: Sequence[str] = (),
    judges: Sequence[str] = (),
    report: str = "",
) -> str:
    """Return the page; `report` is the URL that compares the recommended with the current setting, "" if there is none.

    `moved` are the effects of that setting, `judges` texts on the judges without LLM cost, in the page's language.
    """
    say = translator(lang)
    first, *others = findings(tuning, say)
    shown = [key for key in _beside(tuning) if key in tuning.as_is.figures]
    drawing = _(
        "Chart: metric by alpha, with and without graph rerank; error bars are CIs of the difference from the"
        " current setting"
    )
    method = _(
        "The method is nested cross-validation with {folds} folds, repeated {partitions} times. White's reality"
        " check across all settings, at the {level}% significance level, decides whether to switch.",
        folds=tuning.folds,
        partitions=tuning.partitions,
        level=f"{100 * tuning.level:g}",
    )
    return rendered(
        "tune.html.jinja",
        say,
        version=tuning.app_version,
        tuning=tuning,
        headline=first,
        findings=[*others, *moved],
        judges=judges,
        metric=label(tuning.metric, lang),
        surfaces=[drawn(chart, say(drawing)) for chart in _surfaces(tuning, say)],
        columns=[label(key, lang) for key in shown],
        rows=list(_rows(tuning, shown, say)),
        method=say(method),
        report=report,
    )


def findings(tuning: Tuning, say: Translator) -> list[str]:
    """Return the findings in sentences, the main one first."""
    return list(map(say, _findings(tuning, say)))


def _findings(tuning: Tuning, say: Translator) -> Iterator[Message]:
    best, metric = tuning.reported, label(tuning.metric, say.language)
    values: dict[str, object] = {
        "setting": setting_name(best.setting, tuning, say),
        "metric": metric,
        "queries": tuning.queries,
        "others": len(tuning.settings) - 1,
        "gain": points(tuning.gain),
        "low": points(tuning.low),
        "high": points(tuning.high),
        "here": points(best.gain),
    }
    if tuning.is_switch:
        switch = _(
            "Switch to {setting}: it changes {metric} by {gain} in cross-validation (95% CI {low} to {high}).",
            **values,
        )
        costs = [_worse(metric, say) for metric in tuning.worse[:_WORSE_SHOWN]]
        if costs:
            switch = joined(
                [switch, _("In return, these metrics get worse: {costs}.", costs=costs)], " "
            )
        yield switch
        values["before"] = tuning.as_is.figures[tuning.metric]
        values["after"] = best.figures[tuning.metric]
        yield _(
            "{metric} on all {queries} queries: {before:.1%} with the current setting → {after:.1%} with the"
            " recommended setting.",
            **values,
        )
        bias = best.gain - tuning.gain
        if bias >= _VISIBLE:
            yield _(
                "On the queries that chose the setting, the gain is {here}. About {bias} of this gain is selection"
                " bias from picking the best of {others} settings.",
                bias=points(bias, signed=False),
                **values,
            )
    else:
        yield _(
            "Keep the current setting ({kept}). On {queries} queries, none of the {others} other settings is"
            " significantly better.",
            kept=setting_name(tuning.as_is.setting, tuning, say),
            **values,
        )
        if tuning.best:
            yield _(
                "The best alternative, {setting}, changes {metric} by {here} on these queries and by {gain} in"
                " cross-validation (95% CI {low} to {high}).",
                **values,
            )
        else:
            yield _("No other setting has a higher {metric} than the current setting.", **values)
        if tuning.detectable is not None:
            yield _(
                "With {queries} queries, this comparison detects a true gain of {detectable} or more in at least"
                " 80% of cases.",
                detectable=points(tuning.detectable, signed=False),
                **values,
            )
    if tuning.left_out:
        yield n_(
            "{n} answerable query has no value of {metric} and was left out.",
            "{n:,} answerable queries have no value of {metric} and were left out.",
            n=tuning.left_out,
            metric=metric,
        )


def _worse(worse: WorseMetric, say: Translator) -> Message:
    return _(
        "{metric} {before:.1%} → {after:.1%} (95% CI of the difference: {low} to {high})",
        metric=label(worse.metric, say.language),
        before=worse.baseline,
        after=worse.current,
        low=points(worse.low),
        high=points(worse.high),
    )


def setting_name(setting: SearchSetting, tuning: Tuning, say: Translator) -> str:
    """Return a setting in words: its fusion, and the other options that vary in the grid."""
    parts = [_fusion(setting)]
    varied = {name for name in ("title_weight", "chunk_chars", "embedder") if _varies(tuning, name)}
    if "title_weight" in varied and setting.fusion == "balanced":
        parts.append(_("title weight {weight:g}", weight=setting.title_weight))
    if "chunk_chars" in varied:
        parts.append(_("chunks of {chars} characters", chars=setting.chunk_chars))
    if "embedder" in varied and setting.mode != "keyword":
        parts.append(setting.embedder)
    if setting.graph_rerank:
        parts.append(_("graph rerank"))
    return say(joined(parts, ", "))


def _fusion(setting: SearchSetting) -> Text:
    if setting.mode == "keyword":
        return _("keyword")
    if setting.mode == "semantic":
        return _("semantic")
    if setting.fusion == "balanced":
        return _("balanced fusion")
    return _("weighted fusion, alpha {alpha:g}", alpha=setting.alpha)


def _varies(tuning: Tuning, name: str) -> bool:
    own = [tuned.setting for tuned in tuning.settings]
    if name == "title_weight":
        own = [setting for setting in own if setting.fusion == "balanced"]
    return len({getattr(setting, name) for setting in own}) > 1


def _beside(tuning: Tuning) -> list[str]:
    deepest = max(
        (int(name.rpartition("_")[2]) for name in tuning.as_is.figures if "_at_" in name), default=1
    )
    return [key for key in keys_in("main", ("search",), deepest) if key != tuning.metric]


def _rows(tuning: Tuning, shown: Sequence[str], say: Translator) -> Iterator[dict[str, object]]:
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
            "better": _is_better(tuned, tuning) if place else None,
            "picked": percent(tuned.picked) if tuned.picked else "–",
            "out_of_fold": signed(tuned.out_of_fold) if tuned.picked and place else "–",
            "figures": [share(tuned.figures.get(key)) for key in shown],
        }


def _is_better(tuned: TunedSetting, tuning: Tuning) -> bool | None:
    if tuned.p_value <= tuning.level and tuned.gain > 0:
        return True
    return False if tuned.high < 0 else None


def _surfaces(tuning: Tuning, say: Translator) -> Iterator[Surface]:
    """Yield the metric by alpha, one chart for each index; balanced fusion has no alpha and is shown beside it."""
    indexes: dict[tuple[str, int], list[TunedSetting]] = {}
    for tuned in tuning.settings:
        index = tuned.setting.embedder, tuned.setting.chunk_chars
        indexes.setdefault(index, []).append(tuned)
    for (embedder, chars), own in indexes.items():
        weights = sorted({o.setting.title_weight for o in own if o.setting.fusion == "balanced"})
        places = {1 + _PLACE * number: weight for number, weight in enumerate(weights, 1)}
        at = {weight: place for place, weight in places.items()}
        parts = [say(_("{metric} by alpha", metric=label(tuning.metric, say.language)))]
        if _varies(tuning, "embedder"):
            parts.append(embedder)
        if _varies(tuning, "chunk_chars"):
            parts.append(say(_("chunks of {chars} characters", chars=chars)))
        yield Surface(
            title=" · ".join(parts),
            x_label=say(_("alpha (0: keyword search only, 1: semantic search only)")),
            curves=[
                _curve(
                    [entry for entry in own if entry.setting.graph_rerank == moved], at, tuning, say
                )
                for moved in sorted({tuned.setting.graph_rerank for tuned in own})
            ],
            places={
                place: f"{weight:g}" if len(weights) > 1 else say(_("balanced fusion"))
                for place, weight in places.items()
            },
            places_label=say(_("balanced fusion, by title weight")) if len(weights) > 1 else "",
            level=(tuning.as_is.figures[tuning.metric], say(_("current setting"))),
        )


def _curve(
    own: Sequence[TunedSetting], at: dict[float, float], tuning: Tuning, say: Translator
) -> Curve:
    level, ends = tuning.as_is.figures[tuning.metric], {"keyword": 0.0, "semantic": 1.0}
    spots: dict[bool, list[Spot]] = {True: [], False: []}
    for tuned in own:
        setting, apart = tuned.setting, tuned.setting.fusion == "balanced"
        place = at[setting.title_weight] if apart else ends.get(setting.mode, setting.alpha)
        whisker = level + tuned.low, level + tuned.high
        spots[apart].append(Spot(place, tuned.figures[tuning.metric], whisker))
    reranked = own[0].setting.graph_rerank
    return Curve(
        say(_("graph rerank") if reranked else _("no graph rerank")),
        sorted(spots[False], key=lambda spot: spot.at),
        spots[True],
        _PENS[reranked],
    )
