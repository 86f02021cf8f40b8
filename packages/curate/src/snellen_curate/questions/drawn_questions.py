"""Questions that are answered by drawing (SEED-Bench-H, part 3: Text-to-Image Generation).

A language model changes a target or an attribute of a caption; a model draws the caption and its
changes; the four images are the options (Sec. 3.3.3). People then filter them: `curate review`.
The items are in the form that `seedbench:version=H,level=L3 --data DIR/items.jsonl` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from snellen.api.progress import ProgressChoice
from snellen.benchmarks.abilities.seedbench.image_answers import LEAD_IN
from snellen.core.benchmark import DataTable
from snellen.core.errors import DataError, MediaError, UsageError
from snellen.core.media import FileSource, InlineSource, check_image, digest_bytes
from snellen.core.model import AnyModel, Capabilities, Identity, ModelDefaults
from snellen.core.output import Drawn, Failure, Output, ParsedAnswer
from snellen.core.record import Steps
from snellen.core.request import Draw, Drawing, Generation, Ref, Request, Text, user
from snellen.core.sample import MediaRef, Sample, sampling_key
from snellen.data.detect import TABLES
from snellen.data.tables.open_table import open_table
from snellen.data_sets.decisions import Decision, Exclusion
from snellen.data_sets.items import Item
from snellen.data_sets.step import MediaWriter, SourceInfo, Step, open_step
from snellen.extract.choice import parse_choice
from snellen.prompts.choice import prompt
from snellen.settings import max_image_pixels
from snellen_curate.asking import AskFailed, Job, Models, Result, ask, ask_json, ask_text, model_setting, open_models
from snellen_curate.metadata.draw import place_options
from snellen_curate.questions import rules
from snellen_curate.questions.image_job import final_rule
from snellen_curate.questions.question_items import answer_positions, image_options_item
from snellen_curate.questions.results import QuestionsResult, decide_once, finish_questions
from snellen_curate.questions.sources import CAPTION_COLUMNS, kept_cells, unique_ids
from snellen_curate.questions.writing import CHECKER, WRITER, prompt_messages, prompt_texts
from snellen_curate.step_options import StepOptions

_COLUMNS = (*CAPTION_COLUMNS, "prompt")


class Caption(Struct, frozen=True, gc=False):
    """A caption, and what its file says of it."""

    id: str
    text: str
    """Empty if the row has none."""
    cells: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions of a file, read lazily and in order."""

    path: Path
    table: DataTable

    def __iter__(self) -> Iterator[Caption]:
        for name, row in unique_ids(self.table):
            text = next((row.cells[name] for name in _COLUMNS if row.cells.get(name)), "")
            yield Caption(name, text.strip(), kept_cells(row.cells))

    def __len__(self) -> int:
        return len(self.table)

    def describe(self) -> SourceInfo:
        return SourceInfo(self.path.name, str(self.path), self.table.digest, len(self.table))


def open_captions(path: str | Path) -> Captions:
    """Open a data file with a column `caption`, `text` or `prompt`. Raises UsageError."""
    place = Path(path).expanduser()
    if not place.is_file() or place.suffix.lower() not in TABLES:
        raise UsageError(f"{path} is no file of captions: expected one of {', '.join(TABLES)} with a column `caption`")
    table = open_table(str(place))
    if not {*table.columns} & {*_COLUMNS}:
        raise DataError(f"{path} has no column {' or '.join(_COLUMNS)}; it has {', '.join(table.columns)}")
    return Captions(place, table)


RECORDED = "file:"


class RecordedDrawings(ModelDefaults):
    """Images by their captions, from a data file with the columns `caption` and `image`."""

    def __init__(self, path: str) -> None:
        """Raises UsageError for a file without these columns."""
        captions = open_captions(path)
        self.identity = Identity("file", Path(path).name, {"sha256": captions.table.digest})
        self.capabilities = Capabilities(inputs=frozenset({"text"}), outputs=frozenset({"image"}), many_images=False)
        rows = zip(captions, captions.table, strict=True)
        self._images: Mapping[str, MediaRef] = {caption.text: row.media[0] for caption, row in rows if row.media}
        if not self._images:
            raise DataError(f"{path} names no pictures; give them in a column `image`")

    def answer(self, request: Request) -> Output:
        """The image that was drawn of the text."""
        ref = self._images.get(request.text()) if isinstance(request, Draw) else None
        if ref is None:
            return Failure("unsupported", f"no picture of {request.text()!r} was recorded")
        try:
            data = ref.source.read()
            check_image(data, max_image_pixels())
        except MediaError as error:
            return Failure("media", str(error))
        name = digest_bytes(data)
        return Drawn((name,), data={name: data})


