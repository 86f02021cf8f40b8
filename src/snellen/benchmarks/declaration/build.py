"""From a declaration and a variant to the value that the engine runs: the one place that applies
options, few-shot examples, controls, videos and gates, in one order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast, get_args

from msgspec import structs

from snellen.benchmarks.declaration.data_file import UserFile
from snellen.benchmarks.declaration.declaration import Declaration, Headline, Options, ResolvedVariant
from snellen.benchmarks.declaration.own_columns import keep_other_columns, metadata_notice
from snellen.benchmarks.declaration.rows import at_row, check_unique_ids, compose_adjustments, rows_to_samples
from snellen.benchmarks.declaration.units import UNIT
from snellen.benchmarks.declaration.videos import find_videos, show_videos, split_video_options, video_options
from snellen.benchmarks.protocol.ask_config import check_allowed
from snellen.benchmarks.protocol.control import apply_control
from snellen.benchmarks.protocol.few_shot import SHOTS, SHOTS_FROM, select_few_shot
from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow
from snellen.benchmarks.protocol.gate import apply_gate, split_gate
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.benchmarks.protocol.parsers import OWN, base_rule, failures_of, select_rule
from snellen.benchmarks.protocol.system_prompt import apply_system_prompt
from snellen.core.benchmark import COORDINATES, Benchmark, BenchmarkFactory, BenchmarkFacts, DataTable, Variant
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import FailurePolicy, Summary, SummaryContext
from snellen.data.predictions import reply_columns
from snellen.scoring.accuracy import summarise
from snellen.scoring.guesses import guess_notices


def build(source: Declaration | BenchmarkFactory | Benchmark, variant: Variant, *, notice: str = "") -> Benchmark:
    """The benchmark of a variant. The order of these steps is the contract; nothing else wraps:

    1. the gate (`withhold>5%`) is taken off the failure policy;
    2. the declaration under its options, in `assemble`: rows, then `STAGES`: prompt, parsers and
       judges; the headline; videos;
    3. few-shot examples, drawn when the data are first read, and never asked themselves;
    4. the control: options shuffled in the data, or images changed right before they are shown;
    5. the user's system prompt before what the model is asked;
    6. the gate over the finished summary.

    A plug-in may give a function of the variant, or a finished benchmark, in place of a
    declaration: step 2 is then its own, and a finished benchmark has no step 3. `notice` is
    `Benchmark.notice`. Raises UsageError.
    """
    gate = split_gate(variant) if ">" in (variant.failures or "") else None
    if gate is not None:
        variant = gate.variant
    if isinstance(source, Benchmark):
        benchmark = source
    else:
        open_variant = partial(assemble, source) if isinstance(source, Declaration) else source
        if variant.options.keys() & {SHOTS, SHOTS_FROM}:
            benchmark = select_few_shot(open_variant, variant)
        else:
            benchmark = open_variant(variant)
    if variant.judge_prompt and JUDGE not in benchmark.extra_roles:
        _check_judge_prompt(source, variant, benchmark.name)
        benchmark = replace(
            benchmark,
            notice=f"no judge is named, so nobody is asked in the words of {variant.judge_prompt}; "
            "name one with --judge",
        )
    if notice:
        benchmark = replace(benchmark, notice=notice)
    if variant.control is not None:
        benchmark = apply_control(benchmark, variant.control)
    if variant.system is not None:
        benchmark = apply_system_prompt(benchmark, variant.system)
    return benchmark if gate is None else apply_gate(benchmark, gate.max_fraction)


def _check_judge_prompt(source: Declaration | BenchmarkFactory | Benchmark, variant: Variant, name: str) -> None:
    """Raise UsageError for words of a judge where the benchmark asks none."""
    asked = replace(variant, judges=1, judge_prompt="")
    if variant.judges or JUDGE not in build(source, asked).extra_roles:
        raise UsageError(
            f"{name} asks no judge, so that judge_prompt={variant.judge_prompt} would change nothing; leave it out"
        )


def all_options(declaration: Declaration, data: str | None) -> set[str]:
    """The names of the options of a declaration over its own or the user's data."""
    if declaration.for_variant is not None:
        declaration = declaration.for_variant(declaration, Variant(data=data))
    names = set(declaration.scoring.options(declaration))
    return names | set(video_options()) if declaration.video else names


