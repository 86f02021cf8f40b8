"""Questions of a folder or manifest of images: the whole pipeline (SEED-Bench-H, Sec. 3.4.1).

First each image by itself, many at once: extract, write, check. Then albums, of which several
images are shown. Last, what needs all questions: balance, and the places of the answers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from snellen.api.progress import ProgressChoice
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel
from snellen.data_sets.decisions import Decision
from snellen.data_sets.step import Step, open_step
from snellen_curate.asking import Job, Models, Result, open_models
from snellen_curate.questions import rules
from snellen_curate.questions.extraction import Extractor
from snellen_curate.questions.extractors import open_extractor
from snellen_curate.questions.fact_extraction import FactExtraction
from snellen_curate.questions.image_job import STEP, ImageJobs
from snellen_curate.questions.options import QuestionOptions
from snellen_curate.questions.question_items import Candidate, all_drafts, balance, build_items
from snellen_curate.questions.records import ImageRecord, ImageRecords, RecordedExtractor
from snellen_curate.questions.results import QuestionsResult, decide_once, finish_questions
from snellen_curate.questions.several_images import SOURCES, find_albums, record_id
from snellen_curate.questions.sources import ImageSource
from snellen_curate.questions.writing import CHECKER, REASONER, WRITER
from snellen_curate.step_options import StepOptions

_DEFAULTS = StepOptions()


def make_questions(
    images: ImageSource,
    out: Path | str,
    options: QuestionOptions,
    asking: StepOptions = _DEFAULTS,
    *,
    progress: ProgressChoice = None,
) -> QuestionsResult:
    """Make a data set folder of questions about images; started again, it goes on.

    The items are written once nothing has failed. Raises UsageError for options, models or a folder
    that cannot be used, and StorageError.
    """
    if not options.writer:
        raise UsageError("name the model that writes the questions: -m MODEL")
    extractors = {f"extractor{index}": open_extractor(spec) for index, spec in enumerate(options.extract, 1)}
    with ExitStack() as stack:
        source = images.describe()
        files = {one.name: one.recorded for one in extractors.values() if isinstance(one, RecordedExtractor)}
        missing = {name: file.count_missing(images) for name, file in files.items()}
        recorded = {name: file.digest for name, file in files.items()}
        settings = options.settings() | {"recorded": recorded}
        step = stack.enter_context(open_step(out, STEP, settings, source))
        records = ImageRecords(step.folder)
        stack.callback(records.close)
        roles = model_roles(options, extractors)
        models = stack.enter_context(open_models(roles, asking, out, progress=progress))
        jobs = ImageJobs(FactExtraction(extractors, options.min_nouns, options.max_seconds), options)
        result = _ImageQuestions(images, jobs, step, records, models).make(source.rows)
        return replace(result, missing={name: count for name, count in missing.items() if count})


def model_roles(options: QuestionOptions, extractors: Mapping[str, Extractor]) -> dict[str, AnyModel]:
    """The models by role; roles that nobody has are absent."""
    roles: dict[str, AnyModel] = {role: one.model for role, one in extractors.items() if one.model is not None}
    roles[WRITER] = options.writer
    roles[REASONER] = options.reasoner or options.writer
    if options.checker:
        roles[CHECKER] = options.checker
    return roles


class _ImageQuestions:
    """One start of the step."""

    def __init__(self, images: ImageSource, jobs: ImageJobs, step: Step, records: ImageRecords, models: Models) -> None:
        self._images, self._jobs, self._options = images, jobs, jobs.options
        self._step, self._records, self._models = step, records, models
        self._failed = 0

    def make(self, total: int) -> QuestionsResult:
        """Ask about images, then albums, then captions; balance, place the answers, and write the
        items, unless something is still to be done."""
        for record in self._records.records():
            # A kill may have kept its decisions from the log.
            self._decide(record.decisions)
        pending = (one for one in self._images if one.id not in self._records)
        self._drive(map(self._jobs.image_job, pending), "pictures", total - len(self._records))
        if self._goes_on("album"):
            every = find_albums(self._images, self._records, self._options.seed)
            albums = [album for album in every if album.id not in self._records]
            self._drive(map(self._jobs.album_job, albums), "albums", len(albums))
        if self._goes_on("examples"):
            drafts = [
                draft
                for record in self._records.records()
                for draft in record.drafts
                if draft.dimension in SOURCES and record_id(draft) not in self._records
            ]
            self._drive(map(self._jobs.restating_job, drafts), "captions", len(drafts))
        by_dimension = self._write_items() if self._goes_on() else {}
        reason = self._models.abort_reason
        return finish_questions(self._step, total, by_dimension, self._failed, reason)

    def _goes_on(self, media: str = "") -> bool:
        """Whether nothing has failed, and a dimension shows such media."""
        is_asked = not media or any(one.media == media for one in self._options.dimensions.values())
        return is_asked and not self._failed and not self._models.abort_reason

    def _drive(self, jobs: Iterable[Job[ImageRecord]], title: str, total: int) -> None:
        self._models.drive(jobs, self._add_result, title, max(0, total))

    def _add_result(self, result: Result[ImageRecord]) -> None:
        """Write a picture's line, then its decisions."""
        if result.value is None:
            self._failed += 1
            self._step.decide(result.failed_decision(STEP))
            return
        self._records.add(result.value)
        self._decide(result.value.decisions)

    def _write_items(self) -> dict[str, int]:
        """Decide which questions are kept, and write them; returns how many of each dimension."""
        options = self._options
        everything = [
            Candidate(draft.id, draft.dimension, draft.images[-1]) for draft in all_drafts(self._records, options.seed)
        ]
        choice = balance(
            everything, per_dimension=options.per_dimension, per_picture=options.per_picture, seed=options.seed
        )
        self._decide(self._final_decisions(choice.left_out))
        if choice.kept:
            self._step.write_items(build_items(self._images, self._records, choice.kept, options.seed))
        kept = (one.dimension for one in everything if one.id in choice.kept)
        return dict(sorted(Counter(kept).items()))

    def _final_decisions(self, left_out: Mapping[str, str]) -> Iterator[Decision]:
        """A decision about each question that passed, with all that was said about it."""
        for draft in all_drafts(self._records, self._options.seed):
            if draft.id in left_out:
                yield Decision(draft.id, "drop", STEP, rules.BALANCE, left_out[draft.id], draft.evidence)
            elif draft.doubts:
                rule, reason = next(iter(draft.doubts.items()))
                yield Decision(draft.id, "flag", STEP, rule, reason, draft.evidence)
            else:
                reason = f"{draft.dimension}, made from {', '.join(draft.images)}"
                yield Decision(draft.id, "add", STEP, rules.WRITTEN, reason, draft.evidence)

    def _decide(self, decisions: Iterable[Decision]) -> None:
        """Log decisions, but for those that an earlier start has logged."""
        for decision in decisions:
            decide_once(self._step, decision)
