"""How numbers, outcomes and runs are written, for all reports alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from snellen.analysis.comparison.comparability import data_qualifiers
from snellen.analysis.comparison.deviations import deviations, is_option
from snellen.core.errors import UsageError
from snellen.core.output import OUTCOMES, RETRYABLE, Outcome
from snellen.core.run import Report, RoleUsage, RunInfo
from snellen.core.served_identity import identity_changes
from snellen.core.summary import Interval, Metric
from snellen.models.naming.spec import short_name, split_options
from snellen.scoring.accuracy import GUESSES

NONE = "–"
"""Written in place of a missing number."""

CIRCULAR = "circular"
"""Name of the headline of runs that rotate the options."""

BASELINES = GUESSES
"""Metrics that no model earned. They are displayed next to the headline, dimmed."""

ESTIMAND = "the score on new questions sampled like these, not for these questions only"
"""What an interval describes, unless something else is said."""

METRIC_LABELS = {
    "accuracy_plus": "accuracy+",
    "f1": "F1",
    "f1_pooled": "F1 pooled",
    "f1_official": "F1 official",
    "f1_word": "F1 word",
    "f1_vlmevalkit": "F1 VLMEvalKit",
    "perception_vlmevalkit": "perception VLMEvalKit",
    "cognition_vlmevalkit": "cognition VLMEvalKit",
    "circular": "circular accuracy",
    "vanilla": "vanilla accuracy",
    "chance_same_text": "chance, same text",
    "chance_same_letter": "chance, same letter",
    "frequent": "most frequent answer",
    "iou": "mean IoU",
    "map": "mAP",
    "map_micro": "mAP micro",
    "anls": "ANLS",
    "vqa_accuracy": "VQA accuracy",
    "mean_of_parts": "mean of parts",
    "cider": "CIDEr",
    "rouge_l": "ROUGE-L",
    **{f"bleu_{order}": f"BLEU-{order}" for order in range(1, 5)},
}
"""Labels of metrics whose name needs more than its underscores replaced."""

OUTCOME_LABELS: dict[Outcome, str] = {
    "answered": "answered",
    "no_match": "no match",
    "unparsed": "unparsed",
    "refused": "refused",
    "truncated": "truncated",
    "empty": "empty",
    "failed": "failed",
    "missing": "missing",
    "unsupported": "unsupported",
    "other_space": "other space",
    "malformed_place": "malformed place",
    "outside": "outside",
    "other_count": "other count",
}


def score_text(value: float | None) -> str:
    """A number on the scale of 0..100, with one decimal."""
    if value is None:
        return NONE
    text = f"{value:.1f}"
    return "0.0" if text == "-0.0" else text


def percent_interval(interval: Interval | None) -> Interval | None:
    """An interval of a fraction in percentage points."""
    return interval and interval.scale()


def interval_text(interval: Interval | None) -> str:
    """Both ends of an interval, e.g. `61.0–64.2`; `to` separates them if one is negative."""
    if interval is None:
        return NONE
    joint = " to " if interval.low < 0 or interval.high < 0 else "–"
    return f"{score_text(interval.low)}{joint}{score_text(interval.high)}"


def difference_text(value: float) -> str:
    """A difference with its sign and one decimal."""
    text = f"{value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "–")


def difference_interval_text(interval: Interval | None) -> str:
    """Both ends of an interval of a difference, e.g. `–1.5 to +7.0`."""
    if interval is None:
        return NONE
    return f"{difference_text(interval.low)} to {difference_text(interval.high)}"


def p_text(p: float | None) -> str:
    """A p-value with two significant digits; below 0.0001 only that it is."""
    if p is None:
        return NONE
    if p < 0.0001:
        return "<0.0001"
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"


def p_clause(p: float) -> str:
    """A p-value as it follows the letter p in a sentence: `= 0.02` or `< 0.0001`."""
    text = p_text(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def score_with_interval(metric: Metric) -> str:
    """A value and its interval, e.g. `62.5 (61.0–64.2)`. Never with `±`: intervals near 0 and 100
    are far from symmetric."""
    if metric.value is None or metric.interval is None:
        return score_text(metric.value)
    return f"{score_text(metric.value)} ({interval_text(metric.interval)})"


def level_text(interval: Interval | None) -> str:
    """The confidence level of an interval, e.g. `95 %`."""
    return f"{100 * (interval.level if interval else 0.95):g} %"


def count_range(low: int | None, high: int | None) -> str | None:
    """Two counts, or the one that both are; None if they are not known."""
    if low is None or high is None:
        return None
    return count_text(low) if low == high else f"{count_text(low)}–{count_text(high)}"


def percent(fraction: float | None) -> float | None:
    """A fraction in percent."""
    return None if fraction is None else 100 * fraction


def count_text(value: int) -> str:
    """A count with separators for thousands."""
    return f"{value:,}"


def plural(count: int, singular: str, plural_form: str = "") -> str:
    return f"{count_text(count)} {singular if count == 1 else plural_form or singular + 's'}"


def duration(seconds: float) -> str:
    """A time in its two largest units, e.g. `3 min 20 s`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    total = round(seconds)
    if total < 60:
        return f"{total} s"
    large, small = ("min", "s") if total < 3600 else ("h", "min")
    count, remainder = divmod(total if total < 3600 else total // 60, 60)
    return f"{count} {large} {remainder} {small}" if remainder else f"{count} {large}"


def size(count: int) -> str:
    """A number of bytes in a fitting unit, e.g. `1.2 GB`."""
    for unit, bytes_ in (("GB", 1e9), ("MB", 1e6)):
        if count >= bytes_:
            return f"{count / bytes_:.1f} {unit}"
    return f"{count / 1e3:.1f} kB"


def display_name(name: str) -> str:
    """The name of a group or field for readers: blanks in place of underscores."""
    return name.replace("_", " ")


def metric_label(name: str) -> str:
    """The name of a metric for readers."""
    return METRIC_LABELS.get(name, display_name(name))


def run_labels(runs: Sequence[Report]) -> list[str]:
    """Names that tell the runs apart; see `run_info_labels`."""
    return run_info_labels([report.run for report in runs])


def run_info_labels(runs: Sequence[RunInfo], limits: bool = True, *, metric_named: bool = True) -> list[str]:
    """Names of runs of one benchmark: the model, and in brackets how the run differs from the plain
    setting of the benchmark, and what else differs between the runs. Without `limits`, the limit of
    samples is not named.

    With `metric_named`, rotations that the name of the metric states for all runs are not repeated.
    """
    left_out = {"model_options"} if limits else {"model_options", "limit", "extent"}
    if metric_named and all(run.headline == CIRCULAR for run in runs):
        left_out.add("circular")
    names = [short_name(run.model) for run in runs]
    labels = []
    for run, name, more in zip(runs, names, _differences(runs, names) if len(runs) > 1 else [[]], strict=True):
        qualifiers = [one.label for one in deviations(run) if one.key not in left_out]
        stated = ", ".join(qualifiers).split(", ")
        qualifiers += [text for text in more if text and text not in stated]
        labels.append(f"{name} ({', '.join(qualifiers)})" if qualifiers else name)
    return labels


def _differences(runs: Sequence[RunInfo], names: Sequence[str]) -> list[list[str]]:
    """For each run what else differs between the runs: their addresses, data, options and names of
    replies that were requested again; "" where nothing does."""
    extras = zip(runs, _addresses(runs, names), data_qualifiers(runs), _parameter_qualifiers(runs), strict=True)
    return [[address, data, *options, *_fresh_qualifier(run, runs)] for run, address, data, options in extras]


def _addresses(runs: Sequence[RunInfo], names: Sequence[str]) -> list[str]:
    """For each run the host of its server, if models of one name were asked at several
    addresses."""
    hosts = [_host(run.model) for run in runs]
    by_name: dict[str, set[str]] = {}
    for name, host in zip(names, hosts, strict=True):
        by_name.setdefault(name, set()).add(host)
    return [f"at {host}" if host and len(by_name[name]) > 1 else "" for name, host in zip(names, hosts, strict=True)]


def _host(model: str) -> str:
    try:
        address = split_options(model)[1].get("base_url", "")
    except UsageError:
        return ""
    return address.partition("://")[2].partition("/")[0]


def _parameter_qualifiers(runs: Sequence[RunInfo]) -> list[list[str]]:
    """For each run the options of its benchmark in which the runs differ."""
    every = [run.config.parameters for run in runs]
    keys = dict.fromkeys(key for parameters in every for key in parameters)
    differing = [key for key in keys if is_option(key) and len({parameters.get(key) for parameters in every}) > 1]
    return [[f"{key}={parameters[key]}" for key in differing if key in parameters] for parameters in every]


def _fresh_qualifier(run: RunInfo, runs: Sequence[RunInfo]) -> Iterable[str]:
    """The name under which replies were requested again, if the runs differ in it."""
    fresh = run.config.fresh
    if fresh and len({each.config.fresh for each in runs}) > 1:
        yield f"asked again, {fresh}"


def table_order(runs: Sequence[RunInfo]) -> list[int]:
    """The indices of runs of one benchmark in the order of a table: models as they come, and of
    each model the runs first that differ least from the plain setting."""
    models = list(dict.fromkeys(run.model for run in runs))
    names = run_info_labels(runs)
    return sorted(
        range(len(runs)),
        key=lambda index: (models.index(runs[index].model), len(deviations(runs[index])), names[index]),
    )


def outcomes_text(report: Report) -> str:
    """The numbers of the outcomes other than `answered` that occurred."""
    counts = report.summary.outcomes
    others = [outcome for outcome in OUTCOMES if outcome != "answered" and counts.get(outcome, 0)]
    return ", ".join(f"{count_text(counts[outcome])} {OUTCOME_LABELS[outcome]}" for outcome in others)


def notices(report: Report, command: bool = True) -> tuple[str, ...]:
    """What a reader must know before the number: whether the data are not the published ones, the
    benchmark's own notices, the bounds that failed and missing samples leave, and whether the run
    has not ended, with the `command` that continues it."""
    # A summary of recorded replies has the note on its data too.
    own_notices = [one for one in report.summary.notices if one != report.run.data.note]
    first, *others = own_notices or (_loss_notice(report),)
    bounds = report.summary.bounds
    if bounds is not None:
        ends = f"bounds {score_text(bounds.worst)}–{score_text(bounds.best)}"
        first = f"{first}; {ends}" if first else ends
    status = status_notice(report.run)
    never_asked = report.summary.never_asked
    if bounds is not None and never_asked:
        first += f" with the {count_text(never_asked)} that were never asked"
    elif bounds is not None and status:
        first += f" of the {count_text(report.run.counts.done + report.run.counts.failed)} asked"
    if status and command and report.run.command:
        status += f"; {resume_command(report.run)}"
    changed = (change for role, starts in report.run.served.items() for change in identity_changes(role, starts))
    own = (*others, *report.run.repairs, *changed, status)
    return tuple(filter(None, (report.run.data.note, first, *own)))


def _loss_notice(report: Report) -> str:
    """The failed and missing samples, for summaries that have no notice about them."""
    counts = report.summary.outcomes
    lost = [f"{count_text(counts[key])} {key}" for key in RETRYABLE if counts.get(key, 0)]
    return f"of {plural(report.summary.total, 'sample')}: {', '.join(lost)}" if lost else ""


def status_notice(run: RunInfo) -> str:
    """That a run has not ended, and how far it is; empty for a run that has ended."""
    if run.status not in ("running", "interrupted"):
        return ""
    state = "is going on, or was killed" if run.status == "running" else "was interrupted"
    if run.stopped:
        state = f"was stopped: {run.stopped}"
    done = f"{count_text(run.counts.done)} of {count_text(run.counts.samples)} done"
    return f"the run {state}{'; ' if run.stopped else ': '}{done}"


def resume_command(run: RunInfo) -> str:
    """The command that continues a run; empty if the run has ended or its command is unknown."""
    return f"continue with: {run.command}" if run.command and status_notice(run) else ""


def spending_text(spent: RoleUsage) -> str:
    """Requests, failures by kind, tokens and money, as far as they are known."""
    parts = [*_sends(spent), *_tokens(spent)]
    if spent.cost is not None and spent.price is not None:
        parts.append(money(spent.cost, spent.price.currency))
    return ", ".join(parts)


def notable_usage(run: RunInfo) -> Iterable[str]:
    """The usage of each role that cost money or had failed requests."""
    for role, spent in run.spent.items():
        if spent.cost is not None or spent.failures or any(_sends(spent)):
            yield f"{display_name(role)}: {spending_text(spent)}"


def money(amount: float, currency: str) -> str:
    """An amount of money with two decimals, or more if it is below a cent."""
    digits = 2 if amount >= 0.01 or not amount else 4
    return f"{amount:,.{digits}f} {currency}"


def _sends(spent: RoleUsage) -> Iterable[str]:
    again = spent.sent - spent.answered - sum(spent.failures.values())
    if again > 0:
        yield f"{plural(spent.sent, 'attempt')} for {plural(spent.answered, 'reply', 'replies')}"
    if spent.failures:
        kinds = sorted(spent.failures.items(), key=lambda item: -item[1])
        # `request` is any reason that has no kind of its own.
        names = [(count, "other" if kind == "request" else display_name(kind)) for kind, count in kinds]
        by_kind = ", ".join(f"{count_text(count)} {name}" for count, name in names)
        text = f"{plural(sum(spent.failures.values()), 'request')} failed"
        yield text if list(spent.failures) == ["request"] else f"{text} ({by_kind})"


def _tokens(spent: RoleUsage) -> Iterable[str]:
    used = spent.usage
    if used.prompt_tokens or used.completion_tokens:
        cached = f" ({count_text(used.cached_tokens)} cached)" if used.cached_tokens else ""
        thought = f" ({count_text(used.reasoning_tokens)} reasoning)" if used.reasoning_tokens else ""
        prompt, reply = count_text(used.prompt_tokens), count_text(used.completion_tokens)
        yield f"{prompt} tokens in prompts{cached}, {reply} in replies{thought}"
    old = spent.reused_usage
    if old.prompt_tokens or old.completion_tokens:
        yield f"{count_text(old.prompt_tokens + old.completion_tokens)} more were paid for earlier"