STEP = "drawn questions"
DIMENSION = "Text-to-Image Generation"
GENERATOR = "generator"
_SETTINGS = Generation(max_new_tokens=1024)
_REPLY = Generation(max_new_tokens=64)
_DEFAULTS = StepOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnOptions:
    """Options of `make_drawn_questions`."""

    writer: AnyModel
    """Changes the captions."""
    generator: AnyModel
    """Draws: a model, or `file:FILE`, recorded drawings by caption."""
    checker: AnyModel = ""
    """A multimodal model that says which caption a drawing shows; empty: not checked."""
    drawing: Drawing = Drawing()  # noqa: RUF009 - frozen
    require_license: bool = False
    seed: int = 0

    def settings(self) -> dict[str, Any]:
        """What decides the result, for `step.json`."""
        values = {name: getattr(self, name) for name in self.__slots__}
        models = {name: model_setting(values[name]) for name in ("writer", "generator", "checker")}
        return {**values, **models, "prompts": prompt_texts().digest}


class _Drawings(NamedTuple):
    """What a caption's job made: its images, that of the caption first."""

    images: tuple[MediaRef, ...]
    doubts: str
    """Why a person should look at them."""


def make_drawn_questions(
    captions: Captions,
    out: Path | str,
    options: DrawnOptions,
    asking: StepOptions = _DEFAULTS,
    *,
    progress: ProgressChoice = None,
) -> QuestionsResult:
    """Make a data set folder of questions whose options are images; started again, it goes on.

    Raises UsageError for options, models or a folder that cannot be used, and StorageError.
    """
    if not options.writer or not options.generator:
        raise UsageError("name the models that change captions and draw: -m, --draw")
    generator = options.generator
    if isinstance(generator, str) and generator.startswith(RECORDED):
        generator = RecordedDrawings(generator.removeprefix(RECORDED))
    roles = {WRITER: options.writer, GENERATOR: generator}
    if options.checker:
        roles[CHECKER] = options.checker
    with (
        open_step(out, STEP, options.settings(), captions.describe()) as step,
        open_models(roles, asking, out, progress=progress) as models,
    ):
        return _DrawnQuestions(captions, options, step, models).make()


