"""Scoring by rules: replies are parsed and compared with gold, without a judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, cast, get_args

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, ResolvedVariant, Scoring
from snellen.benchmarks.protocol.ask_config import (
    apply_few_shot,
    apply_prompt_options,
    check_allowed,
    few_shot_options,
    few_shot_parameters,
    few_shot_requirements,
    max_reply_tokens,
    parse_conclusion,
    prompt_options,
    prompt_parameters,
)
from snellen.benchmarks.protocol.flows import (
    EXACT_RECORD,
    FOLLOWS_SCHEMA,
    INVENTED_FIELDS,
    AskConfig,
    Circular,
    SinglePassFlow,
    YesNoParser,
    circular_flow,
)
from snellen.benchmarks.protocol.judging import JUDGE, judge_parameters, panel_of
from snellen.benchmarks.protocol.parsers import (
    OWN,
    PARSERS,
    VLMEVALKIT,
    ParserSet,
    parsers_of,
    parsing_rule_of,
    rule_parameter,
    rules_of,
)
from snellen.benchmarks.protocol.reported_rules import flow_reporting_all_rules
from snellen.benchmarks.protocol.similarity import RUBRIC, SCORED_BY, flow_with_similarity, summarise_with_similarity
from snellen.core.benchmark import COORDINATES, TIME_UNIT, Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.request import Generation
from snellen.core.sample import Kind
from snellen.core.summary import FailurePolicy, HeadlineSums, Summary
from snellen.prompts.choice import DEFAULT_TEMPLATE, PromptTemplate
from snellen.scoring.accuracy import summarise

if TYPE_CHECKING:
    from snellen.benchmarks.declaration.place_rules import PlaceRules

MAX_NEW_TOKENS, MAX_PAGE_TOKENS = 512, 8192
MAX_SIMILARITY_TOKENS = 64
"""Longest verdict of a judge that compares an open reply with the gold answer."""


_UNNAMED = ((TIME_UNIT, "seconds"), ("formulas", "edits"))
"""Options that runs do not name where they have the only value that there once was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleScoring(Scoring):
    """Choice, yes/no and open questions, asked once or circularly, each reply parsed by a rule.

    The score is 1 or 0, for open questions what their metric gives. `choices` and
    `open_questions.open_answers` make the usual ones.
    """

    rules: Mapping[str, ParserSet] = field(default_factory=lambda: rules_of(None))
    metric: str = "accuracy"
    """Name of the mean of the scores."""
    circular: Circular = "off"
    """Whether options are rotated unless the variant says otherwise."""
    template: PromptTemplate = DEFAULT_TEMPLATE
    max_new_tokens: int = MAX_NEW_TOKENS
    similarity: bool = False
    """Whether judges, if there are any, compare open replies with the gold answers, also where
    not all questions are open."""
    judges_score: bool = False
    """Whether their grades are then the score of open questions, and not shown beside it."""
    place: PlaceRules | None = None
    """How places are asked for and graded; None where no question asks for one."""

    def options(self, declaration: Declaration) -> Mapping[str, Sequence[str]]:
        own = {**Scoring.options(self, declaration), **(self.place.options() if self.place else {})}
        common = prompt_options(declaration.paper_prompt)
        return {**own, **{name: values for name, values in common.items() if name not in own}}

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        """The flow and summary of a benchmark that rules score, with or without rotations. Raises
        UsageError for an unknown kind of rotation."""
        declaration, variant = resolved.declaration, resolved.variant
        options = resolved.options
        mode = cast(Circular, check_allowed("circular", variant.circular or self.circular, get_args(Circular)))
        config = self._ask_config(resolved)
        headline = self.metric if mode == "off" else "circular"
        own_options = {name: value for name, value in options.items() if name not in prompt_options()}
        own_options = {name: value for name, value in own_options.items() if (name, value) not in _UNNAMED}
        own = (*config.open.secondary, *(config.place.secondary if config.place else ()))
        secondary = (*own, EXACT_RECORD, INVENTED_FIELDS, FOLLOWS_SCHEMA)
        samples = plain.samples
        if self.place is not None:
            from snellen.benchmarks.declaration.places import add_space

            samples = partial(add_space, self.place, _space_of(options), samples)
        scored = replace(
            plain,
            samples=samples,
            flow=SinglePassFlow(config) if mode == "off" else circular_flow(config, mode),
            summarise=self._summarise(headline, resolved, secondary),
            headline=headline,
            requires=few_shot_requirements(plain.requires, options, variant.control),
            parameters={
                **own_options,
                **prompt_parameters(options, declaration.paper_prompt),
                **({} if mode == "off" else {"circular": mode}),
                **rule_parameter(variant),
            },
            max_new_tokens=config.settings.max_new_tokens,
        )
        if self.similarity or (declaration.kind or self.kind) == "open":
            return _add_similarity(scored, variant, self.judges_score)
        return scored

    def _summarise(
        self, headline: str, resolved: ResolvedVariant, secondary: tuple[str, ...]
    ) -> Callable[[Sequence[Record]], Summary]:
        plain = partial(summarise, headline=headline, failures=resolved.failures, secondary=secondary)
        if self.place is None:
            return plain
        # Rules of other tools have spaces of their own.
        coordinates = _space_of(resolved.options) if resolved.rule == OWN else ""
        from snellen.benchmarks.declaration.places import summarise_places

        return partial(summarise_places, self.place, resolved.failures, coordinates, plain)

    def _ask_config(self, resolved: ResolvedVariant) -> AskConfig:
        """How questions are asked: parsers of the rule, prompt template, few-shot examples,
        limits."""
        declaration, variant = resolved.declaration, resolved.variant
        parsers = parsers_of(resolved.rule, self.rules)
        config = AskConfig(
            _settings(resolved, self.max_new_tokens),
            extractor=variant.extractor,
            choice=parsers.choice,
            choice_with_gold=parsers.choice_with_gold,
            yes_no=parsers.yes_no,
            open=parsers.open,
            document=parsers.document,
            place=parsers.place,
            template=declaration.template or self.template,
            by_meaning=parsers.by_meaning,
        )
        if self.place is not None:
            coordinates = _space_of(resolved.options)
            from snellen.benchmarks.declaration.places import closing_line, place_scoring

            template = replace(config.template, place=closing_line(self.place, coordinates))
            config = replace(config, place=place_scoring(self.place, resolved.rule, coordinates), template=template)
        paper_prompt = declaration.paper_prompt
        plain_place = config.place
        config = apply_prompt_options(config, resolved.options, paper_prompt, variant.shots)
        if resolved.rule == OWN:
            return config
        # What others' code takes out of a reply that thinks first is part of their rule, so their
        # parsers are not put behind ours for conclusions.
        return replace(
            config,
            choice=parsers.choice,
            choice_with_gold=parsers.choice_with_gold,
            yes_no=parsers.yes_no,
            open=parsers.open,
            place=plain_place,
        )


