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
from snellen.api.options import DEFAULT_STORE
from snellen.api.resolve_models import resolve_model
from snellen.core.answer_text import answer_texts
from snellen.core.errors import MediaError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.media import Source, decode_image
from snellen.core.model import AnyModel, Model
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Generation, Media, Ref, Text, user
from snellen.engine.loop.request_broker import ask_all
from snellen.report.page.embedded import data_urls
from snellen.report.page.thumbnails import thumbnail
from snellen.settings import max_image_pixels
from snellen.store.responses import ResponseStore

JUDGE = "judge"
_MAX_REPLY_TOKENS = 256
_TAIL = re.compile(r"labels?\s*:\s*(?P<named>[^\n]*)\s*\Z", re.IGNORECASE)


class LabelProposals(NamedTuple):
    """Labels that a judge model proposes for wrong answers.

    `unread` counts replies of the judge that name no type, and failed requests; `blind` counts
    samples that it judged without their images, because of `missing_data`."""

    labels: ErrorLabels
    unread: int
    blind: int
    missing_data: tuple[str, ...] = ()

    @property
    def notices(self) -> list[str]:
        """What is missing from them, as sentences."""
        total, said = len(self.labels.samples), list(self.missing_data)
        if self.blind:
            said = [f"{self.blind} of {total} samples were judged without their pictures", *said]
        if self.unread:
            said.append(f"{self.unread} of {total} replies of the judge name no type of error")
        return said


def image_urls(wrong_answers: Sequence[WrongAnswer], moved: Sequence[str] = ()) -> dict[str, str]:
    """Thumbnails as data URLs, by digest: from the run folders, else made from the data if these
    are still there."""
    urls: dict[str, str] = {}
    for run, digests in _digests_by_run(wrong_answers).items():
        folder = next(answer.run.path for answer in wrong_answers if answer.run.name == run)
        urls |= data_urls(folder, digests)
    missing = {digest for digests in _digests_by_run(wrong_answers).values() for digest in digests} - urls.keys()
    if not missing:
        return urls
    for digest, source in media_sources(wrong_answers, missing, moved).by_digest.items():
        try:
            data = thumbnail(decode_image(source.read(), max_image_pixels()))
        except MediaError:
            continue
        urls[digest] = "data:image/jpeg;base64," + base64.b64encode(data).decode()
    return urls


class MediaSources(NamedTuple):
    """Media by digest, and a sentence for each run whose data were not found."""

    by_digest: dict[str, Source]
    missing_data: tuple[str, ...]


def media_sources(wrong_answers: Sequence[WrongAnswer], digests: set[str], moved: Sequence[str] = ()) -> MediaSources:
    """The media of samples, from the data of their runs, prepared as they were asked.

    The data of a run may have been `moved` to one of these files."""
    sources: dict[str, Source] = {}
    problems: list[str] = []
    for name in dict.fromkeys(answer.run.name for answer in wrong_answers):
        members = [answer for answer in wrong_answers if answer.run.name == name]
        ids = {answer.record.id for answer in members}
        try:
            benchmark = benchmark_with_data(members[0].run, moved)
            for sample in benchmark.samples(benchmark.open()):
                if sample.id in ids:
                    prepared = benchmark.prepare(sample) if benchmark.prepare else sample
                    sources.update((ref.digest, ref.source) for ref in prepared.media if ref.digest in digests)
        except UsageError as error:
            problems.append(str(error))
    return MediaSources(sources, tuple(problems))


def propose_labels(
    wrong_answers: Sequence[WrongAnswer], model: AnyModel, store: Path | str = DEFAULT_STORE, moved: Sequence[str] = ()
) -> LabelProposals:
    """Have a judge model label wrong answers. It sees the images, the question, the right answer
    and the reply.

    Its replies are kept in `store`, so that asking again costs nothing; `moved` as in
    `media_sources`. Raises UsageError subclasses if the model cannot be opened.
    """
    name, judge = resolve_model(model, {})
    digests = {digest for answer in wrong_answers for digest in answer.record.media}
    media, missing_data = media_sources(wrong_answers, digests, moved) if digests else MediaSources({}, ())
    with ResponseStore(Path(store)) as responses:
        outputs = run_coroutine(ask_judge(judge, [_request(answer, media) for answer in wrong_answers], responses))
    labels = [_parse_labels(output) for output in outputs]
    samples = tuple(
        ErrorLabel(
            answer.run.name, answer.record.id, answer.run.info.model, answer.subtask, types, wrong=answer.wrong_count
        )
        for answer, types in zip(wrong_answers, labels, strict=True)
    )
    without_images = sum(not media.keys() >= set(answer.record.media) for answer in wrong_answers)
    return LabelProposals(ErrorLabels(samples, name), sum(not types for types in labels), without_images, missing_data)


def parse_error_types(reply: str) -> tuple[ErrorType, ...]:
    """Parse the error types after the last `Labels:` of a reply; () if there are none."""
    tail = _TAIL.search(reply.strip())
    names = re.findall(r"[a-z]+", tail["named"].lower()) if tail else []
    return tuple(error_type for error_type in ERROR_TYPES if error_type in names)


def _parse_labels(output: Output) -> tuple[ErrorType, ...]:
    return parse_error_types(output.text) if isinstance(output, Generated) else ()


def _request(wrong_answer: WrongAnswer, media: Mapping[str, Source]) -> Generate:
    """The request to the judge about one wrong answer, with the images that are in `media`."""
    digests = [digest for digest in wrong_answer.record.media if digest in media]
    options = "\n".join(f"{label}. {text}" for label, text in wrong_answer.options.items())
    types = "\n".join(f"{name}: {title}; {meaning}" for name, (title, meaning) in MEANINGS.items())
    text = (
        "A model answered a question about the picture wrongly. Tell why.\n\n"
        f"Question: {wrong_answer.record.question}\n"
        + (f"Options:\n{options}\n" if options else "")
        + f"Right answer: {', '.join(answer_texts(wrong_answer.gold, wrong_answer.record.kind))}\n"
        f"The model's reply: {wrong_answer.reply}\n\n"
        f"Types of error:\n{types}\n\n"
        "Several may apply. Give your reason in one sentence, then one last line of the form\n"
        "Labels: name, name"
    )
    images = (Media("image", digest) for digest in digests)
    return Generate(
        messages=(user(*images, Text(text)),),
        ref=Ref(f"{wrong_answer.run.name}/{wrong_answer.record.id}"),
        settings=Generation(max_new_tokens=_MAX_REPLY_TOKENS),
        media={digest: media[digest] for digest in digests},
        to=JUDGE,
    )


async def ask_judge(model: Model, requests: Sequence[Generate], store: ResponseStore) -> list[Output]:
    """A judge's replies to these requests, in their order."""
    async with ask_all(model, JUDGE, requests, store) as outputs:
        return outputs


def _digests_by_run(wrong_answers: Sequence[WrongAnswer]) -> dict[str, list[str]]:
    digests: dict[str, list[str]] = defaultdict(list)
    for answer in wrong_answers:
        digests[answer.run.name] += answer.record.media
    return digests