def assemble(declaration: Declaration, variant: Variant) -> Benchmark:
    """The declaration under a variant without gate; controls and the selection of few-shot
    examples come later. Raises UsageError."""
    if declaration.for_variant is not None:
        declaration = declaration.for_variant(declaration, variant)
    video = None
    if declaration.video is not None:
        variant, video = split_video_options(
            variant, declaration.video.defaults, allow_shots=declaration.video.allow_shots
        )
    scoring = declaration.scoring
    listed = scoring.options(declaration)
    rule = select_rule(declaration.name, variant, scoring.rules)
    failures = variant.failures or failures_of(rule, declaration.counts_missing)
    resolved = ResolvedVariant(
        declaration=declaration,
        variant=variant,
        options=_resolve_options(declaration.name, variant, scoring.allowed_options(listed, variant)),
        rule=rule,
        failures=cast(FailurePolicy, check_allowed("failures", failures, get_args(FailurePolicy))),
        video=video,
    )
    benchmark = _plain_benchmark(resolved)
    for stage in STAGES:
        benchmark = stage(benchmark, resolved)
    return benchmark


def _plain_benchmark(resolved: ResolvedVariant) -> Benchmark:
    """What the declaration says, with its questions asked once and their scores averaged."""
    declaration, variant, rule = resolved.declaration, resolved.variant, resolved.rule
    facts: dict[str, Any] = {fact.name: getattr(declaration, fact.name) for fact in fields(BenchmarkFacts)}
    return Benchmark(
        **facts,
        headline=declaration.headline.name,
        open=partial(_open_table, declaration, variant),
        fetch=declaration.data.fetcher(variant),
        samples=partial(_read_samples, declaration, resolved.options),
        flow=SinglePassFlow(AskConfig(Generation())),
        summarise=partial(summarise, failures=resolved.failures),
        options=declaration.scoring.options(declaration),
        rules=tuple(declaration.scoring.rules),
        failures=resolved.failures,
        reads_errors=resolved.failures == "as-reply" or (variant.failures is None and rule != OWN),
        few_shot_pool=declaration.data.few_shot_source(variant),
    )


def _score(benchmark: Benchmark, resolved: ResolvedVariant) -> Benchmark:
    """Asked and scored as declared. Why there is no score: by the declaration, by its scoring, or
    because the answers are hidden; then there is no gold either."""
    declaration = resolved.declaration
    scored = declaration.scoring.score(benchmark, resolved)
    unscorable = declaration.unscorable or scored.unscorable
    split = resolved.options.get("split", "")
    # A data file of the user's own may hold the answers.
    if not unscorable and split in declaration.hidden_answers and resolved.variant.data is None:
        unscorable = (
            f"the answers of split={split} are withheld by the authors of {declaration.name}: the "
            "questions are asked, and only the authors can score the replies"
        )
    return replace(
        scored,
        unscorable=unscorable,
        oracle=None if unscorable else declaration.oracle,
        parameters={**scored.parameters, **declaration.parameters},
    )


def _lead(benchmark: Benchmark, resolved: ResolvedVariant) -> Benchmark:
    """With the headline of the benchmark, or of the tool whose rule applies, and its notices."""
    declaration = resolved.declaration
    headline = declaration.headline
    if (of_tool := declaration.rule_headlines.get(base_rule(resolved.rule))) is not None:
        headline = headline.led_by(of_tool)
    if "circular" in benchmark.parameters and not headline.in_circular:
        headline = Headline()
    context = SummaryContext(
        plain=benchmark.summarise,
        plain_headline=benchmark.headline,
        failures=resolved.failures,
        options=resolved.options,
        rule=resolved.rule,
        judges=benchmark.extra_roles,
    )
    own = headline.summarise
    sum_up = benchmark.summarise if own is None else partial(own, context)
    notices = (*declaration.notices, *_rule_notices(resolved, headline, benchmark.headline))
    is_own = isinstance(declaration.data, UserFile)
    if notices or is_own or resolved.rule != OWN:
        sum_up = partial(_with_notices, sum_up, notices, is_own, resolved.rule)
    return replace(
        benchmark,
        headline=headline.name or benchmark.headline,
        summarise=sum_up,
        headline_sums=benchmark.headline_sums if headline.sums is None else partial(headline.sums, context),
        weighs_scores=headline.weighs_scores,
    )


def _show_videos(benchmark: Benchmark, resolved: ResolvedVariant) -> Benchmark:
    video = resolved.declaration.video
    if video is None or resolved.video is None:
        return benchmark
    return show_videos(benchmark, resolved.video, video.defaults, in_every_question=video.in_every_question)