def _space_of(options: Mapping[str, str]) -> str:
    """The coordinate space, or the unit of spans, that is chosen."""
    return options.get(COORDINATES) or options.get(TIME_UNIT, "")


def place_questions(place: PlaceRules, headline: str = "") -> RuleScoring:
    """Questions that all ask for places. Questions about one picture are one unit of the interval."""
    from snellen.benchmarks.declaration.place_rules import place_rules
    from snellen.scoring.places.run_metrics import metric_of_one

    return RuleScoring(
        rules=place_rules(place), metric=headline or metric_of_one(place.headline), kind="place", place=place
    )


def choices(
    *,
    official: ParserSet | None = None,
    vlmevalkit: ParserSet | None = PARSERS[VLMEVALKIT],
    lmms_eval: ParserSet | None = None,
    circular: Circular = "off",
) -> RuleScoring:
    """Multiple choice, and yes/no and open questions where rows are of these kinds.

    `official` parses replies as the benchmark's authors do, the others as these tools do; None
    if it has no such rule, or one that is not restated here.
    """
    return RuleScoring(rules=rules_of(official, vlmevalkit, lmms_eval), circular=circular)


class SummariseParsed(Protocol):
    """Sums up records of `YesNo`: by which rule, beside which others, under which policy."""

    def __call__(
        self, records: Sequence[Record], *, parsing_rule: str, parsing_rules: Sequence[str], failures: FailurePolicy
    ) -> Summary: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class YesNo(Scoring):
    """Yes/no questions whose replies several named rules parse, all of them in every report.

    The option `reading` chooses the rule that makes the headline.
    """

    parsers: Mapping[str, YesNoParser]
    """All rules, by the name under which they are reported."""
    selectable: tuple[str, ...]
    """The rules that `reading=` takes, the default first."""
    rules: Mapping[str, str]
    """The rule of `parsers` that each of `--rule` stands for."""
    summarise: SummariseParsed
    sums: Callable[[str, FailurePolicy, Sequence[Record]], HeadlineSums | None]
    """`Benchmark.headline_sums` by a parsing rule and a policy."""
    templates: Mapping[str, PromptTemplate] = field(default_factory=dict)
    """The benchmark's own prompts, by the value of `prompt=`; none: the stored ones."""
    max_new_tokens: int = 128
    kind: Kind | None = "yes_no"

    def options(self, declaration: Declaration) -> Mapping[str, Sequence[str]]:
        own = {"reading": self.selectable, **Scoring.options(self, declaration)}
        if self.templates:
            return {**own, "prompt": tuple(self.templates), **few_shot_options()}
        return {**own, **prompt_options()}

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        """The flow and summary of yes/no questions that count in units. Raises UsageError if
        rotations are requested."""
        declaration, variant = resolved.declaration, resolved.variant
        options, name = resolved.options, declaration.name
        if variant.circular not in (None, "off"):
            raise UsageError(f"{name} has yes/no questions, which have no options to rotate")
        parsing_rule = parsing_rule_of(name, variant, options["reading"], self.rules)
        config = AskConfig(
            _settings(resolved, self.max_new_tokens), extractor=variant.extractor, yes_no=self.parsers[parsing_rule]
        )
        own = {"reading": parsing_rule} if parsing_rule in self.selectable else {}
        own |= {option: options[option] for option in declaration.options}
        if self.templates:
            config = replace(config, template=self.templates[options["prompt"]])
            config = apply_few_shot(config, options, variant.shots)
            own |= {"prompt": options["prompt"], **few_shot_parameters(options)}
        else:
            config = apply_prompt_options(config, options, None, variant.shots)
            own |= prompt_parameters(options, None)
        reported = {rule: parse_conclusion(parser, options) for rule, parser in self.parsers.items()}
        return replace(
            plain,
            flow=flow_reporting_all_rules(config, reported),
            summarise=partial(
                self.summarise, parsing_rule=parsing_rule, parsing_rules=tuple(self.parsers), failures=resolved.failures
            ),
            headline_sums=partial(self.sums, parsing_rule, resolved.failures),
            headline=declaration.headline.name,
            requires=few_shot_requirements(plain.requires, options, variant.control),
            parameters={**own, **rule_parameter(variant)},
            max_new_tokens=config.settings.max_new_tokens,
        )


def _settings(resolved: ResolvedVariant, default: int) -> Generation:
    """The longest reply: the variant's, else the declaration's, more if the model thinks first."""
    plain = resolved.declaration.max_new_tokens or default
    longest = max_reply_tokens(plain, resolved.options)
    settings = Generation(max_new_tokens=resolved.variant.max_new_tokens or longest)
    schema = resolved.declaration.response_schema
    # An equal empty text of another object would count as set in the digest.
    return structs.replace(settings, response_schema=schema) if schema else settings


def _add_similarity(scored: Benchmark, variant: Variant, judges_score: bool) -> Benchmark:
    """The benchmark with the judges' similarity beside the score or as the score, if there are
    judges."""
    panel = panel_of(variant, RUBRIC, max_new_tokens=MAX_SIMILARITY_TOKENS)
    if not panel:
        return scored
    scored_by = {SCORED_BY: JUDGE} if judges_score else {}
    return replace(
        scored,
        flow=flow_with_similarity(scored.flow, panel, judges_score=judges_score),
        summarise=partial(summarise_with_similarity, scored.summarise),
        extra_roles=panel.roles,
        parameters={**scored.parameters, **judge_parameters(panel, RUBRIC), **scored_by},
    )
