"""`RunOptions`: what a run is made with beside its models and benchmarks.

Each field is written once, with the flag that fills it on the command line: `snellen run`,
`snellen plan`, `evaluate` and `plan` share them.
"""

# A field is what `option` returns, and never shared.
# ruff: noqa: RUF009
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass, replace
from difflib import get_close_matches
from numbers import Integral
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from snellen.api.flags import EXECUTOR_KEYS, SHARED_FLAGS, Flag, nested_option, option, parse_keys
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.request import Sampling
from snellen.core.shard import RunShard
from snellen.data.columns import check_column_keys

if TYPE_CHECKING:
    from snellen.core.model import AnyModel
    from snellen.engine.ray.placement import RayCluster

MAKER = "maker"
PLAIN = "plain"
SETUPS = (MAKER, PLAIN)
DEFAULT_OUT = "snellen-results"
DEFAULT_STORE = f"{DEFAULT_OUT}/store.sqlite"
"""The response store of commands that have no folder for runs."""

T = TypeVar("T")

VARIANT_FLAGS: Mapping[str, Flag] = {
    "system": Flag("--system", 'system prompt before each question to the model, e.g. "Be brief."', "TEXT"),
    **{name: SHARED_FLAGS[f"--{name}"] for name in ("control", "rule", "data", "columns", "circular", "failures")},
}
"""Flags that fill fields of `Variant`; `--generation` has its `max_new_tokens`."""
NO_ANSWERS = "gold"
"""The role that `--columns gold=` says no column has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """How models are reached and on what terms they are asked."""

    load: Sequence[Path | str] = option((), "--load")
    serve_timeout: float | None = None
    """Seconds for a server to become ready."""
    retries: int | None = option(None, "--requests")
    """Retries of a request after a temporary error; None: 7. `--requests` fills `serve_timeout` and
    `max_failures` too."""
    max_failures: str | None = None
    """End the run once more requests than this, `N` or `P%`, have failed permanently; None: once
    the first 20 to a server have all failed, or 20 in a row after it went away. Such a run is kept
    as interrupted."""
    budget: str | None = option(None, "--budget")
    prices: Sequence[str] = option((), "--price")


def parse_executor(text: str) -> RayCluster | None:
    """Read where models run: `local` is None, `ray[:KEY=VALUE,...]` a cluster. Raises
    UsageError."""
    name, colon, settings = text.partition(":")
    if name == "local" and not colon:
        return None
    if name != "ray":
        raise UsageError(f"{text!r} is no executor; expected local, ray or ray:replicas=4,gpus=1")
    from snellen.engine.ray.placement import RayCluster

    return RayCluster(**(parse_keys(EXECUTOR_KEYS, settings) if settings else {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(RequestOptions):
    """Everything a command that asks models is given beside its models and benchmarks.

    Built once, where arguments come in, and never changed. `snellen run --help` shows the same
    fields as flags."""

    out: Path | str = option(DEFAULT_OUT, "--out")
    store: Path | str | None = option(None, "--store")
    """None: `store.sqlite` in `out`."""
    fresh: str | None = option(None, "--fresh")
    """`""` (in code also True) goes on with the last such command that has not ended, or else
    begins another."""
    limit: int | None = option(None, "--limit")
    seed: int = option(0, "--seed")
    """Seed of the samples of `limit` and of the order of `until`."""
    shard: str | None = option(
        None,
        "--shard",
        "ask only the K-th of N equal shards of the samples, in a folder of its own inside --out; "
        "`snellen merge` joins them",
        metavar="K/N",
    )
    """One machine each, without a cluster: `out` gets a folder for the shard, with a store of its
    own."""
    variant: Variant = nested_option(Variant(), VARIANT_FLAGS)
    """How the benchmarks are built: data, columns, rotations, parsing rule, control, policy for
    failures, longest reply."""
    setup: str = option(
        MAKER,
        "--setup",
        "`maker` asks each model as its makers do, where that is known "
        "(prompt, sampling, longest reply, pixels, frames), `plain` as the benchmark says; "
        "your own flags and model options override both",
        choices=SETUPS,
    )
    """`maker`: models are asked as their makers ask them (`snellen list recipes`), in what neither
    the user nor the route decides; `plain`: as the benchmark says."""
    extend_truncated: int | None = None
    """Ask again, with this limit of tokens, for the replies that were cut at their limit. Both
    replies are kept. The run has a folder of its own, beside that of the shorter limit."""
    repeats: int = option(
        1,
        "--repeats",
        "ask each question K times and report mean, pass@k, majority and consistency",
        metavar="K",
        parse=int,
    )
    """Each reply is stored for itself."""
    sampling: Sampling = option(Sampling(), "--generation")
    """How replies are sampled where the options behind a model's name (`temperature`, `top_p`,
    `seed`) do not say; what neither says is as the benchmark has it."""
    extractors: Sequence[AnyModel] = option((), "--extractor")
    """One run for each, over the same replies."""
    judges: Sequence[AnyModel] = option((), "--judge")
    judge_repeats: int = 1
    """Ask for each verdict this many times, to see how much a judge varies. On the command line
    `--judge MODEL:repeats=N`."""
    clip: AnyModel = None
    """A CLIP model that compares generated images. On the command line `--judge clip/ORG/NAME`."""
    serve: str | None = option(
        None,
        "--serve",
        "start this model server for the run and stop it afterwards; "
        "{port} stands for the port and {model} for the name after -m, e.g. 'vllm "
        "serve {model} --port {port}'; or a one-file server, FILE.py",
        metavar="COMMAND",
    )
    """For the one model named or, with none, for the only one that the server lists. Names such as
    vllm/ORG/NAME have such a command of their own. Servers start when the first reply is missing
    and end with the call."""
    until: str | None = option(
        None,
        "--until",
        "ask in random order and stop once the score is this precise "
        "(`±1` or `+-1` points), or once one of two models is shown to be better "
        "(`A>B`)",
        metavar="RULE",
    )
    require_answers: bool = True
    """Whether a data file without a single answer is refused before anything is asked. On the
    command line `--columns gold=` says that there is none."""
    html: bool = option(True, "--no-html", "write no report.html", is_inverted=True)
    cluster: RayCluster | None = option(None, "--executor", parse=parse_executor)
    """Where models run as replicas on Ray, instead of in this process."""

    @staticmethod
    def complete_flags(values: dict[str, Any]) -> None:
        """Read what flags say within others: `repeats` of judges, CLIP models among them, and that
        no column has answers. Raises UsageError."""
        if values.get("judges"):
            values |= read_judges(values["judges"])
        variant = values.get("variant")
        if variant is not None and variant.columns.get(NO_ANSWERS) == "":
            columns = {role: name for role, name in variant.columns.items() if role != NO_ANSWERS}
            values |= {"variant": replace(variant, columns=columns), "require_answers": False}
        if values.get("serve") and values.get("cluster") is not None:
            raise UsageError("--serve starts one server here; on a cluster name vllm/ORG/NAME with -m")


_REPEATS = re.compile(r"(?<=[:,])repeats=([^,]*)(?:,|$)")


def read_judges(names: Sequence[str]) -> dict[str, Any]:
    """The fields `judges`, `judge_repeats` and `clip` from the values of `--judge`. Raises
    UsageError."""
    judges: list[str] = []
    clips: list[str] = []
    repeats: set[int] = set()
    for name in names:
        found = _REPEATS.search(name)
        spec = _REPEATS.sub("", name).rstrip(":,") if found else name
        if found and not found[1].isdecimal():
            raise UsageError(f"--judge {name}: repeats is {found[1]!r}; expected a whole number")
        if spec.startswith("clip/"):
            clips.append(spec)
        else:
            judges.append(spec)
            repeats.add(int(found[1]) if found else 1)
    if len(clips) > 1:
        raise UsageError(f"--judge names {len(clips)} CLIP models; expected one")
    if len(repeats) > 1:
        raise UsageError("all judges are asked equally often; give each the same repeats")
    return {
        "judges": tuple(judges),
        "judge_repeats": repeats.pop() if repeats else 1,
        "clip": clips[0] if clips else None,
    }


class RunOptionChanges(TypedDict, total=False):
    """The fields of `RunOptions` as `evaluate` and `plan` take them by name, so that type checkers
    and editors know them. Wider than the fields where `change_options` takes more."""

    load: Sequence[Path | str] | Path | str
    serve_timeout: float | None
    retries: int | None
    max_failures: str | None
    budget: str | None
    prices: Sequence[str]
    out: Path | str
    store: Path | str | None
    fresh: str | bool | None
    limit: int | None
    seed: int
    variant: Variant
    setup: str
    extend_truncated: int | None
    repeats: int
    sampling: Sampling
    extractors: Sequence[AnyModel] | AnyModel
    judges: Sequence[AnyModel] | AnyModel
    judge_repeats: int
    clip: AnyModel
    serve: str | None
    until: str | None
    shard: str | None
    require_answers: bool
    html: bool
    cluster: RayCluster | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions(RequestOptions):
    """How the runs that `why --ask` needs are made."""

    models: Sequence[str] = option((), "--model")
    """How a model of A or B is reached now, if its name does not say so."""
    out: Path | str | None = option(None, "--out")
    """None: `crossed`, next to A."""
    store: Path | str | None = option(None, "--store")
    """None: store.sqlite next to A, or in `out`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How commands on runs read the sources they are given: where the data of runs are now, and
    what prediction files among them answer."""

    benchmark: str | None = option(None, "--benchmark")
    """None: as the runs beside the files, else what these hold."""
    data: Sequence[str] = option((), "--data", is_repeatable=True)
    """Used for a run only if they are the same."""
    columns: Mapping[str, str] | None = option(None, "--columns")
    where: Mapping[str, str] | None = option(None, "--where")
    rule: str | None = option(None, "--rule")
    circular: str | None = option(None, "--circular")


def change_options(options: RunOptions, changes: Mapping[str, Any]) -> RunOptions:
    """The options with some fields replaced; a field with several values also accepts a single one.
    Raises UsageError for an unknown field, with where the setting belongs."""
    if not isinstance(options, RunOptions):
        raise UsageError(
            f"the options are of type {type(options).__name__}; expected snellen.RunOptions(...), "
            "or its fields by name, such as limit=10"
        )
    known = {field.name: field for field in fields(options)}
    for name in changes:
        if name not in known:
            raise UsageError(_unknown_field(name, list(known)))
    values = {name: clean_value(known[name], value) for name, value in changes.items()}
    return replace(options, **values)


def _unknown_field(name: str, known: Sequence[str]) -> str:
    for home, value in (("variant", Variant()), ("sampling", Sampling())):
        if hasattr(value, name):
            return f"RunOptions has no field {name!r}; write {home}=snellen.{home.capitalize()}({name}=...)"
    near = get_close_matches(name, known, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    return f"RunOptions has no field {name!r}{meant}; it has {', '.join(known)}"


def check_options(options: RunOptions) -> None:
    """Raises UsageError if no run can be made with these options."""
    check_types(options)
    check_repeats("--repeats", options.repeats)
    if options.setup not in SETUPS:
        raise UsageError(f"setup is {options.setup!r}; expected one of {', '.join(SETUPS)}")
    if options.limit is not None and options.limit < 1:
        raise UsageError(f"the limit is {options.limit}; expected at least 1 sample")
    if options.extend_truncated is not None and options.extend_truncated < 1:
        raise UsageError(
            f"extend_truncated is {options.extend_truncated}; expected a limit of tokens, such as "
            "32k (in Python: 32_000)"
        )
    if options.variant.columns:
        check_column_keys(options.variant.columns)
    if options.shard is not None:
        RunShard.parse(options.shard)
        if options.until is not None:
            raise UsageError("--until looks at all samples of a run, and --shard asks a part: leave one of them out")
    out = Path(options.out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out expects a folder")


def in_shard_folder(options: RunOptions) -> RunOptions:
    """The options with the folder of the shard as `out`, if there is one."""
    if options.shard is None:
        return options
    return replace(options, out=Path(options.out) / RunShard.parse(options.shard).folder)


def check_repeats(flag: str, repeats: object) -> None:
    """Raises UsageError if `repeats` is not a positive whole number."""
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise UsageError(f"{flag} is {repeats}; expected a whole number from 1")


def variant_with_roles(options: RunOptions) -> Variant:
    """The variant, with which roles are filled: extractor, judges, CLIP model.

    Raises UsageError if verdicts are to be repeated and there is no judge."""
    check_repeats("judge_repeats", options.judge_repeats)
    if options.judge_repeats > 1 and not options.judges:
        raise UsageError("judge_repeats asks judges again; name one (judges, or --judge MODEL:repeats=N)")
    return replace(
        options.variant,
        extractor=bool(options.extractors),
        clip=options.clip is not None,
        judges=len(options.judges),
        judge_repeats=options.judge_repeats,
    )


def as_list(value: Sequence[T] | str) -> Sequence[T | str]:
    """A sequence of names; a single name becomes a list of one."""
    return [value] if isinstance(value, str) else value


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "None": type(None),
    "bool": bool,
    "int": int,
    "float": (int, float),
    "str": str,
    "Path": PurePath,
    "Variant": Variant,
    "Sampling": Sampling,
}
"""Types by their spelling in annotations; values of other types are not checked."""
_LISTS = "Sequence["
_SHOWN = 60
"""Characters of a value in an error message."""


def clean_value(field: Field[Any], value: Any) -> Any:
    """Normalise the value of a field: numpy integers, a single value in place of a list,
    `fresh=True`."""
    if field.name == "fresh" and isinstance(value, bool):
        return "" if value else None
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if str(field.type).startswith(_LISTS) and not isinstance(value, list | tuple):
        return () if value is None else (value,)
    return value


def check_types(options: Any, path: str = "") -> None:
    """Raises UsageError if a field of an options object has a value of another type than it is
    annotated with; `path` leads the fields of nested objects."""
    # As they are written: of a dataclass with those that it inherits, of a Struct its own.
    annotated = [(each.name, str(each.type)) for each in fields(options)] if is_dataclass(options) else None
    for name, annotation in annotated or type(options).__annotations__.items():
        value = getattr(options, name)
        names = [part.strip() for part in annotation.split("|")]
        if any(part not in _TYPES for part in names):
            continue
        # True is an int for Python.
        is_truth_value = isinstance(value, bool) and "bool" not in names
        if is_truth_value or not any(isinstance(value, _TYPES[part]) for part in names):
            raise UsageError(
                f"{path}{name} is {repr(value)[:_SHOWN]}, of type {type(value).__name__}; "
                f"expected {_describe_types(names)}"
            )
        if isinstance(value, Variant | Sampling):
            check_types(value, f"{path}{name}.")


def _describe_types(names: list[str]) -> str:
    """The expected types in words; classes of Snellen by their names in code."""
    classes = {"Variant": "snellen.Variant(...)", "Sampling": "snellen.Sampling(...)"}
    return " or ".join(classes.get(name, name) for name in names)
