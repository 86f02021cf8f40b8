"""How a run differs from the plain setting of its benchmark, in the same words everywhere.

The plain setting is `snellen run -m MODEL -b NAME`: every question of the published data, asked
once, without sampling, with the benchmark's own options, prompt and rule. All tables, files and
pages name what differs through this module.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from operator import attrgetter
from textwrap import shorten
from typing import NamedTuple

from snellen.analysis.comparison.comparability import COMPLETE, UNFINISHED, extent_asked
from snellen.analysis.comparison.setup_gaps import setup_gaps
from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.benchmarks.protocol.control import parse_control
from snellen.benchmarks.protocol.judging import JUDGE, JUDGE_REPEATS, RUBRIC_FILE, RUBRIC_PREFIX
from snellen.benchmarks.protocol.system_prompt import OPTION as SYSTEM
from snellen.core.benchmark import AS_RECORDED, COORDINATES_FROM, DESCRIBED, RECIPE, Variant
from snellen.core.errors import UsageError
from snellen.core.request import MAIN, Sampling
from snellen.core.run import RunInfo
from snellen.models.naming.spec import SERVICE_OPTIONS, split_options
from snellen.prompts.control import Control

_DIGITS = 8


class Deviation(NamedTuple):
    """One way in which a run differs from the plain setting of its benchmark."""

    key: str
    """One of `DEVIATION_TITLES`; a run has at most one deviation of each key."""
    label: str
    """A few words for the cell of a table: `blind`, `5 shots`, `limit 60`."""
    sentence: str
    """What it means, for readers who do not know the flags; without a full stop."""


def deviations(run: RunInfo) -> tuple[Deviation, ...]:
    """How a run differs from the plain setting of its benchmark, in the order of
    `DEVIATION_TITLES`; empty if it does not.

    Reads no file but the declarations of built-in and installed benchmarks. The options of other
    benchmarks (`--load`, descriptions) have no known defaults and are not compared.
    """
    found = []
    for key, rule in _RULES.items():
        if rule.parameter and rule.parameter not in run.config.parameters:
            continue
        if rule.field is not None and rule.field(run) in (rule.usual, None, 0, "", {}):
            continue
        description = rule.describe(run)
        if description is not None:
            found.append(Deviation(key, *description))
    return tuple(found)


def deviation_cells(run: RunInfo) -> dict[str, str]:
    """The label of each deviation by key, for tables with a column for each; empty texts for keys
    in which the run is plain."""
    labels = {deviation.key: deviation.label for deviation in deviations(run)}
    return {key: labels.get(key, "") for key in DEVIATION_TITLES}


def deviation_objects(run: RunInfo) -> list[dict[str, str]]:
    """The deviations as they stand in JSON: key, label and sentence of each."""
    return [deviation._asdict() for deviation in deviations(run)]


class _Description(NamedTuple):
    label: str
    sentence: str


_Describe = Callable[[RunInfo], _Description | None]


class _DeviationRule(NamedTuple):
    """What describes a deviation, and the parameter without which no run has it, or the field of a
    run that has its usual value."""

    describe: _Describe
    parameter: str
    field: Callable[[RunInfo], object] | None
    usual: object


_RULES: dict[str, _DeviationRule] = {}
_TITLES: dict[str, str] = {}
_MEANINGS: dict[str, str] = {}
DEVIATION_TITLES: Mapping[str, str] = _TITLES
"""Titles of all deviations by their keys, in the order in which they are named: that of this
file."""


DEVIATION_MEANINGS: Mapping[str, str] = _MEANINGS
"""What each means, in a few words, by the same keys."""


def _deviation(
    key: str, title: str, meaning: str, *, parameter: str = "", field: str = "", usual: object = None
) -> Callable[[_Describe], _Describe]:
    """Registers what describes a deviation of this key; None where a run is plain in it. Asked only
    of runs that record the `parameter`, or whose `field` is neither empty nor as `usual`."""

    def register(describe: _Describe) -> _Describe:
        _RULES[key] = _DeviationRule(describe, parameter, attrgetter(field) if field else None, usual)
        _TITLES[key], _MEANINGS[key] = title, meaning
        return describe

    return register


_CONTROL_SENTENCES: Mapping[Control, str] = {
    "blind": "asked without its images",
    "black": "every image replaced by a black one",
    "blur": "every image blurred",
    "wrong-image": "every question asked with the image of another",
    "shuffled-options": "options in a shuffled order",
}


@_deviation("control", "control", "asked without its images, or with others", parameter=CONTROL)
def _control(run: RunInfo) -> _Description:
    control = run.config.parameters[CONTROL]
    try:
        sentence = _CONTROL_SENTENCES[parse_control(control).control]
    except UsageError:
        sentence = "asked under a control"
    return _Description(control, f"{sentence} (--control {control})")


@_deviation("thinking", "thinking", "asked to think before it answers", parameter="cot")
def _thinking(run: RunInfo) -> _Description | None:
    if run.config.parameters["cot"] != "on" or _plain(run).parameters.get("cot") == "on":
        return None
    return _Description("cot=on", "asked to think step by step before it answers (cot=on)")


@_deviation("shots", "few-shot examples", "with solved examples before each question", parameter="shots")
def _shots(run: RunInfo) -> _Description | None:
    parameters = run.config.parameters
    count = parameters["shots"]
    if count == "0":
        return None
    source, seed = parameters.get("shots_from", ""), parameters.get("shots_seed", "0")
    details = [f"from {source}"] if source else []
    label = f"{count} shot{'' if count == '1' else 's'}"
    if seed != "0":
        details.append(f"seed {seed}")
        label += f", shots_seed={seed}"
    suffix = f" ({', '.join(details)})" if details else ""
    examples = "example" if count == "1" else "examples"
    return _Description(label, f"{count} solved {examples} before each question{suffix}")


@_deviation("prompt", "prompt", "not the benchmark's own prompt")
def _prompt(run: RunInfo) -> _Description | None:
    parameters, plain = run.config.parameters, _plain(run).parameters
    recipe, prompt = parameters.get(RECIPE), parameters.get("prompt")
    if recipe is not None:
        gaps = ", ".join(f"{gap.setting} {gap.own} for {gap.makers}" for gap in setup_gaps(run))
        return _Description(
            f"recipe {recipe}", f"asked as the makers of {recipe} ask it{f', but {gaps}' if gaps else ''}"
        )
    if prompt == plain.get("prompt"):
        return None
    from snellen.benchmarks.protocol.ask_config import OWN_PROMPT

    name = prompt or OWN_PROMPT
    return _Description(f"prompt={name}", f"asked with the prompt {name}, not the benchmark's own")


@_deviation("system", "system prompt", "asked after a system prompt", parameter=SYSTEM)
def _system(run: RunInfo) -> _Description:
    text = shorten(run.config.parameters[SYSTEM], 60)
    return _Description("system prompt", f"asked after the system prompt {text!r}")


_NO_OPTIONS = frozenset(
    {
        CONTROL,
        SYSTEM,
        RECIPE,
        COORDINATES_FROM,
        "cot",
        "cot_digest",
        "shots",
        "shots_seed",
        "shots_from",
        "prompt",
        "prompt_digest",
        "circular",
        "rule",
        "rule_commit",
        "reading",
        "normalisation",
        DESCRIBED,
        JUDGE_REPEATS,
        "votes",
    }
)
"""Parameters of runs that other deviations describe, and digests."""


def is_option(parameter: str) -> bool:
    """Whether a recorded parameter is an option of its benchmark that no deviation but `options`
    describes."""
    return parameter not in _NO_OPTIONS and not parameter.startswith(RUBRIC_PREFIX)


@_deviation("options", "options of the benchmark", "other options of the benchmark than usual")
def _options(run: RunInfo) -> _Description | None:
    """Options of the benchmark that differ from their defaults."""
    parameters, plain = run.config.parameters, _plain(run).parameters
    differing = {
        key: value for key, value in parameters.items() if is_option(key) and key in plain and plain[key] != value
    }
    # Options such as `edge=448` are recorded only where they are not at their default.
    others = {key: value for key, value in parameters.items() if is_option(key) and key not in plain}
    options = (_plain(run).options or _video_defaults()) if others else {}
    differing |= {key: value for key, value in others.items() if options.get(key, value) != value}
    if not differing:
        return None
    label = ", ".join(f"{key}={value}" for key, value in differing.items())
    defaults = {**options, **plain}
    usual = ", ".join(f"{key}={defaults[key]}" for key in differing)
    return _Description(label, f"asked with {label}; the plain setting is {usual}")


@_deviation("circular", "circular", "right only if right for every rotation of the options, or not so where usual")
def _circular(run: RunInfo) -> _Description | None:
    mode = run.config.parameters.get("circular", "off")
    if mode == _plain(run).parameters.get("circular", "off"):
        return None
    if mode == "off":
        return _Description("not circular", "each question asked once, options not rotated")
    label = "circular" if mode == "early" else f"circular={mode}"
    return _Description(label, "right only if right for every rotation of the options")


@_deviation("limit", "limit", "a subset of the questions", field="config.limit")
def _limit(run: RunInfo) -> _Description:
    limit, seed = run.config.limit, run.config.seed
    label = f"limit {limit}" + (f", seed {seed}" if seed else "")
    return _Description(label, f"a random subset of at most {limit:,} questions (--limit, seed {seed})")


@_deviation("until", "early stop", "may end, or ended, before all questions are asked", field="config.until")
def _until(run: RunInfo) -> _Description:
    until = run.config.until
    how = "stopped early by" if run.stopped else "could stop early by"
    return _Description(f"until {until}", f"{how} its rule (--until {until})")


@_deviation("extent", "not finished", "not finished: samples are missing")
def _extent(run: RunInfo) -> _Description | None:
    extent = extent_asked(run)
    if extent == COMPLETE or (extent != UNFINISHED and run.config.until):
        return None
    done = f"{run.counts.done:,} of {run.counts.samples:,}"
    return _Description(f"not finished: {done}", f"{done} questions are done")


_FAILURE_RULES = {
    "exclude": "failed and missing samples are left out",
    "count-wrong": "failed and missing samples count as wrong",
    "as-reply": "failed samples count as wrong, missing ones are left out",
    "withhold": "no score while a sample failed or is missing",
}


def failures_meaning(rule: str) -> str:
    """What a rule of `--failures` does."""
    most = rule.removeprefix("withhold>")
    if most != rule:
        return f"no score while more than {most} of the samples failed or are missing"
    return _FAILURE_RULES.get(rule, rule)


@_deviation("failures", "failures", "failed samples count in another way", field="failures", usual="exclude")
def _failures(run: RunInfo) -> _Description:
    rule = run.failures
    meaning = _FAILURE_RULES.get(rule, "no score while too many samples failed or are missing")
    return _Description(f"failures {rule}", f"{meaning} (--failures {rule})")


@_deviation("repeats", "repeats", "each question asked several times", field="config.repeats", usual=1)
def _repeats(run: RunInfo) -> _Description:
    repeats = run.config.repeats
    return _Description(f"{repeats} draws", f"each question asked {repeats} times; the score is the mean")


@_deviation("sampling", "sampling", "replies sampled with settings of the command", field="config.sampling")
def _sampling(run: RunInfo) -> _Description | None:
    """Settings of the command for the measured model; those in the model's name are options."""
    sampling = run.config.sampling.get(MAIN, Sampling())
    parts = [
        f"{name} {value:g}"
        for name in Sampling.__struct_fields__
        if (value := getattr(sampling, name)) is not None and f"{name}=" not in run.model
    ]
    if not parts:
        return None
    return _Description(", ".join(parts), f"replies sampled with {', '.join(parts)}")


