"""Scoring by judges, or by rules with the help of judges; and what readers of such rows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, ResolvedVariant, Scoring
from snellen.benchmarks.protocol.judged_flows import JudgedScoring
from snellen.benchmarks.protocol.judged_summary import JUDGE_MISSING, summarise_judged
from snellen.benchmarks.protocol.judging import VOTES, JudgePanel, judge_parameters, panel_of
from snellen.benchmarks.protocol.yes_no_scores import MatchProtocol
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.record import Flow
from snellen.core.request import Generation, Message
from snellen.core.sample import Sample
from snellen.data.columns import parse_list
from snellen.extract.verdicts import parse_grade
from snellen.prompts.choice import PromptTemplate, prompt

BY_RULES = "accuracy_by_rules"
"""Headline of benchmarks whose judges only help to parse replies, if no judge is named."""
ACCURACY = "accuracy"
OWN_RULE = "snellen"
OFFICIAL = "official"
RULE = "rule"
MAX_NEW_TOKENS = 512
_SIMILARITY = "similarity"
_BEST = 5.0
_PLAIN = PromptTemplate(question="{question}", hint="{hint}", open="", yes_no="", choose="")

FlowFactory = Callable[[Generation, JudgePanel, Mapping[str, str]], Callable[[Sample], Flow]]
"""How samples are asked: settings, judges and the variant's options, to a flow. The chosen rule is
the option `rule`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged(Scoring):
    """Each question is asked once; its reply is graded by judges, or by rules that judges help."""

    flow: FlowFactory
    rubrics: tuple[str, ...]
    """Stored rubrics whose digests a run records."""
    must_judge: bool = False
    """Whether there is no score without a judge; each judge may then be asked several times
    (`votes`)."""
    multi_label: tuple[str, ...] = ()
    """Groupings under several of whose labels a question may count."""
    max_new_tokens: int = MAX_NEW_TOKENS
    max_judge_tokens: int = 256

    def options(self, declaration: Declaration) -> Mapping[str, Sequence[str]]:
        votes = {"votes": VOTES} if self.must_judge else {}
        return {**Scoring.options(self, declaration), **votes}

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        """The flow and summary of a judged benchmark. Raises UsageError if rotations are
        requested."""
        declaration, variant = resolved.declaration, resolved.variant
        if variant.circular not in (None, "off"):
            raise UsageError(f"{declaration.name} is asked once; it has no options to rotate")
        options = {**resolved.options, RULE: resolved.rule}
        votes = int(options.pop("votes", "1"))
        panel = panel_of(variant, *self.rubrics, votes=votes, max_new_tokens=self.max_judge_tokens)
        longest = variant.max_new_tokens or declaration.max_new_tokens or self.max_new_tokens
        settings = Generation(max_new_tokens=longest)
        headline = declaration.headline.name or ACCURACY
        if headline == ACCURACY and not panel and not self.must_judge:
            headline = BY_RULES
        recorded = {name: value for name, value in options.items() if (name, value) != (RULE, OWN_RULE)}
        return replace(
            plain,
            flow=self.flow(settings, panel, options),
            summarise=partial(
                summarise_judged,
                headline=headline,
                judges=panel.roles,
                failures=resolved.failures,
                multi_label=self.multi_label,
                must_judge=self.must_judge,
            ),
            headline=headline,
            parameters={**recorded, **judge_parameters(panel, *self.rubrics)},
            max_new_tokens=longest,
            extra_roles=panel.roles,
            judges_see_media=any(panel.rubric(name).images != "none" for name in self.rubrics),
            unscorable=plain.unscorable or (JUDGE_MISSING if self.must_judge and not panel else ""),
        )


def judges_alone(
    scoring: JudgedScoring | MatchProtocol, *, multi_label: tuple[str, ...] = (), max_judge_tokens: int = 256
) -> Judged:
    """Judges alone grade each reply: without one there is no score."""
    return Judged(
        flow=scoring.flow,
        rubrics=scoring.rubrics,
        must_judge=True,
        multi_label=multi_label,
        max_judge_tokens=max_judge_tokens,
    )


def similarity_scoring(build_messages: Callable[[Sample], tuple[Message, ...]] | None = None) -> Judged:
    """Judges compare each reply with the gold answers, from 1 to 5; without them nothing scores."""
    scoring = JudgedScoring(
        rubric=_SIMILARITY,
        fields=_compared_answers,
        parse=partial(parse_grade, low=1.0, high=_BEST),
        score=lambda grade: (grade - 1) / (_BEST - 1),
        build_messages=build_messages or plain_messages,
    )
    return judges_alone(scoring, max_judge_tokens=64)


def _compared_answers(sample: Sample, reply: str) -> Mapping[str, str]:
    golds = " or ".join(sample.gold)
    return {"question": sample.question, "gold": golds, "reply": reply}


def plain_messages(sample: Sample) -> tuple[Message, ...]:
    """The media, then the question as the data have it; nothing is added."""
    return prompt(structs.replace(sample, kind="choice"), {}, _PLAIN)


def first_cell(cells: Mapping[str, str], *names: str) -> str:
    """The first of these cells that the row has; "" if it has none."""
    return next((cells[name] for name in names if name in cells), "")


def split_list(text: str) -> tuple[str, ...]:
    """The items of a cell that holds a list, as JSON or Python writes it, or joined by commas."""
    items = parse_list(text)
    parts = text.split(",") if items is None else map(str, items)
    return tuple(part for item in parts if (part := item.strip()))
