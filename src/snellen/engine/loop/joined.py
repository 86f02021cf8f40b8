"""Runs of joined models: drawings are described by the measured text model, and drawn by `DRAWER`.

Both are roles of the run, so that their requests are stored, counted and paid for like those of any
model, and replies of the text model are shared with its runs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from snellen.core.flow import Flow
from snellen.core.record import Pass, Record
from snellen.core.request import DRAWER, Draw, Generation, Messages
from snellen.core.sample import Sample
from snellen.models.joined import Describe, JoinedDrawing, draw_in_steps

_Asked = list[tuple[Messages, JoinedDrawing]]


def with_drawer(flow: Callable[[Sample], Flow], describe: Describe, settings: Generation) -> Callable[[Sample], Flow]:
    """The flow with each request to draw in two steps (`draw_in_steps`), both of them passes of its
    record; `settings` are those of the description."""

    def joined_flow(sample: Sample) -> Flow:
        steps = flow(sample)
        asked: _Asked = []
        try:
            request = next(steps)
            while True:
                if isinstance(request, Draw) and request.to != DRAWER:
                    drawing = yield from draw_in_steps(request, describe, settings)
                    asked.append((request.messages, drawing))
                    output = drawing.output
                else:
                    output = yield request
                request = steps.send(output)
        except StopIteration as end:
            record: Record = end.value
            return replace(record, passes=tuple(_asked_passes(record.passes, asked)))

    return joined_flow


def _asked_passes(passes: Sequence[Pass], asked: _Asked) -> Iterator[Pass]:
    """The passes, with what the two models were asked in place of each request to draw."""
    drawings = list(asked)
    for each in passes:
        if not drawings or tuple(each.prompt) != tuple(drawings[0][0]):
            yield each
            continue
        _, drawing = drawings.pop(0)
        if drawing.description is not None:
            yield Pass(tuple(drawing.description.messages), drawing.description.output)
        yield replace(each, prompt=tuple(drawing.messages))
