"""Flags of the command line: how one is typed and its text read, those that several commands have,
and fields of options classes that are flags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from typing import Any, NamedTuple

from snellen.core.errors import UnknownName, UsageError

RULES = ("snellen", "vlmevalkit", "lmms-eval", "official")
FAILURES = ("exclude", "count-wrong", "as-reply", "withhold", "withhold>P%")
FLAGS = "flags"
"""Key of a field's metadata: its `Flag`, a mapping of flags by the fields of its value, or the
options class that it holds."""


class FlagKey(NamedTuple):
    """One setting of a flag that takes `KEY=VALUE,...`."""

    help: str
    parse: Callable[[str], Any] = str
    field: str = ""
    """The field that it fills, e.g. `variant.max_new_tokens`; empty: the key of that name in the
    flag's own value."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag of the command line, or a positional argument. `parse` reads its text and may raise
    UsageError."""

    name: str
    """`--limit`; without dashes, the name of a positional argument."""
    help: str
    metavar: str | tuple[str, ...] | None = None
    """What stands for the value in `--help`; a name for each word of a flag with several."""
    parse: Callable[[str], Any] | None = None
    short: str = ""
    choices: tuple[str, ...] | None = None
    is_repeatable: bool = False
    is_switch: bool = False
    is_inverted: bool = False
    """A switch that turns its field off."""
    bare_value: str | None = None
    """What the flag means without a value; None: a value must follow."""
    count: str | int | None = None
    """How many words follow, as `nargs` of argparse: `+`, `*`, `?` or a number."""
    group: str = ""
    """The heading under which `--help` lists it."""
    keys: Mapping[str, FlagKey] | None = None
    """The settings of a flag that takes `KEY=VALUE,...`."""

    @property
    def destination(self) -> str:
        """The attribute of the parsed arguments."""
        return self.name.lstrip("-").replace("-", "_")

    @property
    def fills_keys(self) -> bool:
        """Whether its value is read as `KEY=VALUE,...`, and not by a `parse` of its own."""
        return self.keys is not None and self.parse is None


def parse_keys(keys: Mapping[str, FlagKey], text: str) -> dict[str, Any]:
    """Read `KEY=VALUE,...` of a flag with these keys. Raises UsageError."""
    values: dict[str, Any] = {}
    for name, value in parse_pairs(text).items():
        key = name.replace("-", "_")
        if key not in keys:
            raise UnknownName("key", name, list(keys))
        try:
            values[key] = keys[key].parse(value)
        except ValueError:
            kind = "a whole number" if keys[key].parse is int else "a number"
            raise UsageError(f"{name}={value}: expected {kind}") from None
    return values


def parse_pairs(text: str) -> dict[str, str]:
    """Read `key=value,...`. Raises UsageError."""
    pairs: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals:
            raise UsageError(f"{pair!r} is not of the form key=value")
        pairs[key.strip()] = value
    return pairs


def parse_facts(text: str) -> dict[str, str]:
    """Read `key=value,...` whose values may have commas: a comma ends one if a word and `=` follow
    it. Raises UsageError."""
    facts: dict[str, str] = {}
    for part in re.split(r",(?=\s*[\w-]+=)", text):
        key, equals, value = part.partition("=")
        if not key.strip() or not equals:
            raise UsageError(f"{part!r} is not of the form key=value")
        facts[key.strip()] = value
    return facts


def parse_token_count(text: str) -> int:
    """Read a number of tokens: `4096`, or `32k` for 32,000. Raises UsageError."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*(k?)", text.strip().lower())
    count = float(match[1]) * (1000 if match[2] else 1) if match else 0.0
    if count < 1 or count != int(count):
        raise UsageError(f"{text!r} is no number of tokens; expected e.g. 4096 or 32k")
    return int(count)


def parse_rule(text: str) -> str:
    """Read the name of a parsing rule, with the version of VLMEvalKit's. Raises UsageError."""
    if text in RULES or text.startswith("vlmevalkit@"):
        return text
    raise UsageError(f"invalid choice: {text!r} (choose from {', '.join(RULES)})")


def parse_failure_policy(text: str) -> str:
    """Read what failed samples do to the score. Raises UsageError."""
    if text in FAILURES[:-1] or text.startswith("withhold>"):
        return text
    raise UsageError(f"invalid choice: {text!r} (choose from {', '.join(FAILURES)})")


