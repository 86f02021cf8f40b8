"""Any benchmark asked with a system prompt of the user's (`--system TEXT`).

It goes before everything that the measured model is asked, in the spelling of its provider; judges
and extractors do not get it. A run records it, and its requests hold it like any other message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from msgspec import structs

from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.record import Flow, Pass, Record
from snellen.core.request import MAIN, Compare, LazyMessages, Message, Messages, Text
from snellen.core.sample import Sample

OPTION = "system"


def apply_system_prompt(benchmark: Benchmark, text: str) -> Benchmark:
    """The benchmark with a system prompt before each question, which its parameters record. Raises
    UsageError for a text without words."""
    if not text.strip():
        raise UsageError("the system prompt is empty: give it some words, or leave --system out")
    parameters = {**benchmark.parameters, OPTION: text}
    return replace(benchmark, flow=_with_system_prompt(benchmark.flow, text), parameters=parameters)


def prepend_system(messages: Messages, text: str) -> tuple[Message, ...]:
    """The messages after a system message of that text. One that the prompt template has already
    follows it in the same message, as some models take only one."""
    first, *others = messages
    if first.role == "system":
        return (Message("system", (Text(text), *first.parts)), *others)
    return (Message("system", (Text(text),)), *messages)


def _with_system_prompt(flow: Callable[[Sample], Flow], text: str) -> Callable[[Sample], Flow]:
    def lazily(messages: Messages) -> LazyMessages:
        return LazyMessages(lambda: prepend_system(messages, text))

    def flow_with_system_prompt(sample: Sample) -> Flow:
        steps = flow(sample)
        try:
            request = next(steps)
            while True:
                if not isinstance(request, Compare) and request.to == MAIN:
                    request = structs.replace(request, messages=lazily(request.messages))
                request = steps.send((yield request))
        except StopIteration as end:
            record: Record = end.value
            passes = tuple([_as_asked(each, text) for each in record.passes])
            return structs.replace(record, passes=passes)

    return flow_with_system_prompt


def _as_asked(each: Pass, text: str) -> Pass:
    """The pass with the prompt that the model got. A recorded reply has none, and stays so."""
    return structs.replace(each, prompt=prepend_system(each.prompt, text)) if each.prompt else each
