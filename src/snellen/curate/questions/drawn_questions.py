"""Questions that are answered by drawing (SEED-Bench-H, part 3: Text-to-Image Generation).

A language model changes a target or an attribute of a caption; a model draws the caption and its
changes; the four pictures are the options (Sec. 3.3.3). People then filter them: `curate review`.
The items are in the form that `seedbench:version=H,level=L3 --data DIR/items.jsonl` reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from snellen.api.progress import ProgressChoice
from snellen.benchmarks.abilities.seedbench.image_answers import LEAD_IN
from snellen.core.errors import UsageError
from snellen.core.flow import Steps
from snellen.core.media import FileSource, InlineSource
from snellen.core.model import AnyModel
from snellen.core.output import Drawn, ParsedAnswer
from snellen.core.request import Draw, Drawing, Generation, Ref, Text, user
from snellen.core.sample import MediaRef, Sample, sampling_key
from snellen.curate.asking import (
    AskFailed,
    Job,
    Models,
    Result,
    ask,
    ask_json,
    ask_text,
    open_models,
)
from snellen.curate.decisions import Decision
from snellen.curate.items import Item
from snellen.curate.questions.balance import answer_positions, place_options
from snellen.curate.questions.captions import Caption, Captions
from snellen.curate.questions.generators import open_generator
from snellen.curate.questions.image_options import image_options_item
from snellen.curate.questions.options import model_setting
from snellen.curate.questions.picture_job import final_rule
from snellen.curate.questions.prompt_texts import prompt_messages, prompt_texts
from snellen.curate.questions.results import QuestionsResult, count_dropped, decide_once
from snellen.curate.questions.rules import (
    CHANGED_TOO_MUCH,
    DISTRACTORS,
    DRAWING_UNLIKE,
    MISSING,
    NO_LICENSE,
    NOT_DRAWN,
    SAME_PICTURE,
    UNCHANGED,
    WRITTEN,
    ChangedCaption,
    ChangedCaptions,
    check_captions_differ,
    check_change_size,
)
from snellen.curate.questions.writing import CHECKER, WRITER
from snellen.curate.step import MediaWriter, Step, open_step
from snellen.curate.step_options import StepOptions
from snellen.extract.choice import parse_choice
from snellen.prompts.choice import prompt

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
        roles = ("writer", "generator", "checker")
        named = {name: model_setting(getattr(self, name)) for name in roles}
        return {
            **named,
            "drawing": self.drawing,
            "require_license": self.require_license,
            "seed": self.seed,
            "prompts": prompt_texts().digest,
        }


class _DrawingProblem(NamedTuple):
    rule: str
    reason: str


class _Drawings(NamedTuple):
    """What a caption's job made: its pictures, that of the caption first; or why there are none."""

    problem: _DrawingProblem | None
    pictures: tuple[MediaRef, ...] = ()
    doubts: str = ""
    """Why a person should look at them."""


def make_drawn_questions(
    captions: Captions,
    out: Path | str,
    options: DrawnOptions,
    asking: StepOptions = _DEFAULTS,
    *,
    progress: ProgressChoice = None,
) -> QuestionsResult:
    """Make a data set folder of questions whose options are pictures; started again, it goes on.

    Raises UsageError for options, models or a folder that cannot be used, and StorageError.
    """
    if not options.writer or not options.generator:
        raise UsageError("name the models that change captions and draw: -m, --draw")
    roles = {WRITER: options.writer, GENERATOR: open_generator(options.generator)}
    if options.checker:
        roles[CHECKER] = options.checker
    with (
        open_step(out, STEP, options.settings(), captions.describe()) as step,
        open_models(roles, asking, out, progress=progress) as models,
    ):
        return _DrawnQuestions(captions, options, step, models).make()