@_deviation("tokens", "longest reply", "another limit of the length of replies", field="config.max_new_tokens")
def _tokens(run: RunInfo) -> _Description | None:
    tokens = run.config.max_new_tokens
    if RECIPE in run.config.parameters or "max_new_tokens=" in run.model:
        return None
    plain = _plain_tokens(run)
    if plain is None or tokens == plain:
        return None
    return _Description(
        f"max_new_tokens={tokens}", f"replies of up to {tokens:,} tokens; the plain setting is {plain:,}"
    )


@_deviation(
    "extension",
    "cut replies",
    "replies that were cut asked for again, with a larger limit",
    field="config.extend_truncated",
)
def _extension(run: RunInfo) -> _Description:
    limit = run.config.extend_truncated
    return _Description(
        f"extended to {limit:,}",
        f"replies that were cut at {run.config.max_new_tokens:,} tokens asked for again with {limit:,}",
    )


@_deviation("rule", "rule", "replies parsed by another rule")
def _rule(run: RunInfo) -> _Description | None:
    parameters, plain = run.config.parameters, _plain(run).parameters
    recorded = parameters.get(AS_RECORDED)
    if recorded is not None:
        return _Description(f"as recorded, {recorded}", f"as the tool recorded it ({recorded})")
    for name in ("rule", "reading"):
        value = parameters.get(name)
        if value is not None and value != plain.get(name):
            return _Description(f"{name}={value}", f"replies parsed by the rule {value}")
    if "reading" in plain and "reading" not in parameters and parameters:
        return _Description("reading=other", "replies parsed by another rule than the default")
    return None


