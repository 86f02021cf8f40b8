"""IFEval: instructions that a program can check (Zhou et al. 2023, https://arxiv.org/abs/2311.07911).

One example row (made up): key 1000, prompt "Describe a lake without any commas, in 50 words or more.",
instruction_id_list ["punctuation:no_comma", "length_constraints:number_words"], kwargs [{}, {"num_words": 50,
"relation": "at least"}]; on the hub each object has all names, most of them null.

Oddities: 541 prompts with 834 instructions of 25 kinds; there are no gold answers. The headline is the
share of prompts all of whose instructions are followed, by the strict rule, the first of the paper's four
numbers. By the loose rule, an instruction is followed if it is by the reply without its first or last line
or its asterisks. The other three stand beside. Sentences and languages are told by rules of our own
(`checks`, `languages`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline, ResolvedVariant, Scoring
from snellen.benchmarks.declaration.judged import first_cell, plain_messages
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.protocol.judged_flows import ask_for_reply, build_record
from snellen.benchmarks.texts.ifeval.checks import CHECKS, follows, loose_forms
from snellen.core.benchmark import Benchmark, requires
from snellen.core.errors import DataError
from snellen.core.literals import parse_json_or_literal
from snellen.core.output import ParsedAnswer
from snellen.core.record import KEPT, Flow, Pass, Record
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.data.columns import row_id
from snellen.scoring.accuracy import summarise

STRICT, LOOSE = "prompt_level_strict", "prompt_level_loose"
OF_INSTRUCTIONS = {"inst_level_strict": "followed_strict", "inst_level_loose": "followed_loose"}
"""Shares of instructions, with the value that holds those of one prompt."""
_INSTRUCTIONS, _VALUES = "instruction_id_list", "kwargs"
_MAX_NEW_TOKENS = 1280


def samples_of(rows: Iterable[Row]) -> Iterator[Sample]:
    """A sample for each prompt. Raises DataError for an unknown kind of instruction."""
    for row in rows:
        ids = _list_of(row, _INSTRUCTIONS)
        unknown = [name for name in ids if name not in CHECKS]
        if unknown or len(_list_of(row, _VALUES)) != len(ids):
            raise DataError(
                f"row {row.index + 1}: {unknown or ids}: expected kinds of instructions such as "
                f"{next(iter(CHECKS))}, each with its object in `{_VALUES}`"
            )
        yield Sample(
            id=first_cell(row.cells, "key") or row_id(row),
            kind="open",
            question=first_cell(row.cells, "prompt", "question"),
            gold=(),
            groups={"kind": ids[0]} if len(ids) == 1 else {},
            metadata={KEPT: str(len(ids)), **{name: row.cells[name] for name in (_INSTRUCTIONS, _VALUES)}},
        )


def _list_of(row: Row, name: str) -> list[Any]:
    try:
        found = parse_json_or_literal(first_cell(row.cells, name))
    except ValueError as error:
        raise DataError(f"row {row.index + 1}: `{name}` is no list ({error})") from error
    return found if isinstance(found, list) else []


def _instructions(metadata: Mapping[str, str]) -> list[tuple[str, Mapping[str, Any]]]:
    ids, values = (parse_json_or_literal(metadata[name]) for name in (_INSTRUCTIONS, _VALUES))
    return list(zip(ids, values, strict=True))


def check_reply(reply: str, metadata: Mapping[str, str]) -> dict[str, float]:
    """The four values of a reply, 0..1."""
    asked = _instructions(metadata)
    strict = [follows(reply, name, values) for name, values in asked]
    loose = [any(follows(form, name, values) for form in loose_forms(reply)) for name, values in asked]
    return {
        STRICT: float(all(strict)),
        LOOSE: float(all(loose)),
        OF_INSTRUCTIONS["inst_level_strict"]: sum(strict) / len(strict),
        OF_INSTRUCTIONS["inst_level_loose"]: sum(loose) / len(loose),
    }


def _flow(settings: Generation) -> Callable[[Sample], Flow]:
    def flow(sample: Sample) -> Flow:
        messages = plain_messages(sample)
        nothing = dict.fromkeys((LOOSE, *OF_INSTRUCTIONS.values()), 0.0)
        output = yield from ask_for_reply(sample, messages, settings, nothing)
        if isinstance(output, Record):
            return output
        values = check_reply(output.text, sample.metadata)
        score = values.pop(STRICT)
        result = Pass(messages, output, ParsedAnswer(output.text.strip(), "whole reply"), (), score == 1.0)
        return build_record(sample, (result,), score=score, values=values)

    return flow


def summarise_instructions(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The share of prompts, and beside it the shares of all instructions together."""
    summary = context.plain(records)
    metrics = dict(summary.metrics)
    for name, value in OF_INSTRUCTIONS.items():
        metrics.pop(value, None)
        shares = [(record.values[value], int(record.metadata[KEPT])) for record in records if record.values]
        total = sum(count for _, count in shares)
        if total and summary.headline.value is not None:
            metrics[name] = Metric(name, 100 * sum(share * count for share, count in shares) / total, total)
    beside = tuple(name for name in (LOOSE, *OF_INSTRUCTIONS) if name in metrics)
    return structs.replace(summary, metrics=metrics, beside=beside)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked(Scoring):
    """Each prompt is asked once, and the reply is checked."""

    def score(self, plain: Benchmark, resolved: ResolvedVariant) -> Benchmark:
        longest = resolved.variant.max_new_tokens or _MAX_NEW_TOKENS
        return replace(
            plain,
            flow=_flow(Generation(max_new_tokens=longest)),
            summarise=partial(summarise, headline=STRICT, failures=resolved.failures),
            headline=STRICT,
            max_new_tokens=longest,
        )


BENCHMARK = Declaration(
    name="ifeval",
    version="1",
    title="IFEval, instructions that a program can check",
    paper="https://arxiv.org/abs/2311.07911",
    provenance="IFEval of its authors (Apache-2.0), Google's copy on the hub",
    data=Published({}, {(): HubSplit("hf://google/IFEval?split=train")}),
    aliases={"IFEval": {}, "IF-Eval": {}},
    samples=samples_of,
    kind="open",
    requires=requires("text"),
    scoring=_Checked(),
    headline=Headline(name=STRICT, summarise=summarise_instructions),
    coverage="generic type",
    oracle=0.0,
)