class _DrawnQuestions:
    """One start of the step. Resuming asks the store: nothing is drawn twice."""

    def __init__(
        self, captions: Captions, options: DrawnOptions, step: Step, models: Models
    ) -> None:
        self._captions, self._options = captions, options
        self._step, self._models = step, models
        self._media = MediaWriter(step.folder)
        self._pictures: dict[str, tuple[MediaRef, ...]] = {}
        self._failed = 0

    def make(self) -> QuestionsResult:
        """Draw, decide, and write the items, unless something is still to be done."""
        jobs = (Job(one.id, self._caption(one)) for one in self._captions)
        self._models.drive(jobs, self._add_result, "captions", len(self._captions))
        items = 0
        if not self._failed and not self._models.abort_reason and self._pictures:
            items = self._step.write_items(self._items())
        dropped = count_dropped(self._step.decisions.values())
        kept = {DIMENSION: items} if items else {}
        result = QuestionsResult(
            str(self._step.folder),
            len(self._captions),
            items,
            self._failed,
            dropped,
            kept,
            self._models.abort_reason,
            sources="caption",
        )
        self._step.finish(result.counts(), "complete" if result.is_complete else "waiting")
        return result

    def _caption(self, caption: Caption) -> Steps[_Drawings]:
        """Change a caption, apply the rules, and draw."""
        if not caption.text:
            return _Drawings(_DrawingProblem(MISSING, "the row has no caption"))
        if self._options.require_license and not caption.cells.get("license"):
            return _Drawings(_DrawingProblem(NO_LICENSE, "the file names no licence for it"))
        try:
            messages = prompt_messages("variations", caption=caption.text)
            reply = yield from ask_json(
                WRITER, messages, ChangedCaptions, caption.id, settings=_SETTINGS
            )
            problem = _check_changes(caption.text, reply.changed)
            if problem is not None:
                return _Drawings(problem)
            texts = (caption.text, *(one.caption.strip() for one in reply.changed))
            pictures = yield from self._draw(caption.id, texts)
            if isinstance(pictures, _DrawingProblem):
                return _Drawings(pictures)
            doubts = yield from self._doubts(caption.id, texts, pictures)
        except AskFailed as error:
            return _Drawings(_DrawingProblem(final_rule(error), error.failure.message))
        return _Drawings(None, pictures, doubts)

    def _draw(
        self, name: str, texts: Sequence[str]
    ) -> Steps[tuple[MediaRef, ...] | _DrawingProblem]:
        """A picture of each text, kept in the data set folder."""
        pictures: list[MediaRef] = []
        for number, text in enumerate(texts):
            request = Draw(
                messages=(user(Text(text)),),
                ref=Ref(name, number),
                settings=self._options.drawing,
                to=GENERATOR,
            )
            output = yield from ask(request)
            if not isinstance(output, Drawn) or not output.images:
                return _DrawingProblem(NOT_DRAWN, f"no picture of {text!r} was drawn")
            digest = output.images[0]
            ref = MediaRef(digest, InlineSource(output.data[digest]))
            path = self._step.folder / self._media.copy(ref)
            pictures.append(MediaRef(digest, FileSource(str(path))))
        if len({ref.digest for ref in pictures}) < len(pictures):
            return _DrawingProblem(SAME_PICTURE, "two captions were drawn as the same picture")
        return tuple(pictures)

    def _doubts(self, name: str, texts: Sequence[str], pictures: Sequence[MediaRef]) -> Steps[str]:
        """Which drawings the checker takes for another caption's."""
        wrong: list[str] = []
        for number, ref in enumerate(pictures if self._options.checker else ()):
            item = f"{name}/{number}"
            others = [text for text in texts if text != texts[number]]
            place = sampling_key("checker", item)[0] % len(texts)
            options = place_options(texts[number], others, place, item)
            sample = Sample(
                item, "choice", "Which description fits the picture?", (), options, (ref,)
            )
            media = {ref.digest: ref.source}
            reply = yield from ask_text(CHECKER, prompt(sample), item, media=media, settings=_REPLY)
            answer = parse_choice(reply, options)
            chosen = options.get(answer.value) if isinstance(answer, ParsedAnswer) else None
            if chosen != texts[number]:
                wrong.append(f"the drawing of {texts[number]!r} is taken for {chosen!r}")
        return "; ".join(wrong)

    def _add_result(self, result: Result[_Drawings]) -> None:
        if result.value is None:
            self._failed += 1
            self._step.decide(result.failed_decision(STEP))
            return
        problem, pictures, doubts = result.value
        if problem is not None:
            decide_once(self._step, Decision(result.id, "drop", STEP, *problem, result.asked))
            return
        self._pictures[result.id] = pictures
        decision = Decision(result.id, "add", STEP, WRITTEN, DIMENSION, result.asked)
        if doubts:
            decision = Decision(result.id, "flag", STEP, DRAWING_UNLIKE, doubts, result.asked)
        decide_once(self._step, decision)

    def _items(self) -> Iterator[Item]:
        """The items in the order of the captions, answers at each place equally often."""
        seed = self._options.seed
        places = answer_positions(sorted(self._pictures), DISTRACTORS + 1, seed)
        for caption in self._captions:
            pictures = self._pictures.get(caption.id)
            if pictures is None:
                continue
            yield image_options_item(
                caption.id,
                DIMENSION,
                f"{LEAD_IN} {caption.text}",
                (),
                pictures,
                places[caption.id],
                {**caption.cells, "caption": caption.text},
                seed,
            )


def _check_changes(caption: str, changed: Sequence[ChangedCaption]) -> _DrawingProblem | None:
    """The rules for changed captions, in the order they are applied."""
    if len(changed) != DISTRACTORS or not all(one.caption.strip() for one in changed):
        return _DrawingProblem(MISSING, f"there are {len(changed)} changed captions; expected 3")
    for rule, reason in (
        (UNCHANGED, check_captions_differ(caption, changed)),
        (CHANGED_TOO_MUCH, check_change_size(caption, changed)),
    ):
        if reason:
            return _DrawingProblem(rule, reason)
    return None
