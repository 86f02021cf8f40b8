"""Labelling why answers are wrong: the page for people, and labels proposed by a judge model."""

from __future__ import annotations

import asyncio
import base64
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.analysis.samples.error_samples import (
    ERROR_TYPES,
    MEANINGS,
    ErrorType,
    Label,
    Labels,
    Wrong,
)
from snellen.api._resolve import named_model
from snellen.api.options import DEFAULT_OUT, STORE_FILE
from snellen.core.errors import MediaError, UsageError
from snellen.core.media import Source, decode_image
from snellen.core.message import Media, Text, user
from snellen.core.model import Model
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Generation, Ref
from snellen.engine.loop.request_broker import outputs_of
from snellen.report.page.embedded import data_urls
from snellen.report.page.thumbnails import thumbnail
from snellen.settings import most_pixels
from snellen.store.responses import ResponseStore

JUDGE = "judge"
_LONGEST = 256
_TAIL = re.compile(r"labels?\s*:\s*(?P<named>[^\n]*)\s*\Z", re.IGNORECASE)


class Judged(NamedTuple):
    """`unread` counts replies of the judge that name no type, or that did not come, `blind` the
    samples whose pictures it was not shown, for the reasons `absent`."""

    labels: Labels
    unread: int
    blind: int
    absent: tuple[str, ...] = ()


def pictures_of(drawn: Sequence[Wrong], moved: Sequence[str] = ()) -> dict[str, str]:
    """Thumbnails as data URLs by digest: those the run folders hold, else made from the data,
    where these are still there."""
    found: dict[str, str] = {}
    for run, digests in _wanted(drawn).items():
        folder = next(one.run.path for one in drawn if one.run.name == run)
        found |= data_urls(folder, digests)
    missing = {digest for digests in _wanted(drawn).values() for digest in digests} - found.keys()
    for digest, source in sources_of(drawn, missing, moved).found.items() if missing else ():
        try:
            data = thumbnail(decode_image(source.read(), most_pixels()))
        except MediaError:
            continue
        found[digest] = "data:image/jpeg;base64," + base64.b64encode(data).decode()
    return found


class Sources(NamedTuple):
    """Media by digest, and for each run whose data are not there why."""

    found: dict[str, Source]
    absent: tuple[str, ...]


def sources_of(drawn: Sequence[Wrong], wanted: set[str], moved: Sequence[str] = ()) -> Sources:
    """The media that the samples' own data hold, prepared as they were asked. The data of a run may
    be in one of the files `moved` now."""
    found: dict[str, Source] = {}
    absent: list[str] = []
    for name in dict.fromkeys(one.run.name for one in drawn):
        members = [one for one in drawn if one.run.name == name]
        ids = {one.record.id for one in members}
        try:
            benchmark = benchmark_with_data(members[0].run, moved)
            for sample in benchmark.samples(benchmark.open()):
                if sample.id in ids:
                    shown = benchmark.prepare(sample) if benchmark.prepare else sample
                    found.update(
                        (ref.digest, ref.source) for ref in shown.media if ref.digest in wanted
                    )
        except UsageError as error:
            absent.append(str(error))
    return Sources(found, tuple(absent))


def judged(
    drawn: Sequence[Wrong],
    model: str | Model,
    store: Path | str = Path(DEFAULT_OUT) / STORE_FILE,
    moved: Sequence[str] = (),
) -> Judged:
    """Labels of a judge model that is shown the pictures, the question, the right answer and the
    reply. Its replies are kept in `store`, so that asking again costs nothing; `moved` as in
    `sources_of`.

    Raises UsageError subclasses for a model that cannot be opened.
    """
    name, opened = named_model(model, {})
    wanted = {digest for one in drawn for digest in one.record.media}
    media, absent = sources_of(drawn, wanted, moved) if wanted else Sources({}, ())
    with ResponseStore(Path(store)) as responses:
        outputs = asyncio.run(_asked(opened, [_request(one, media) for one in drawn], responses))
    labels = [_read(output) for output in outputs]
    samples = tuple(
        Label(one.run.name, one.record.id, one.run.info.model, one.subtask, found, wrong=one.among)
        for one, found in zip(drawn, labels, strict=True)
    )
    blind = sum(not media.keys() >= set(one.record.media) for one in drawn)
    return Judged(Labels(samples, name), sum(not found for found in labels), blind, absent)


def read_types(reply: str) -> tuple[ErrorType, ...]:
    """The types named after the last `Labels:` of a reply; none where it names none."""
    tail = _TAIL.search(reply.strip())
    named = re.findall(r"[a-z]+", tail["named"].lower()) if tail else []
    return tuple(one for one in ERROR_TYPES if one in named)


def _read(output: Output) -> tuple[ErrorType, ...]:
    return read_types(output.text) if isinstance(output, Generated) else ()


def _request(one: Wrong, media: Mapping[str, Source]) -> Generate:
    shown = [digest for digest in one.record.media if digest in media]
    options = "\n".join(f"{label}. {text}" for label, text in one.options.items())
    types = "\n".join(f"{name}: {title}; {meaning}" for name, (title, meaning) in MEANINGS.items())
    text = (
        "A model answered a question about the picture wrongly. Tell why.\n\n"
        f"Question: {one.record.question}\n"
        + (f"Options:\n{options}\n" if options else "")
        + f"Right answer: {', '.join(one.gold)}\n"
        f"The model's reply: {one.reply}\n\n"
        f"Types of error:\n{types}\n\n"
        "Several may apply. Give your reason in one sentence, then one last line of the form\n"
        "Labels: name, name"
    )
    pictures = (Media("image", digest) for digest in shown)
    return Generate(
        messages=(user(*pictures, Text(text)),),
        ref=Ref(f"{one.run.name}/{one.record.id}"),
        settings=Generation(max_new_tokens=_LONGEST),
        media={digest: media[digest] for digest in shown},
        to=JUDGE,
    )


async def _asked(model: Model, requests: Sequence[Generate], store: ResponseStore) -> list[Output]:
    async with outputs_of(model, JUDGE, requests, store) as outputs:
        return outputs


def _wanted(drawn: Sequence[Wrong]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in drawn:
        found[one.run.name] += one.record.media
    return found