def parse_share(text: str) -> float:
    """Read a fraction, typed `0.1` or `10%`; its user checks the range. Raises UsageError."""
    number = text.strip().removesuffix("%")
    try:
        return float(number) / (1 if number == text.strip() else 100)
    except ValueError:
        raise UsageError(f"{text!r}: expected a share from 0 to 1, e.g. 0.1 or 10%") from None


def parse_percent(text: str) -> float:
    """Read a percentage, typed `95` or `95%`. Raises UsageError."""
    try:
        return float(text.strip().removesuffix("%"))
    except ValueError:
        raise UsageError(f"{text!r}: expected a percentage, e.g. 95") from None


FORMATS = ("table", "json", "csv", "markdown", "latex", "html")
GENERATION_KEYS: Mapping[str, FlagKey] = {
    "temperature": FlagKey("sampling temperature (default: the benchmark's, mostly 0)", float),
    "top_p": FlagKey("sample from the most likely tokens whose probabilities sum to this value", float),
    "top_k": FlagKey("sample from this many most likely tokens; 0 from all", int),
    "repetition_penalty": FlagKey("divide the scores of tokens that prompt or reply hold already (1: none)", float),
    "presence_penalty": FlagKey(
        "subtract this from the scores of tokens that the reply holds already (0: none)", float
    ),
    "seed": FlagKey("seed of the first repeat; repeat r uses seed + r, counted from 0", int),
    "max_new_tokens": FlagKey("the most tokens of a reply", int, "variant.max_new_tokens"),
    "extend_truncated": FlagKey(
        "ask again, with this limit of tokens, for the replies that were cut at their limit, and "
        "for no others; e.g. 32k",
        parse_token_count,
        "extend_truncated",
    ),
}
REQUEST_KEYS: Mapping[str, FlagKey] = {
    "retries": FlagKey("retries of a request after a temporary error (7)", int, "retries"),
    "max_failures": FlagKey(
        "end the run once more requests than this, N or P%%, have failed permanently (default: once "
        "the first 20 to a server have all failed, or 20 in a row after it went away)",
        str,
        "max_failures",
    ),
    "serve_timeout": FlagKey("seconds for a server to become ready", float, "serve_timeout"),
}
EXECUTOR_KEYS: Mapping[str, FlagKey] = {
    "replicas": FlagKey("copies of each model (1)", int),
    "gpus": FlagKey("GPUs for each copy, may be a fraction such as 0.5 (0)", float),
    "cpus": FlagKey("CPU cores for each copy (1)", float),
    "address": FlagKey("a running cluster, or auto (one is started on this machine)"),
}

