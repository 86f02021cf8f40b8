"""How the questions of a benchmark are put: prompt template, few-shot examples, chain of
thought."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from snellen.benchmarks.protocol.few_shot import EXCLUDED, HELD_OUT
from snellen.benchmarks.protocol.flows import (
    AskConfig,
    ChoiceParser,
    FewShotTurns,
    GoldChoiceParser,
    OpenParser,
    PlaceParser,
    YesNoParser,
)
from snellen.core.benchmark import FewShotSelector, Requirement
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.output import Answer, Truncated
from snellen.core.request import Message, Text
from snellen.core.sample import Kind, Sample
from snellen.extract.marks import find_conclusion, shift_span
from snellen.prompts.choice import PromptTemplate, prompt
from snellen.prompts.recipes import recipe_templates
from snellen.prompts.stored import CHAIN_OF_THOUGHT, load_template, with_chain_of_thought

OWN_PROMPT = "snellen"
"""The wording where no other is asked for."""
_LISTED_PROMPTS = ("vlmevalkit", "llava", "qwen2-vl")
"""Stored wordings that every benchmark lists; it takes those of all recipes."""
_MAX_SHOTS = 16
_SEEDS = 10
COT_TOKENS = 2048
"""Longest reply, in tokens, where the model is to think first."""


def few_shot_options() -> dict[str, tuple[str, ...]]:
    """The options about few-shot examples and chain of thought.

    `shots_from` may also name a split or a data file.
    """
    return {
        "shots": tuple(map(str, range(_MAX_SHOTS + 1))),
        "shots_seed": tuple(map(str, range(_SEEDS))),
        "shots_from": (HELD_OUT, EXCLUDED),
        "cot": ("off", "on"),
    }


def prompt_options(paper: str | None = None) -> dict[str, tuple[str, ...]]:
    """The options of benchmarks whose prompt template may be chosen. `paper` names the stored
    template of the benchmark's paper, which is then the default."""
    first = (OWN_PROMPT,) if paper is None else ("paper", OWN_PROMPT)
    return {"prompt": (*first, *_LISTED_PROMPTS), **few_shot_options()}