_LISTED = 12
"""Values of an option that a message lists where their names are made of parts."""
STAGES: tuple[Callable[[Benchmark, ResolvedVariant], Benchmark], ...] = (_score, _lead, _show_videos)
"""What a declaration makes of the plain benchmark, in this order."""


def reads_alike(*benchmarks: Benchmark) -> bool:
    """Whether benchmarks are certain to make the same samples of the same rows, as those of one declaration under
    two rules mostly do: if a declaration alone decides it, without a control."""
    facts = []
    for opened, read in [(one.open, one.samples) for one in benchmarks]:
        if not (isinstance(opened, partial) and isinstance(read, partial)):
            return False
        if (opened.func, read.func) != (_open_table, _read_samples):
            return False
        (declaration, options), (_, variant) = read.args, opened.args
        own = [
            getattr(declaration, one.name) for one in fields(declaration) if one.name not in ("scoring", "for_variant")
        ]
        facts.append((own, options, replace(variant, rule=None), declaration.scoring.kind, declaration.scoring.adjust))
    return all(fact == facts[0] for fact in facts)


def _resolve_options(name: str, variant: Variant, allowed: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The variant's options with defaults filled in. Raises UsageError for an unknown one."""
    for key, value in variant.options.items():
        if key not in allowed:
            names = ", ".join(allowed) or "none"
            raise UsageError(f"{name} has no option {key!r}; its options: {names}")
        if value not in allowed[key]:
            if key == COORDINATES and len(allowed[key]) > _LISTED:
                from snellen.core.place import parse_space

                parse_space(value)  # its sentence says of what parts a name is made
            raise UsageError(f"{name}:{key}={value}: expected one of {', '.join(allowed[key])}")
    return {key: variant.options.get(key, values[0]) for key, values in allowed.items()}


def _open_table(declaration: Declaration, variant: Variant) -> DataTable:
    """The rows, with their videos if there are any. Raises DataError, MissingExtra."""
    if declaration.check is not None:
        declaration.check()
    table = declaration.data.table(variant)
    if declaration.video is not None and declaration.video.search_cache:
        return find_videos(table, variant, declaration.name, declaration.video.columns)
    return table


def _read_samples(declaration: Declaration, options: Options, rows: Iterable[Row]) -> Iterator[Sample]:
    """The samples of the variant's rows. Raises DataError for ids that are not unique."""
    path = getattr(rows, "path", declaration.name)
    keep = declaration.keep
    keep_row = partial(_keeps, keep, options) if keep is not None else None
    adjust = compose_adjustments(declaration.scoring.adjust, declaration.adjust)
    if isinstance(declaration.data, UserFile) and isinstance(rows, DataTable):
        units = declaration.parameters.get(UNIT, "").split("+")
        place = getattr(declaration.scoring, "place", None)
        used = (*declaration.group_by, *units, *reply_columns(rows), *(place.columns() if place else ()))
        adjust = compose_adjustments(adjust, keep_other_columns(rows.columns, used))
    kept = rows if keep_row is None else filter(keep_row, rows)
    if declaration.samples is not None:
        return check_unique_ids(declaration.samples(kept), path)
    if declaration.sample is not None:
        make = declaration.sample
        made = (at_row(path, row, make, row, options) for row in kept)
        return check_unique_ids((sample for sample in made if sample is not None), path)
    return rows_to_samples(
        rows,
        groups=declaration.group_by,
        path=path,
        kind=declaration.kind or declaration.scoring.kind,
        adjust=adjust,
        question=declaration.question,
        keep=keep_row,
        adjust_row=declaration.adjust_row,
    )


def _keeps(keep: Callable[[Row, Options], bool], options: Options, row: Row) -> bool:
    return keep(row, options)


def _rule_notices(resolved: ResolvedVariant, headline: Headline, plain: str) -> Iterator[str]:
    """That the rule of another tool brings a headline of its own, if it does."""
    usual = resolved.declaration.headline.name or plain
    if (headline.name or plain) != usual:
        yield (
            f"by the rule {resolved.rule} the score is {headline.name or plain}, the number of "
            f"that tool; by default it is {usual}"
        )


def _with_notices(
    summarise: Callable[[Sequence[Record]], Summary],
    notices: tuple[str, ...],
    is_own: bool,
    rule: str,
    records: Sequence[Record],
) -> Summary:
    summary = summarise(records)
    guesses = () if rule == OWN else guess_notices(records, summary.headline, rule)
    kept = metadata_notice(records) if is_own else ()
    return structs.replace(summary, notices=(*summary.notices, *notices, *guesses, *kept))
