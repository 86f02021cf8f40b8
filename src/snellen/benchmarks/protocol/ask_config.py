"""How the questions of a benchmark are put: wording, examples shown before, chain of thought."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from snellen.benchmarks.protocol.few_shot import ASIDE, DECLARED
from snellen.benchmarks.protocol.flows import (
    ChoiceReader,
    GoldChoiceReader,
    Manner,
    OpenReader,
    Shown,
    YesNoReader,
)
from snellen.core.answer import Answer, Truncated
from snellen.core.benchmark import Needs, Shots, needs
from snellen.core.errors import UsageError
from snellen.core.message import Message, Text
from snellen.core.model import Capabilities
from snellen.core.sample import Kind, Sample
from snellen.extract.conclusion import conclusion_of, moved
from snellen.prompts.choice import Wording, prompt
from snellen.prompts.recipes import recipes
from snellen.prompts.stored import CHAIN_OF_THOUGHT, stored_wording, with_steps

OWN = "snellen"
"""The wording where no other is asked for."""
_NAMED = ("vlmevalkit", "llava", "qwen2-vl")
"""Stored wordings that every benchmark lists; it takes those of all recipes."""
_MOST_SHOTS = 16
_SEEDS = 10
COT_TOKENS = 2048
"""Longest reply, in tokens, where the model is to think first."""


def example_options() -> dict[str, tuple[str, ...]]:
    """Examples and thinking: options that every multiple-choice and yes/no benchmark has.
    `shots_from` may also name a split or a data file; `open_benchmark` reads it."""
    return {
        "shots": tuple(map(str, range(_MOST_SHOTS + 1))),
        "shots_seed": tuple(map(str, range(_SEEDS))),
        "shots_from": (DECLARED, ASIDE),
        "cot": ("off", "on"),
    }


def asking_options(paper: str | None = None) -> dict[str, tuple[str, ...]]:
    """The options of benchmarks whose wording may be chosen. `paper` names the stored wording of
    a benchmark's own paper, which is then its default."""
    first = (OWN,) if paper is None else ("paper", OWN)
    return {"prompt": (*first, *_NAMED), **example_options()}


def taken(options: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """The options with every value that they take: the wordings of all recipes too, where stored
    wordings may be chosen."""
    listed = options.get("prompt", ())
    if OWN not in listed:
        return dict(options)
    wordings = dict.fromkeys((*listed, *(recipe.prompt for recipe in recipes())))
    return {**options, "prompt": tuple(wordings)}


def asked_so(
    how: Manner, chosen: Mapping[str, str], paper: str | None, shots: Shots | None
) -> Manner:
    """The manner with the wording, examples and thinking that were chosen; where no wording
    is, or it leaves out a string, that of the manner stays."""
    name = chosen["prompt"]
    if name != OWN:
        how = replace(how, wording=stored_wording(_file(name, paper)).over(how.wording))
    return with_examples(how, chosen, shots)


def with_examples(how: Manner, chosen: Mapping[str, str], shots: Shots | None) -> Manner:
    """The manner with the examples and the thinking that were chosen. `shots` gives the examples
    (`Variant.shots`), which are drawn when the first question is asked."""
    if chosen["cot"] == "on":
        how = replace(
            how,
            wording=with_steps(how.wording),
            choice=_concluded(how.choice),
            given_gold=_concluded_given_gold(how.given_gold),
            yes_no=concluded(how.yes_no, chosen),
            open=replace(how.open, read=_concluded_text(how.open.read)),
        )
    if shots is not None:
        return replace(how, shown=_shown(shots, how.wording))
    if chosen["shots"] != "0":
        raise UsageError("shots: examples are drawn where a benchmark is opened by name or file")
    return how


def asking_parameters(chosen: Mapping[str, str], paper: str | None) -> dict[str, str]:
    """What a run records: only what is not the plain manner, stored wordings with their digest."""
    found: dict[str, str] = {}
    if chosen["prompt"] != OWN:
        stored = stored_wording(_file(chosen["prompt"], paper))
        found = {"prompt": chosen["prompt"], "prompt_digest": stored.short_digest}
    return {**found, **example_parameters(chosen)}


def example_parameters(chosen: Mapping[str, str]) -> dict[str, str]:
    """The part of `asking_parameters` about examples and thinking."""
    found: dict[str, str] = {}
    if chosen["shots"] != "0":
        found |= {"shots": chosen["shots"], "shots_seed": chosen["shots_seed"]}
    if chosen["cot"] == "on":
        found |= {"cot": "on", "cot_digest": stored_wording(CHAIN_OF_THOUGHT).short_digest}
    return found


def longest_reply(plain: int, chosen: Mapping[str, str]) -> int:
    """Tokens a reply may have: more where the model is to think first."""
    return max(plain, COT_TOKENS) if chosen["cot"] == "on" else plain


def needing(own: Needs, chosen: Mapping[str, str], control: str | None) -> Needs:
    """What a model must take: examples come with pictures of their own.

    Raises UsageError for examples under a control, which would not change their pictures.
    """
    if chosen["shots"] == "0":
        return own
    if control is not None and not control.startswith("shuffled-options"):
        raise UsageError("shots show pictures of their own, which --control would not change")
    many = needs("text", many_images=True)

    def missing(capabilities: Capabilities) -> str | None:
        pictures = "image" in capabilities.inputs
        return own(capabilities) or (many(capabilities) if pictures else None)

    return missing


def _file(name: str, paper: str | None) -> str:
    return paper if name == "paper" and paper is not None else name


def _shown(shots: Shots, wording: Wording) -> Callable[[Sample], Shown]:
    """The examples of the question's kind as turns of a conversation."""

    @functools.cache
    def of_kind(kind: Kind) -> Shown:
        chosen = shots(kind)
        turns = [turn for one in chosen for turn in _turns(one, wording)]
        media = {digest: source for one in chosen for digest, source in one.sources().items()}
        return Shown(tuple(turns), media)

    return lambda sample: of_kind(sample.kind)


def _turns(sample: Sample, wording: Wording) -> tuple[Message, ...]:
    """A question with its answer, in the form in which the model is to answer."""
    answer = f"Answer: {sample.gold[0]}" if wording.steps else sample.gold[0]
    return (*prompt(sample, None, wording), Message("assistant", (Text(answer),)))


def _concluded(read: ChoiceReader) -> ChoiceReader:
    def reader(reply: str, options: Mapping[str, str], stop_reason: str) -> Answer:
        found = conclusion_of(reply)
        if found is None:
            unfinished = stop_reason == "length"
            return Truncated() if unfinished else read(reply, options, stop_reason)
        return moved(read(found.text, options, stop_reason), found.start)

    return reader


def _concluded_given_gold(of_gold: GoldChoiceReader | None) -> GoldChoiceReader | None:
    return None if of_gold is None else lambda golds: _concluded(of_gold(golds))


def _concluded_text(read: OpenReader | YesNoReader) -> YesNoReader:
    def reader(reply: str, stop_reason: str) -> Answer:
        found = conclusion_of(reply)
        if found is None:
            return Truncated() if stop_reason == "length" else read(reply, stop_reason)
        return moved(read(found.text, stop_reason), found.start)

    return reader


def concluded(read: YesNoReader, chosen: Mapping[str, str]) -> YesNoReader:
    """The reading of conclusions, where the model was asked to think first."""
    return _concluded_text(read) if chosen["cot"] == "on" else read
