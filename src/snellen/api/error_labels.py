"""Labelling why answers are wrong: the page for people, and labels proposed by a judge model."""

from __future__ import annotations

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
    ErrorLabel,
    ErrorLabels,
    ErrorType,
    WrongAnswer,
)
from snellen.api._resolve import resolve_model
from snellen.api.options import DEFAULT_OUT, STORE_FILE
from snellen.core.errors import MediaError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.media import Source, decode_image
from snellen.core.message import Media, Text, user
from snellen.core.model import Model
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Generation, Ref
from snellen.engine.loop.request_broker import ask_all
from snellen.report.page.embedded import data_urls
from snellen.report.page.thumbnails import thumbnail
from snellen.settings import max_image_pixels
from snellen.store.responses import ResponseStore

JUDGE = "judge"
_MAX_REPLY_TOKENS = 256
_TAIL = re.compile(r"labels?\s*:\s*(?P<named>[^\n]*)\s*\Z", re.IGNORECASE)


class LabelProposals(NamedTuple):
    """`unread` counts replies of the judge that name no type, or that did not come, `blind` the
    samples whose pictures it was not shown, for the reasons `missing_data`."""

    labels: ErrorLabels
    unread: int
    blind: int
    missing_data: tuple[str, ...] = ()


def image_urls(wrong_answers: Sequence[WrongAnswer], moved: Sequence[str] = ()) -> dict[str, str]:
    """Thumbnails as data URLs by digest: those the run folders hold, else made from the data,
    where these are still there."""
    found: dict[str, str] = {}
    for run, digests in _digests_by_run(wrong_answers).items():
        folder = next(one.run.path for one in wrong_answers if one.run.name == run)
        found |= data_urls(folder, digests)
    missing = {
        digest for digests in _digests_by_run(wrong_answers).values() for digest in digests
    } - found.keys()
    for digest, source in (
        media_sources(wrong_answers, missing, moved).by_digest.items() if missing else ()
    ):
        try:
            data = thumbnail(decode_image(source.read(), max_image_pixels()))
        except MediaError:
            continue
        found[digest] = "data:image/jpeg;base64," + base64.b64encode(data).decode()
    return found


class MediaSources(NamedTuple):
    """Media by digest, and for each run whose data are not there why."""

    by_digest: dict[str, Source]
    missing_data: tuple[str, ...]


def media_sources(
    wrong_answers: Sequence[WrongAnswer], digests: set[str], moved: Sequence[str] = ()
) -> MediaSources:
    """The media that the samples' own data hold, prepared as they were asked. The data of a run may
    be in one of the files `moved` now."""
    found: dict[str, Source] = {}
    absent: list[str] = []
    for name in dict.fromkeys(one.run.name for one in wrong_answers):
        members = [one for one in wrong_answers if one.run.name == name]
        ids = {one.record.id for one in members}
        try:
            benchmark = benchmark_with_data(members[0].run, moved)
            for sample in benchmark.samples(benchmark.open()):
                if sample.id in ids:
                    prepared = benchmark.prepare(sample) if benchmark.prepare else sample
                    found.update(
                        (ref.digest, ref.source) for ref in prepared.media if ref.digest in digests
                    )
        except UsageError as error:
            absent.append(str(error))
    return MediaSources(found, tuple(absent))


def propose_labels(
    wrong_answers: Sequence[WrongAnswer],
    model: str | Model,
    store: Path | str = Path(DEFAULT_OUT) / STORE_FILE,
    moved: Sequence[str] = (),
) -> LabelProposals:
    """Labels of a judge model that is shown the pictures, the question, the right answer and the
    reply. Its replies are kept in `store`, so that asking again costs nothing; `moved` as in
    `media_sources`.

    Raises UsageError subclasses for a model that cannot be opened.
    """
    name, opened = resolve_model(model, {})
    digests = {digest for one in wrong_answers for digest in one.record.media}
    media, absent = (
        media_sources(wrong_answers, digests, moved) if digests else MediaSources({}, ())
    )
    with ResponseStore(Path(store)) as responses:
        outputs = run_coroutine(
            _ask_judge(opened, [_request(one, media) for one in wrong_answers], responses)
        )
    labels = [_parse_labels(output) for output in outputs]
    samples = tuple(
        ErrorLabel(
            one.run.name,
            one.record.id,
            one.run.info.model,
            one.subtask,
            found,
            wrong=one.wrong_count,
        )
        for one, found in zip(wrong_answers, labels, strict=True)
    )
    blind = sum(not media.keys() >= set(one.record.media) for one in wrong_answers)
    return LabelProposals(
        ErrorLabels(samples, name), sum(not found for found in labels), blind, absent
    )


def parse_error_types(reply: str) -> tuple[ErrorType, ...]:
    """The types named after the last `Labels:` of a reply; none where it names none."""
    tail = _TAIL.search(reply.strip())
    named = re.findall(r"[a-z]+", tail["named"].lower()) if tail else []
    return tuple(one for one in ERROR_TYPES if one in named)


def _parse_labels(output: Output) -> tuple[ErrorType, ...]:
    return parse_error_types(output.text) if isinstance(output, Generated) else ()


def _request(wrong_answer: WrongAnswer, media: Mapping[str, Source]) -> Generate:
    digests = [digest for digest in wrong_answer.record.media if digest in media]
    options = "\n".join(f"{label}. {text}" for label, text in wrong_answer.options.items())
    types = "\n".join(f"{name}: {title}; {meaning}" for name, (title, meaning) in MEANINGS.items())
    text = (
        "A model answered a question about the picture wrongly. Tell why.\n\n"
        f"Question: {wrong_answer.record.question}\n"
        + (f"Options:\n{options}\n" if options else "")
        + f"Right answer: {', '.join(wrong_answer.gold)}\n"
        f"The model's reply: {wrong_answer.reply}\n\n"
        f"Types of error:\n{types}\n\n"
        "Several may apply. Give your reason in one sentence, then one last line of the form\n"
        "Labels: name, name"
    )
    pictures = (Media("image", digest) for digest in digests)
    return Generate(
        messages=(user(*pictures, Text(text)),),
        ref=Ref(f"{wrong_answer.run.name}/{wrong_answer.record.id}"),
        settings=Generation(max_new_tokens=_MAX_REPLY_TOKENS),
        media={digest: media[digest] for digest in digests},
        to=JUDGE,
    )


async def _ask_judge(
    model: Model, requests: Sequence[Generate], store: ResponseStore
) -> list[Output]:
    async with ask_all(model, JUDGE, requests, store) as outputs:
        return outputs


def _digests_by_run(wrong_answers: Sequence[WrongAnswer]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for one in wrong_answers:
        found[one.run.name] += one.record.media
    return found
