"""`RunOptions`: what a run is made with beside its models and benchmarks.

Each field is written once, with the flag that fills it on the command line: `snellen run`,
`snellen plan`, `evaluate` and `plan` share them.
"""

# A field is what `option` returns, and never shared.
# ruff: noqa: RUF009
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from snellen.api.flags import (
    FAILURES,
    RULES,
    Flag,
    nested_option,
    option,
    parse_failure_policy,
    parse_pairs,
    parse_rule,
)
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.request import Sampling
from snellen.data.columns import check_column_keys

if TYPE_CHECKING:
    from snellen.core.model import Model
    from snellen.engine.ray.placement import RayCluster

STORE_FILE = "store.sqlite"
DEFAULT_OUT = "snellen-results"

T = TypeVar("T")

VARIANT_FLAGS: Mapping[str, Flag] = {
    "max_new_tokens": Flag("--max-new-tokens", "longest reply, in tokens", "N", int),
    "control": Flag(
        "--control",
        "`blind` shows no picture (text-only models may be asked), `black` black ones, "
        "`blur[:PERCENT]` blurred ones, `wrong-image[:SEED]` those of other questions; "
        "`shuffled-options[:SEED]` reorders the options",
        "CONTROL",
    ),
    "rule": Flag(
        "--rule",
        "whose rules read the replies: `snellen`, `vlmevalkit` (without a judge) or `official`, "
        "the script of the benchmark's authors where it has one; `vlmevalkit@2025-04` as it was "
        "then",
        "|".join(RULES),
        parse_rule,
    ),
    "data": Flag("--data", "data to use in place of the benchmark's", "FILE"),
    "columns": Flag(
        "--columns",
        "what your columns are called, e.g. question=text,gold=label",
        "ROLE=NAME,...",
        parse_pairs,
    ),
    "circular": Flag(
        "--circular",
        "ask every rotation of the options; `early` (default) stops at the first failed pass, "
        "`full` asks all, `off` asks once; MMBench is circular by itself",
        choices=("early", "full", "off"),
        bare_value="early",
    ),
    "failures": Flag(
        "--failures",
        "what failed and missing samples do to the score (default: left out, with a notice); with "
        "a share, it is withheld where more of them failed",
        "|".join(FAILURES),
        parse_failure_policy,
    ),
}