def _is_judge(role: str) -> bool:
    return role.partition("-")[0] == JUDGE


@_deviation("extractor", "extractor", "replies that no rule can parse were read by a model", field="config.roles")
def _extractor(run: RunInfo) -> _Description | None:
    extractor = run.config.roles.get("extractor")
    if extractor is None:
        return None
    return _Description(f"extractor {extractor.name}", f"replies that no rule can parse were read by {extractor.name}")


@_deviation("judge", "judge", "replies graded by a model", field="config.roles")
def _judge(run: RunInfo) -> _Description | None:
    names = [identity.name for role, identity in run.config.roles.items() if _is_judge(role)]
    if not names:
        return None
    label, sentence = f"judge {' + '.join(names)}", f"replies graded by {' + '.join(names)}"
    repeats, words = map(run.config.parameters.get, (JUDGE_REPEATS, RUBRIC_FILE))
    if repeats is not None:
        label, sentence = (f"{label}, {repeats} verdicts each", f"{sentence}, {repeats} verdicts for each")
    if words is not None:
        label, sentence = f"{label}, prompt {words}", f"{sentence}, asked in the words of {words}"
    return _Description(label, sentence)


@_deviation("roles", "other roles", "with further models", field="config.roles")
def _roles(run: RunInfo) -> _Description | None:
    others = {
        role: identity.name
        for role, identity in run.config.roles.items()
        # Another tool's own scorer is no choice of the run: its benchmarks are scored by it alone.
        if role != "extractor" and not _is_judge(role) and identity.provider != "bridge"
    }
    if not others:
        return None
    label = ", ".join(f"{role} {name}" for role, name in others.items())
    return _Description(label, f"with further models: {label}")