class _DrawnQuestions:
    """One start of the step. Resuming asks the store: nothing is drawn twice."""

    def __init__(self, captions: Captions, options: DrawnOptions, step: Step, models: Models) -> None:
        self._captions, self._options = captions, options
        self._step, self._models = step, models
        self._media = MediaWriter(step.folder)
        self._images: dict[str, tuple[MediaRef, ...]] = {}
        self._failed = 0

    def make(self) -> QuestionsResult:
        """Draw, decide, and write the items, unless something is still to be done."""
        jobs = (Job(one.id, self._caption(one)) for one in self._captions)
        self._models.drive(jobs, self._add_result, "captions", len(self._captions))
        reason, kept = self._models.abort_reason, {}
        if not self._failed and not reason and self._images:
            kept[DIMENSION] = self._step.write_items(self._items())
        return finish_questions(self._step, len(self._captions), kept, self._failed, reason, "caption")

    def _caption(self, caption: Caption) -> Steps[_Drawings | Exclusion]:
        """Change a caption, apply the rules, and draw."""
        if not caption.text:
            return Exclusion(rules.MISSING, "the row has no caption")
        if self._options.require_license and not caption.cells.get("license"):
            return Exclusion(rules.NO_LICENSE, "the file names no licence for it")
        try:
            messages = prompt_messages("variations", caption=caption.text)
            reply = yield from ask_json(WRITER, messages, rules.ChangedCaptions, caption.id, settings=_SETTINGS)
            problem = _check_changes(caption.text, reply.changed)
            if problem is not None:
                return problem
            texts = (caption.text, *(one.caption.strip() for one in reply.changed))
            images = yield from self._draw(caption.id, texts)
            if isinstance(images, Exclusion):
                return images
            doubts = yield from self._doubts(caption.id, texts, images)
        except AskFailed as error:
            return Exclusion(final_rule(error), error.failure.message)
        return _Drawings(images, doubts)

    def _draw(self, name: str, texts: Sequence[str]) -> Steps[tuple[MediaRef, ...] | Exclusion]:
        """An image of each text, kept in the data set folder."""
        images: list[MediaRef] = []
        for number, text in enumerate(texts):
            request = Draw(
                messages=(user(Text(text)),), ref=Ref(name, number), settings=self._options.drawing, to=GENERATOR
            )
            output = yield from ask(request)
            if not isinstance(output, Drawn) or not output.images:
                return Exclusion(rules.NOT_DRAWN, f"no picture of {text!r} was drawn")
            digest = output.images[0]
            ref = MediaRef(digest, InlineSource(output.data[digest]))
            path = self._step.folder / self._media.copy(ref)
            images.append(MediaRef(digest, FileSource(str(path))))
        if len({ref.digest for ref in images}) < len(images):
            return Exclusion(rules.SAME_IMAGE, "two captions were drawn as the same picture")
        return tuple(images)

    def _doubts(self, name: str, texts: Sequence[str], images: Sequence[MediaRef]) -> Steps[str]:
        """Which drawings the checker takes for another caption's."""
        wrong: list[str] = []
        for number, ref in enumerate(images if self._options.checker else ()):
            item = f"{name}/{number}"
            others = [text for text in texts if text != texts[number]]
            place = sampling_key("checker", item)[0] % len(texts)
            options = place_options(texts[number], others, place, item)
            sample = Sample(item, "choice", "Which description fits the picture?", (), options, (ref,))
            media = {ref.digest: ref.source}
            reply = yield from ask_text(CHECKER, prompt(sample), item, media=media, settings=_REPLY)
            answer = parse_choice(reply, options)
            chosen = options.get(answer.value) if isinstance(answer, ParsedAnswer) else None
            if chosen != texts[number]:
                wrong.append(f"the drawing of {texts[number]!r} is taken for {chosen!r}")
        return "; ".join(wrong)

    def _add_result(self, result: Result[_Drawings | Exclusion]) -> None:
        if result.value is None:
            self._failed += 1
            self._step.decide(result.failed_decision(STEP))
            return
        if isinstance(result.value, Exclusion):
            decide_once(self._step, Decision(result.id, "drop", STEP, *result.value, result.asked))
            return
        self._images[result.id], doubts = result.value
        decision = Decision(result.id, "add", STEP, rules.WRITTEN, DIMENSION, result.asked)
        if doubts:
            decision = Decision(result.id, "flag", STEP, rules.DRAWING_UNLIKE, doubts, result.asked)
        decide_once(self._step, decision)

    def _items(self) -> Iterator[Item]:
        """The items in the order of the captions, answers at each place equally often."""
        seed = self._options.seed
        places = answer_positions(self._images, seed)
        for caption in self._captions:
            images = self._images.get(caption.id)
            if images is None:
                continue
            yield image_options_item(
                caption.id,
                DIMENSION,
                f"{LEAD_IN} {caption.text}",
                (),
                images,
                places[caption.id],
                {**caption.cells, "caption": caption.text},
                seed,
            )


def _check_changes(caption: str, changed: Sequence[rules.ChangedCaption]) -> Exclusion | None:
    """The rules for changed captions, in the order they are applied."""
    if len(changed) != rules.DISTRACTORS or not all(one.caption.strip() for one in changed):
        return Exclusion(rules.MISSING, f"there are {len(changed)} changed captions; expected 3")
    for rule, reason in (
        (rules.UNCHANGED, rules.check_captions_differ(caption, changed)),
        (rules.CHANGED_TOO_MUCH, rules.check_change_size(caption, changed)),
    ):
        if reason:
            return Exclusion(rule, reason)
    return None