SAMPLING_FLAGS: Mapping[str, Flag] = {
    "temperature": Flag(
        "--temperature",
        "how freely the models draw their replies (default: as the benchmark has it, mostly 0); "
        "also an option behind a model's name, as top_p and seed are",
        "T",
        float,
    ),
    "top_p": Flag(
        "--top-p",
        "draw among the likeliest tokens that together have this probability",
        "P",
        float,
    ),
    "seed": Flag(
        "--sampling-seed", "seed of the first draw; draw r has N + r, counted from 0", "N", int
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestOptions:
    """How models are reached and on what terms they are asked."""

    load: Sequence[Path | str] = option(
        (), "--load", "a Python file with a model or benchmark of your own", metavar="FILE.py",
        is_repeatable=True,
    )  # fmt: skip
    serve_timeout: float | None = option(
        None, "--serve-timeout", "how long a server may take until it is ready", metavar="SECONDS",
        parse=float,
    )  # fmt: skip
    retries: int | None = option(
        None, "--retries", "how often a request to a server is sent again when it failed in a way "
        "that may pass (default: 7)", metavar="N", parse=int,
    )  # fmt: skip
    max_failures: str | None = option(
        None, "--max-failures", "end the run when more requests failed for good (default: when the "
        "first 20 to a server all did, or 20 in a row once it is gone)", metavar="N|P%",
    )  # fmt: skip
    """Such a run is kept as interrupted."""
    budget: str | None = option(
        None, "--budget", "send nothing more once this command has spent so much, e.g. 5usd or "
        "2Mtok", metavar="AMOUNT",
    )  # fmt: skip
    prices: Sequence[str] = option(
        (), "--price", "what a million tokens of a model cost, where Snellen knows no price",
        metavar="MODEL:input=USD,output=USD", is_repeatable=True,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(RequestOptions):
    """Everything a command that asks models is given beside its models and benchmarks.

    Built once, where arguments come in, and never changed. `snellen run --help` shows the same
    fields as flags."""

    out: Path | str = option(DEFAULT_OUT, "--out", "where runs are kept", metavar="DIR")
    store: Path | str | None = option(
        None, "--store", "response store (default: OUT/store.sqlite)", metavar="FILE"
    )
    fresh: str | None = option(
        None, "--fresh", "ask anew whatever the store has; the same command goes on with what it "
        "left, and a NAME finds these replies again", metavar="NAME", bare_value="",
    )  # fmt: skip
    """`""` goes on with the last such command that has not ended, or else begins another."""
    limit: int | None = option(
        None, "--limit", "ask a random N of the samples", metavar="N", parse=int
    )
    seed: int = option(
        0, "--seed", "chooses the samples of --limit, the order of --until", parse=int
    )
    variant: Variant = nested_option(Variant(), VARIANT_FLAGS)
    """How the benchmarks are built: data, columns, rotations, parsing rule, control, policy for
    failures, longest reply."""
    recipes: bool = option(
        True, "--no-recipe", "ask as the benchmark asks everybody, not as a model's authors "
        "prescribe", is_inverted=True,
    )  # fmt: skip
    """Whether models are asked with the prompt that their authors prescribe, if there is one and
    the user named none."""
    repeats: int = option(
        1, "--repeats", "ask each question K times and report mean, pass@k, majority and "
        "consistency", metavar="K", parse=int,
    )  # fmt: skip
    """Each reply is stored for itself."""
    sampling: Sampling = nested_option(Sampling(), SAMPLING_FLAGS)
    """How replies are sampled where the options behind a model's name (`temperature`, `top_p`,
    `seed`) do not say; what neither says is as the benchmark has it."""
    extractors: Sequence[str | Model] = option(
        (), "--extractor", "a model that reads the replies no rule can match; repeat to compare "
        "several", metavar="MODEL", is_repeatable=True,
    )  # fmt: skip
    """One run for each, over the same replies."""
    judges: Sequence[str | Model] = option(
        (), "--judge", "a model that grades replies where a benchmark needs it; repeat for "
        "several, whose verdicts are put together", metavar="MODEL", is_repeatable=True,
    )  # fmt: skip
    judge_repeats: int = option(
        1, "--judge-repeats", "ask for each verdict J times, in the same way, and show how far a "
        "judge varies", metavar="J", parse=int,
    )  # fmt: skip
    clip: str | Model | None = option(
        None, "--clip", "a CLIP model that compares drawn pictures, e.g. "
        "clip/openai/clip-vit-large-patch14", metavar="MODEL",
    )  # fmt: skip
    serve: str | None = option(
        None, "--serve", "start this model server, ask it, and stop it; {port} stands for the port "
        "and {model} for the name after -m, e.g. 'vllm serve {model} --port {port}'",
        metavar="COMMAND",
    )  # fmt: skip
    """For the one model named or, with none, for the only one that the server lists. Names such as
    vllm/ORG/NAME have such a command of their own. Servers start when the first reply is missing
    and end with the call."""
    until: str | None = option(
        None, "--until", "ask in random order and stop once the score is known so well (`±1` or "
        "`+-1` points), or once one of the two models is known to be better (`A>B`)",
        metavar="RULE",
    )  # fmt: skip
    require_answers: bool = option(
        True, "--without-answers", "ask the questions of a data file although none has an answer, "
        "so that nothing can be scored", is_inverted=True,
    )  # fmt: skip
    """Whether a data file without a single answer is refused before anything is asked."""
    html: bool = option(True, "--no-html", "write no report.html", is_inverted=True)
    cluster: RayCluster | None = None
    """Where models run as replicas on Ray, instead of in this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskOptions(RequestOptions):
    """How the runs that `why --ask` needs are made."""

    models: Sequence[str] = option(
        (), "--model", "with --ask: how a model of A or B is reached now, where its name does not "
        "say, e.g. http://localhost:8000/v1#NAME; repeat for several", short="-m",
        metavar="MODEL", is_repeatable=True,
    )  # fmt: skip
    out: Path | str | None = option(
        None, "--out", "where runs of --ask are kept (default: `crossed`, beside A)", metavar="DIR"
    )
    store: Path | str | None = option(
        None, "--store", "response store of --ask (default: store.sqlite beside A, or in OUT)",
        metavar="FILE",
    )  # fmt: skip


def change_options(options: RunOptions, changes: Mapping[str, Any]) -> RunOptions:
    """The options with other values of some fields. Raises UsageError for an unknown field."""
    names = [field.name for field in fields(options)]
    for name in changes:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            meant = f" (did you mean {near[0]}?)" if near else ""
            raise UsageError(f"RunOptions has no field {name!r}{meant}; it has {', '.join(names)}")
    return replace(options, **changes)


def check_options(options: RunOptions) -> None:
    """Raises UsageError if no run can be made with these options."""
    check_repeats("--repeats", options.repeats)
    check_limit(options.limit)
    check_column_keys(options.variant.columns)
    out = Path(options.out)
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is a file; --out expects a folder")


def check_limit(limit: int | None) -> None:
    """Raises UsageError if no sample would be asked."""
    if limit is not None and limit < 1:
        raise UsageError(f"the limit is {limit}; expected at least 1 sample")


def check_repeats(flag: str, repeats: object) -> None:
    """Raises UsageError if `repeats` is not a positive whole number."""
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise UsageError(f"{flag} is {repeats}; expected a whole number from 1")


def variant_with_roles(options: RunOptions) -> Variant:
    """The variant, with which roles are filled: extractor, judges, CLIP model.

    Raises UsageError if verdicts are to be repeated and there is no judge."""
    check_repeats("--judge-repeats", options.judge_repeats)
    if options.judge_repeats > 1 and not options.judges:
        raise UsageError("--judge-repeats asks judges again; name one with --judge")
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