_FLAGS = (
    # What is printed and written.
    Flag("--format", "how results are printed", choices=FORMATS),
    Flag("--json", "the same as --format json", is_switch=True),
    Flag(
        "--output",
        "write the results to a file in the format of its ending: .txt .json .csv .md .tex .html; "
        "or draw them: .svg .png .pdf; repeat for several",
        "FILE",
        short="-o",
        is_repeatable=True,
    ),
    Flag("--out", "the folder that this command writes", "DIR"),
    Flag("--quiet", "show no progress", short="-q", is_switch=True),
    Flag("--top", "rows of each table", "N", int),
    # Models and how they are asked.
    Flag(
        "--model",
        "provider/model[:key=value,...], e.g. snellen/tiny, hf/ORG/NAME:dtype=bfloat16, random; repeat for several",
        "MODEL",
        short="-m",
        is_repeatable=True,
    ),
    Flag(
        "--judge",
        "a model that grades replies or explanations; with :repeats=N it is asked N times for each "
        "verdict; a CLIP model (clip/ORG/NAME) compares generated images; repeat for several, "
        "whose verdicts are combined; for predictions also column:NAME (recorded verdicts) or off",
        "MODEL",
        is_repeatable=True,
    ),
    Flag(
        "--extractor",
        "a model that reads replies which no rule can parse; repeat to compare several; for "
        "predictions also column:NAME (answers in a column)",
        "MODEL",
        is_repeatable=True,
    ),
    Flag(
        "--generation",
        "how replies are generated, where the options behind a model's name do not say it",
        "KEY=VALUE,...",
        keys=GENERATION_KEYS,
    ),
    Flag("--requests", "how requests are sent", "KEY=VALUE,...", keys=REQUEST_KEYS),
    Flag(
        "--executor",
        "`local`: models run in this process; `ray[:KEY=VALUE,...]`: as replicas on a Ray cluster",
        "EXECUTOR",
        keys=EXECUTOR_KEYS,
    ),
    Flag(
        "--load",
        "a Python file with a model or benchmark of your own; or ORG/NAME@COMMIT: the code of that checkpoint may run",
        "FILE.py",
        is_repeatable=True,
    ),
    Flag(
        "--budget",
        "what this command may spend, e.g. 5usd or 2Mtok; requests without an answer yet count at the "
        "price of their longest possible reply",
        "AMOUNT",
    ),
    Flag(
        "--price",
        "price of a million tokens, for models whose price Snellen does not know",
        "MODEL:input=USD,output=USD",
        is_repeatable=True,
    ),
    Flag("--store", "the response store; if none is named, store.sqlite in the folder of --out", "FILE"),
    Flag(
        "--fresh",
        "ask again, even if replies are stored; repeat the command to resume, and use a NAME to "
        "refer to these replies later",
        "NAME",
        bare_value="",
    ),
    Flag("--seed", "seed of random choices", "N", int),
    Flag("--limit", "only N samples, selected at random", "N", int),
    # Benchmarks, data and runs.
    Flag(
        "--benchmark",
        "a name such as eyechart or scienceqa:split=val, a suite such as openvlm-core, or a data "
        "or TOML file of your own; for files of predictions: what they answer",
        "BENCHMARK",
        short="-b",
    ),
    Flag(
        "--data",
        "data file in place of the benchmark's own; for runs: where their data are now, if they were moved",
        "FILE",
    ),
    Flag(
        "--columns",
        "names of your columns, e.g. question=text,gold=label; ignore=A+B: columns that are not "
        "read; label_answer=NAME or label_right=NAME: what people say of scored replies",
        "ROLE=NAME,...",
        parse_pairs,
    ),
    Flag("--where", "only these rows of a file of predictions, or these runs", "COLUMN=VALUE,...", parse_pairs),
    Flag(
        "--rule",
        "rule that parses the replies: `snellen`, `vlmevalkit` or `lmms-eval` (without a judge), or `official`, "
        "the script of the benchmark's authors, if there is one; `vlmevalkit@2025-04` is the rule "
        "of that month",
        "|".join(RULES),
        parse_rule,
    ),
    Flag(
        "--circular",
        "every rotation of the options: `early` stops at the first failed pass, `full` asks all, `off` "
        "asks one; the flag alone means `early`, and MMBench is circular without it",
        choices=("early", "full", "off"),
        bare_value="early",
    ),
    Flag(
        "--failures",
        "how failed and missing samples affect the score (default: left out, with a notice; by the "
        "rule of another tool as there, mostly `as-reply`: error messages are scored like any "
        "reply, missing ones are left out); `withhold>P%%` withholds the score if more than P%% of "
        "them failed",
        "|".join(FAILURES),
        parse_failure_policy,
    ),
    Flag(
        "--control",
        "`blind` removes the images (text-only models can be asked), `black` replaces them with "
        "black ones, `blur[:PERCENT]` blurs them, `wrong-image[:SEED]` swaps them between "
        "questions; `shuffled-options[:SEED]` shuffles the options",
        "CONTROL",
    ),
    Flag("--runs", "run folders, folders of runs, or files of predictions", "RUN", is_repeatable=True),
    Flag("--group", "column whose values group the samples, e.g. category", "NAME"),
    Flag(
        "--filter", "only models of the catalog with these facts, e.g. open,size<10,modality=video,name~qwen", "FILTER"
    ),
    Flag("--common", "only the samples that all runs share, where their data or samples differ", is_switch=True),
    Flag("--name", "the name in tables and files", "NAME"),
    Flag(
        "--track",
        "log the results to tensorboard:DIR, wandb:PROJECT or mlflow:URI; repeat for several",
        "KIND:WHERE",
        is_repeatable=True,
    ),
    # Statistics.
    Flag("--level", "confidence of intervals and tests", "PERCENT", parse_percent),
    Flag("--power", "power of tests and of a study", "PERCENT", parse_percent),
    Flag("--share", "which share is sampled or flagged, e.g. 0.1 or 10%%", "SHARE", parse_share),
    # Files that people fill in, and pages.
    Flag("--each", "show or draw N samples of each group, cause or verdict", "N", int),
    Flag("--only", "only these groups, models or tasks, in this order", "NAME,..."),
    Flag("--port", "port to serve on; 0 takes a free one", "N", int),
    Flag("--open", "open the browser", is_switch=True),
    Flag("--facts", "facts that are stated of a model, a data set or a publication", "KEY=VALUE,...", parse_facts),
    Flag("--repair", "mend what can be mended", is_switch=True),
    Flag("--allow-missing", "questions without a reply count as wrong, instead of a refusal", is_switch=True),
    Flag("--publish", "publish the scores", is_switch=True),
    Flag("--withdraw", "take a submission, or the numbers of a source, off its board", "ID"),
    Flag("--list", "list what can be named here, and do nothing else", is_switch=True),
    Flag("--from", "benchmarks of another tool: vlmevalkit, lmms-eval, inspect", "TOOL"),
    Flag("--title", "a title for readers", "TEXT"),
    Flag("--description", "a sentence or paragraph for readers", "TEXT"),
    Flag("--seal-key", "file of the key that encrypts hidden answers", "FILE"),
)
SHARED_FLAGS: Mapping[str, Flag] = {flag.name: flag for flag in _FLAGS}
"""Flags that more than one command has. A flag of one name means one thing everywhere: commands
differ in its default alone, which `--help` appends to the help line."""