@_deviation("data", "data", "not the published data, or not compared with them", field="data.origin")
def _data(run: RunInfo) -> _Description | None:
    kind = run.data.origin.kind if run.data.origin is not None else ""
    meaning = {
        "custom": "on other data than the published",
        "unverified": "on data that were not compared with the published file",
    }.get(kind)
    if meaning is None:
        return None
    digest = run.data.digest[:_DIGITS]
    return _Description(f"data {digest}", f"{meaning}: {run.data.path} ({digest})")


@_deviation(
    "replies", "stored replies", "replies taken from the store, where an earlier run left them", field="reused.replies"
)
def _replies(run: RunInfo) -> _Description | None:
    """Replies that another run stored on an earlier day, or that another server gave."""
    reused = run.reused
    is_older = bool(reused.first) and reused.first[:10] < run.created[:10]
    if not (is_older or reused.addresses):
        return None
    first, last = reused.first[:10], reused.last[:10]
    source = first if first == last else f"{first} to {last}"
    if reused.addresses:
        source = ", ".join(filter(None, (" and ".join(reused.addresses), source)))
    replies = "reply" if reused.replies == 1 else "replies"
    return _Description(
        f"{reused.replies} stored {replies} of {source}",
        f"{reused.replies:,} {replies} not asked for but taken from the store ({source})",
    )


