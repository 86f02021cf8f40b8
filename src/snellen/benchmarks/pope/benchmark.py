"""POPE: is there such an object in the image? (Li et al. 2023, https://arxiv.org/abs/2305.10355).

One example row: question_id 1, split "adversarial", image "COCO_val2014_000000310196.jpg",
question "Is there a snowboard in the image?", label "yes".

Oddities: three tracks over the same 500 images, which differ in how the absent objects are drawn
(random, popular, adversarial); the random track had 2910 questions before October 2023, 3000
since. Ids start anew in each track of the authors' files (`--columns id=split+question_id`).
VLMEvalKit's TSV holds a question once with a comma-joined list of tracks: it then counts once in
each of them.

Yes is positive. The headline is the plain mean of the tracks' F1 (LLaVA-1.5 prints it as "POPE");
`f1_pooled` is F1 over all (question, track) pairs, which VLMEvalKit calls Overall. Readings, all
in every report: `word`, where an unread reply is no positive prediction and is wrong, and
`official`, the published script's: no if the first sentence has the word no or not, else yes;
`vlmevalkit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

from msgspec.structs import replace

from snellen.benchmarks.declaration.published import Published, tsv
from snellen.benchmarks.declaration.questions import failures_of, resolve
from snellen.benchmarks.declaration.rows import samples
from snellen.benchmarks.pope.summary import TRACK, TRACKS, f1_sums, summarise_pope, tracks_of
from snellen.benchmarks.protocol.ask_config import (
    concluded,
    example_options,
    example_parameters,
    longest_reply,
    needing,
    with_examples,
)
from snellen.benchmarks.protocol.flows import Manner, YesNoReader, words_reader
from snellen.benchmarks.protocol.parsers import reading_of_rule, rule_parameter
from snellen.benchmarks.protocol.reported_rules import asked_with_readings
from snellen.core.answer import Answer, Found
from snellen.core.benchmark import Benchmark, Variant, needs
from snellen.core.errors import UsageError
from snellen.core.request import Generation
from snellen.core.sample import Row, Sample
from snellen.extract.published.vlmevalkit import read_yes_no_vlmevalkit
from snellen.extract.yes_no import NO, YES
from snellen.prompts.choice import Wording

VERSION = "3"
MAX_NEW_TOKENS = 128
ALIASES = {
    "pope_adv": {"category": "adversarial"},
    "pope_pop": {"category": "popular"},
    "pope_random": {"category": "random"},
}
DATA = Published(
    {},
    {
        (): tsv(
            "https://opencompass.openxlab.space/utils/VLMEval/POPE.tsv",
            "c12f5acb142f2ef1f85a26ba2fbe41d5",
        )
    },
)
_WORDINGS: Mapping[str, Wording] = {
    "plain": Wording(yes_no=""),
    "short": Wording(yes_no="\nAnswer the question using a single word or phrase."),
}
"""`plain` is the paper's and VLMEvalKit's, `short` LLaVA's and lmms-eval's."""
_PICTURE_COLUMNS = ("image_path", "image", "image_source")
_OFFICIAL_NO = frozenset({"No", "no", "not"})


def read_official(reply: str, stop_reason: str = "stop") -> Answer:
    """The published script's reading: of the text before the first full stop, commas taken out,
    no if No, no or not is among its words (split at blanks), else yes. Nothing is unread."""
    words = reply.split(".")[0].replace(",", "").split(" ")
    return Found(NO if _OFFICIAL_NO & set(words) else YES, "official")


READINGS: Mapping[str, YesNoReader] = {
    "word": words_reader,
    "official": read_official,
    "vlmevalkit": read_yes_no_vlmevalkit,
}
_OF_RULES = {"snellen": "word", "vlmevalkit": "vlmevalkit", "official": "official"}


def benchmark(variant: Variant) -> Benchmark:
    known = {
        "reading": tuple(READINGS),
        "category": ("all", *TRACKS),
        "prompt": tuple(_WORDINGS),
        **example_options(),
    }
    parameters = resolve("pope", variant, known)
    if variant.circular not in (None, "off"):
        raise UsageError("pope has yes/no questions, which have no options to rotate")
    reading = reading_of_rule("pope", variant, parameters["reading"], _OF_RULES)
    longest = longest_reply(MAX_NEW_TOKENS, parameters)
    settings = Generation(max_new_tokens=variant.max_new_tokens or longest)
    how = Manner(
        settings,
        extractor=variant.extractor,
        yes_no=READINGS[reading],
        wording=_WORDINGS[parameters["prompt"]],
    )

    ask = partial(pope_samples, category=parameters["category"])
    how = with_examples(how, parameters, variant.shots)
    reported = {name: concluded(read, parameters) for name, read in READINGS.items()}
    plain = {key: parameters[key] for key in ("category", "prompt")}
    return Benchmark(
        name="pope",
        version=VERSION,
        title="POPE, objects that are not there",
        headline="f1",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        samples=ask,
        flow=asked_with_readings(how, reported),
        summarise=partial(
            summarise_pope,
            reading=reading,
            readings=tuple(READINGS),
            failures=failures_of(variant),
        ),
        headline_sums=partial(f1_sums, reading, failures_of(variant)),
        needs=needing(needs("text", "image"), parameters, variant.control),
        paper="https://arxiv.org/abs/2305.10355",
        source="POPE (MIT) over COCO images, as VLMEvalKit's TSV",
        options=known,
        rules=tuple(_OF_RULES),
        parameters={
            "reading": reading,
            **plain,
            **example_parameters(parameters),
            **rule_parameter(variant),
        },
        max_new_tokens=settings.max_new_tokens,
    )


def pope_samples(rows: Iterable[Row], category: str = "all") -> Iterator[Sample]:
    """Samples in the order of their rows; the questions about an image are one unit. `category`
    keeps the questions of one track, in that track alone. Raises DataError as `samples` does."""
    held = list(rows)
    path = str(getattr(rows, "path", "pope"))
    for row, sample in zip(held, samples(held, groups=(), path=path), strict=True):
        tracks = _tracks(row)
        if category != "all":
            if category not in tracks_of(tracks):
                continue
            tracks = category
        yield replace(
            sample,
            kind="yes_no",
            options={},
            groups={TRACK: tracks} if tracks else {},
            unit=_picture(row, sample),
        )


def _tracks(row: Row) -> str:
    """The cell that names POPE's tracks, else the category as it stands."""
    for column in ("category", "split"):
        cell = row.cells.get(column, "")
        if cell and set(tracks_of(cell)) <= set(TRACKS):
            return cell
    return row.cells.get("category", "")


def _picture(row: Row, sample: Sample) -> str:
    for column in _PICTURE_COLUMNS:
        if row.cells.get(column):
            return row.cells[column]
    return sample.media[0].digest if sample.media else ""