def allowed_values(options: Mapping[str, Sequence[str]], chosen: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """The options with every value they take: if a prompt is `chosen`, also the templates of all
    recipes."""
    listed = options.get("prompt", ())
    if OWN_PROMPT not in listed or "prompt" not in chosen:
        return dict(options)
    wordings = dict.fromkeys((*listed, *recipe_templates()))
    return {**options, "prompt": tuple(wordings)}


def check_allowed(name: str, value: str, allowed: Sequence[str]) -> str:
    """The value of an option, if it is allowed. Raises UsageError."""
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
    return value


def apply_prompt_options(
    config: AskConfig, chosen: Mapping[str, str], paper: str | None, shots: FewShotSelector | None
) -> AskConfig:
    """Apply the chosen prompt template, few-shot examples and chain of thought. Strings the
    template does not set keep their defaults."""
    name = chosen["prompt"]
    if name != OWN_PROMPT:
        config = replace(config, template=load_template(_prompt_name(name, paper)).override(config.template))
    return apply_few_shot(config, chosen, shots)


def apply_few_shot(config: AskConfig, chosen: Mapping[str, str], shots: FewShotSelector | None) -> AskConfig:
    """Apply the chosen few-shot examples and chain of thought.

    `shots` selects the examples (`Variant.shots`) when the first question is asked.
    """
    if chosen["cot"] == "on":
        config = replace(
            config,
            template=with_chain_of_thought(config.template),
            choice=_parse_concluded_choice(config.choice),
            choice_with_gold=_parse_concluded_with_gold(config.choice_with_gold),
            yes_no=parse_conclusion(config.yes_no, chosen),
            open=replace(config.open, parse=_parse_concluded_text(config.open.parse)),
            place=config.place and replace(config.place, parse=_parse_concluded_place(config.place.parse)),
        )
    if shots is not None:
        return replace(config, few_shot=_few_shot_turns(shots, config.template))
    if chosen["shots"] != "0":
        raise UsageError("shots: examples are drawn where a benchmark is opened by name or file")
    return config


def prompt_parameters(chosen: Mapping[str, str], paper: str | None) -> dict[str, str]:
    """What a run records: only what differs from the plain prompt, stored templates with digest."""
    parameters: dict[str, str] = {}
    if chosen["prompt"] != OWN_PROMPT:
        stored = load_template(_prompt_name(chosen["prompt"], paper))
        parameters = {"prompt": chosen["prompt"], "prompt_digest": stored.short_digest}
    return {**parameters, **few_shot_parameters(chosen)}


def few_shot_parameters(chosen: Mapping[str, str]) -> dict[str, str]:
    """The part of `prompt_parameters` about few-shot examples and chain of thought."""
    parameters: dict[str, str] = {}
    if chosen["shots"] != "0":
        parameters |= {"shots": chosen["shots"], "shots_seed": chosen["shots_seed"]}
    if chosen["cot"] == "on":
        parameters |= {"cot": "on", "cot_digest": load_template(CHAIN_OF_THOUGHT).short_digest}
    return parameters


def max_reply_tokens(plain: int, chosen: Mapping[str, str]) -> int:
    """Longest reply in tokens: longer if the model thinks first."""
    return max(plain, COT_TOKENS) if chosen["cot"] == "on" else plain


_NO_EXAMPLES = "shows solved examples with images of their own, which a model of one image does not take"


def few_shot_requirements(own: Requirement, chosen: Mapping[str, str], control: str | None) -> Requirement:
    """What a model must take: examples have images of their own.

    Raises UsageError for examples under a control, which would not change their images.
    """
    if chosen["shots"] == "0":
        return own
    if control is not None and not control.startswith("shuffled-options"):
        raise UsageError("shots show pictures of their own, which --control would not change")

    def missing_requirement(capabilities: Capabilities) -> str | None:
        if "image" in capabilities.inputs and not capabilities.many_images:
            return own(capabilities) or _NO_EXAMPLES
        return own(capabilities)

    return missing_requirement


def _prompt_name(name: str, paper: str | None) -> str:
    return paper if name == "paper" and paper is not None else name


def _few_shot_turns(shots: FewShotSelector, template: PromptTemplate) -> Callable[[Sample], FewShotTurns]:
    """The examples of the question's kind as turns of a conversation."""

    @functools.cache
    def turns_of_kind(kind: Kind) -> FewShotTurns:
        chosen = shots(kind)
        turns = [turn for sample in chosen for turn in _example_messages(sample, template)]
        media = {digest: source for sample in chosen for digest, source in sample.sources().items()}
        return FewShotTurns(tuple(turns), media)

    return lambda sample: turns_of_kind(sample.kind)


def _example_messages(sample: Sample, template: PromptTemplate) -> tuple[Message, ...]:
    """A question with its answer, in the form in which the model is to answer."""
    gold = sample.written_gold(sample.gold[0], exact=False)
    answer = f"Answer: {gold}" if template.steps else gold
    return (*prompt(sample, None, template), Message("assistant", (Text(answer),)))


def _parse_concluded_choice(parse: ChoiceParser) -> ChoiceParser:
    def parse_after_conclusion(reply: str, options: Mapping[str, str], stop_reason: str) -> Answer:
        conclusion = find_conclusion(reply)
        if conclusion is None:
            unfinished = stop_reason == "length"
            return Truncated() if unfinished else parse(reply, options, stop_reason)
        return shift_span(parse(conclusion.text, options, stop_reason), conclusion.start)

    return parse_after_conclusion


def _parse_concluded_with_gold(parser_of_gold: GoldChoiceParser | None) -> GoldChoiceParser | None:
    return None if parser_of_gold is None else lambda golds: _parse_concluded_choice(parser_of_gold(golds))


def _parse_concluded_text(parse: OpenParser | YesNoParser) -> YesNoParser:
    def parse_after_conclusion(reply: str, stop_reason: str) -> Answer:
        conclusion = find_conclusion(reply)
        if conclusion is None:
            return Truncated() if stop_reason == "length" else parse(reply, stop_reason)
        return shift_span(parse(conclusion.text, stop_reason), conclusion.start)

    return parse_after_conclusion


def _parse_concluded_place(parse: PlaceParser) -> PlaceParser:
    def parse_after_conclusion(
        reply: str, stop_reason: str, sample: Sample, sizes: Sequence[Sequence[float]]
    ) -> Answer:
        read = _parse_concluded_text(lambda text, reason: parse(text, reason, sample, sizes))
        return read(reply, stop_reason)

    return parse_after_conclusion


def parse_conclusion(parse: YesNoParser, chosen: Mapping[str, str]) -> YesNoParser:
    """The parser, applied to the conclusion only, if the model was asked to think first."""
    return _parse_concluded_text(parse) if chosen["cot"] == "on" else parse