@_deviation("model_options", "options of the model", "the model was opened with options")
def _model_options(run: RunInfo) -> _Description | None:
    options = reply_options(run.model)
    if not options:
        return None
    label = ", ".join(f"{name}={value}" for name, value in options.items())
    return _Description(label, f"the model was opened with {label}")


def reply_options(model: str) -> dict[str, str]:
    """The options in a model's name that can change its replies, e.g. `images=first`."""
    try:
        _, options = split_options(model)
    except UsageError:
        return {}
    return {name: value for name, value in options.items() if name not in SERVICE_OPTIONS and name != "revision"}


@_deviation("version", "version of the benchmark", "another version of the benchmark")
def _version(run: RunInfo) -> _Description | None:
    current = _plain(run).version
    if current is None or current == run.config.version:
        return None
    version = run.config.version
    return _Description(f"version {version}", f"asked and scored by version {version}; this Snellen has {current}")


class _PlainSetting(NamedTuple):
    """A benchmark as it is without any flag."""

    version: str | None
    max_new_tokens: int
    parameters: Mapping[str, str]
    options: Mapping[str, str]
    """The default of each option, also of those that are not recorded at their default."""


def _plain(run: RunInfo) -> _PlainSetting:
    """The plain setting of the run's benchmark. A data file of the user's own may have the name of
    a registered benchmark and is none; such a file has no paper."""
    kind = run.data.origin.kind if run.data.origin is not None else ""
    is_file = kind == "own" or (kind == "predictions" and not run.paper)
    return _UNKNOWN if is_file else _plain_setting(run.config.benchmark)


_UNKNOWN = _PlainSetting(None, 0, {}, {})
"""The plain setting of data files, whose only options are those of videos."""


@functools.cache
def _video_defaults() -> Mapping[str, str]:
    from snellen.benchmarks.declaration.videos import video_options

    return {name: values[0] for name, values in video_options().items()}


@functools.cache
def _plain_setting(benchmark: str) -> _PlainSetting:
    # Here, because runs of data files need none of what benchmarks are declared with.
    from snellen.benchmarks.declaration.registry import is_registered, open_benchmark

    if not is_registered(benchmark):
        return _UNKNOWN
    try:
        plain = open_benchmark(benchmark, Variant())
    except UsageError:
        return _UNKNOWN
    defaults = {name: values[0] for name, values in plain.options.items() if values}
    return _PlainSetting(plain.version, plain.max_new_tokens, dict(plain.parameters), defaults)


@functools.cache
def _tokens_with(benchmark: str, options: tuple[tuple[str, str], ...]) -> int | None:
    from snellen.benchmarks.declaration.registry import open_benchmark

    try:
        return open_benchmark(benchmark, Variant(options=dict(options))).max_new_tokens
    except UsageError:
        return None


def _plain_tokens(run: RunInfo) -> int | None:
    """The longest reply without `--generation max_new_tokens=` under the run's own options; None if
    unknown."""
    plain = _plain(run)
    if plain.version is None:
        return None
    parameters = run.config.parameters
    options = {
        key: value for key, value in parameters.items() if is_option(key) and plain.options.get(key, value) != value
    }
    tokens: int | None = plain.max_new_tokens
    if options:
        tokens = _tokens_with(run.config.benchmark, tuple(sorted(options.items())))
    if tokens is not None and parameters.get("cot") == "on":
        from snellen.benchmarks.protocol.ask_config import COT_TOKENS

        return max(tokens, COT_TOKENS)
    return tokens
