"""Questions of a folder or manifest of pictures: the whole pipeline (SEED-Bench-H, Sec. 3.4.1).

First each picture by itself, many at once: extract, write, check. Then albums, of which several
pictures are shown. Last, what needs all questions: balance, and the places of the answers.
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
from snellen.curate.asking import Job, Models, Result, open_models
from snellen.curate.decisions import Decision
from snellen.curate.questions.albums import find_albums
from snellen.curate.questions.assembling import all_drafts, build_items, candidates
from snellen.curate.questions.balance import balance
from snellen.curate.questions.extractors.extractor import Extractor
from snellen.curate.questions.extractors.recorded import RecordedExtractor
from snellen.curate.questions.extractors.table import open_extractor
from snellen.curate.questions.fact_extraction import FactExtraction
from snellen.curate.questions.in_context import SOURCES, record_id
from snellen.curate.questions.options import QuestionOptions
from snellen.curate.questions.picture_job import STEP, PictureJobResult, PictureJobs
from snellen.curate.questions.records import PictureRecords
from snellen.curate.questions.results import QuestionsResult, count_dropped, decide_once
from snellen.curate.questions.rules import BALANCE, WRITTEN
from snellen.curate.questions.sources import PictureSource
from snellen.curate.questions.writing import CHECKER, REASONER, WRITER
from snellen.curate.step import Step, open_step
from snellen.curate.step_options import StepOptions

_DEFAULTS = StepOptions()


def make_questions(
    pictures: PictureSource,
    out: Path | str,
    options: QuestionOptions,
    asking: StepOptions = _DEFAULTS,
    *,
    progress: ProgressChoice = None,
) -> QuestionsResult:
    """Make a data set folder of questions about pictures; started again, it goes on.

    The items are written once nothing has failed. Raises UsageError for options, models or a folder
    that cannot be used, and StorageError.
    """
    if not options.writer:
        raise UsageError("name the model that writes the questions: -m MODEL")
    extractors = {
        f"extractor{index}": open_extractor(spec) for index, spec in enumerate(options.extract, 1)
    }
    with ExitStack() as stack:
        source = pictures.describe()
        files = {
            one.name: one.recorded
            for one in extractors.values()
            if isinstance(one, RecordedExtractor)
        }
        missing = {name: file.count_missing(pictures) for name, file in files.items()}
        recorded = {name: file.digest for name, file in files.items()}
        settings = options.settings() | {"recorded": recorded}
        step = stack.enter_context(open_step(out, STEP, settings, source))
        records = PictureRecords(step.folder)
        stack.callback(records.close)
        roles = model_roles(options, extractors)
        models = stack.enter_context(open_models(roles, asking, out, progress=progress))
        build = _PictureQuestions(pictures, options, extractors, step, records, models)
        build.look_at_pictures(source.rows)
        build.look_at_albums()
        build.restate_questions()
        result = build.finish(source.rows)
        return replace(result, missing={name: count for name, count in missing.items() if count})


def model_roles(
    options: QuestionOptions, extractors: Mapping[str, Extractor]
) -> dict[str, AnyModel]:
    """The models by role; roles that nobody has are absent."""
    roles: dict[str, AnyModel] = {
        role: one.model for role, one in extractors.items() if one.model is not None
    }
    roles[WRITER] = options.writer
    roles[REASONER] = options.reasoner or options.writer
    if options.checker:
        roles[CHECKER] = options.checker
    return roles | {f"text{number}": one for number, one in enumerate(options.text_only, 1)}


class _PictureQuestions:
    """One start of the step."""

    def __init__(
        self,
        pictures: PictureSource,
        options: QuestionOptions,
        extractors: Mapping[str, Extractor],
        step: Step,
        records: PictureRecords,
        models: Models,
    ) -> None:
        """Log the decisions that a kill may have kept from the log."""
        self._pictures, self._options = pictures, options
        self._step, self._records, self._models = step, records, models
        fact_extraction = FactExtraction(
            extractors=extractors, min_nouns=options.min_nouns, max_seconds=options.max_seconds
        )
        self._jobs = PictureJobs(
            fact_extraction=fact_extraction, options=options, has_checker=bool(options.checker)
        )
        self._failed = 0
        for record in records.records():
            self._decide(record.decisions)

    def look_at_pictures(self, total: int) -> None:
        """Extract, write and check, picture by picture."""
        pending = (one for one in self._pictures if one.id not in self._records)
        self._drive(map(self._jobs.picture_job, pending), "pictures", total - len(self._records))

    def look_at_albums(self) -> None:
        """Questions that show several pictures, once all pictures are done."""
        asked = any(one.media == "album" for one in self._options.dimensions.values())
        if not asked or self._failed or self._models.abort_reason:
            return
        albums = find_albums(self._pictures, self._records, self._options.seed)
        pending = [album for album in albums if album.id not in self._records]
        self._drive((self._jobs.album_job(*album) for album in pending), "albums", len(pending))

    def restate_questions(self) -> None:
        """Captions of the questions about attributes and counts, for In-Context Captioning."""
        asked = any(one.media == "examples" for one in self._options.dimensions.values())
        if not asked or self._failed or self._models.abort_reason:
            return
        pending = [
            draft
            for record in self._records.records()
            for draft in record.drafts
            if draft.dimension in SOURCES and record_id(draft) not in self._records
        ]
        jobs = (self._jobs.restating_job(draft) for draft in pending)
        self._drive(jobs, "captions", len(pending))

    def finish(self, total: int) -> QuestionsResult:
        """Balance, place the answers, and write the items, unless something is still to be done."""
        by_dimension: dict[str, int] = {}
        if not self._failed and not self._models.abort_reason:
            by_dimension = self._write_items()
        result = QuestionsResult(
            str(self._step.folder),
            total,
            sum(by_dimension.values()),
            self._failed,
            count_dropped(self._step.decisions.values()),
            by_dimension,
            self._models.abort_reason,
        )
        self._step.finish(result.counts(), "complete" if result.is_complete else "waiting")
        return result

    def _drive(self, jobs: Iterable[Job[PictureJobResult]], title: str, total: int) -> None:
        self._models.drive(jobs, self._add_result, title, max(0, total))

    def _add_result(self, result: Result[PictureJobResult]) -> None:
        """Write a picture's line, then its decisions."""
        if result.value is None:
            self._failed += 1
            self._step.decide(result.failed_decision(STEP))
            return
        record = result.value.record(result.asked)
        self._records.add(record)
        self._decide(record.decisions)

    def _write_items(self) -> dict[str, int]:
        """Decide which questions are kept, and write them; returns how many of each dimension."""
        everything = list(candidates(self._records, self._options.seed))
        choice = balance(
            everything,
            per_dimension=self._options.per_dimension,
            per_picture=self._options.per_picture,
            seed=self._options.seed,
        )
        self._decide(self._final_decisions(choice.left_out))
        if choice.kept:
            self._step.write_items(
                build_items(self._pictures, self._records, choice.kept, self._options.seed)
            )
        kept = (one.dimension for one in everything if one.id in choice.kept)
        return dict(sorted(Counter(kept).items()))

    def _final_decisions(self, left_out: Mapping[str, str]) -> Iterator[Decision]:
        """A decision about each question that passed, with all that was said about it."""
        for draft in all_drafts(self._records, self._options.seed):
            shown = ", ".join(draft.pictures)
            if draft.id in left_out:
                yield Decision(draft.id, "drop", STEP, BALANCE, left_out[draft.id], draft.evidence)
            elif draft.doubts:
                rule, reason = next(iter(draft.doubts.items()))
                yield Decision(draft.id, "flag", STEP, rule, reason, draft.evidence)
            else:
                reason = f"{draft.dimension}, made from {shown}"
                yield Decision(draft.id, "add", STEP, WRITTEN, reason, draft.evidence)

    def _decide(self, decisions: Iterable[Decision]) -> None:
        """Log decisions, but for those that an earlier start has logged."""
        for decision in decisions:
            decide_once(self._step, decision)