class OptionFlag(NamedTuple):
    """A flag, the field that it fills, and that field's default; `MISSING` if it is required."""

    field: str
    flag: Flag
    default: Any


def option(default: Any, name: str, help: str = "", **settings: Any) -> Any:
    """A dataclass field that is also a flag; `settings` are fields of `Flag`. A flag of several
    commands stands in `SHARED_FLAGS`, and needs its name alone; what differs from there is given.
    Without a value, `MISSING` as the default means that the flag is required."""
    shared = SHARED_FLAGS.get(name)
    if shared is None:
        return _flag_field(default, Flag(name, help, **settings))
    if help:
        raise ValueError(f"{name} is a shared flag; its help stands in SHARED_FLAGS alone")
    return _flag_field(default, replace(shared, **settings) if settings else shared)


def argument(metavar: str, help: str, count: str | int | None = None, **settings: Any) -> Any:
    """A dataclass field that is a positional argument, required unless `count` is `*` or `?`."""
    default: Any = {"*": (), "?": None}.get(str(count), MISSING)
    return _flag_field(default, Flag(metavar, help, metavar, count=count, **settings))


def nested_option(default: Any, flags: Mapping[str, Flag]) -> Any:
    """A dataclass field whose value has fields of its own, with `flags` by the names of these."""
    return field(default=default, metadata={FLAGS: flags})


def options_field(options: type) -> Any:
    """A dataclass field that holds another options class, whose flags the command has too."""
    return field(default_factory=options, metadata={FLAGS: options})


def _flag_field(default: Any, flag: Flag) -> Any:
    if isinstance(default, Mapping):
        return field(default_factory=lambda: default, metadata={FLAGS: flag})
    return field(default=default, metadata={FLAGS: flag})


def option_flags(options: type) -> Iterator[OptionFlag]:
    """The flags of an options class: those of its own fields, then those of the classes that it
    inherits from, in their order."""
    homes: dict[str, int] = {}
    for place, home in enumerate(options.__mro__):
        homes = dict.fromkeys(vars(home).get("__annotations__", {}), place) | homes
    for option_field in sorted(fields(options), key=lambda each: homes[each.name]):
        flags = option_field.metadata.get(FLAGS, {})
        if isinstance(flags, Flag):
            yield OptionFlag(option_field.name, flags, field_default(option_field))
            continue
        if isinstance(flags, type):
            yield from option_flags(flags)
            continue
        for name, flag in flags.items():
            yield OptionFlag(name, flag, getattr(option_field.default, name))


def field_default(option_field: Field[Any]) -> Any:
    """The default of a field; `MISSING` without one."""
    if option_field.default_factory is not MISSING:
        return option_field.default_factory()
    return option_field.default
