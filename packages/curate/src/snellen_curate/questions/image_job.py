"""The job of one image, video or album: extract, write, check; its result as a record."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from snellen.core.errors import MediaError
from snellen.core.record import Steps
from snellen.core.sample import MediaRef
from snellen.data_sets.decisions import Decision, Evidence, Exclusion
from snellen.report.format import plural
from snellen_curate.asking import AskFailed, Job, NotJson
from snellen_curate.questions import rules, writing
from snellen_curate.questions.extraction import VisualFacts
from snellen_curate.questions.fact_extraction import FactExtraction
from snellen_curate.questions.options import QuestionOptions
from snellen_curate.questions.records import Draft, ImageRecord
from snellen_curate.questions.several_images import Album, question_of, record_id, restate
from snellen_curate.questions.sources import SourceMedium

STEP = "questions"
PERMANENT = frozenset({"unsupported", "too_long", "media"})
"""Kinds of failures that the next start would meet again."""


@dataclass(slots=True)
class ImageWork:
    """What a job has come to so far."""

    image: str
    images: tuple[str, ...]
    facts: VisualFacts = field(default_factory=VisualFacts)
    asked: list[Evidence] = field(default_factory=list)
    """The requests of the job with their replies, as they come."""
    decisions: list[Decision] = field(default_factory=list)
    drafts: list[Draft] = field(default_factory=list)

    def drop(self, item: str, rule: str, reason: str, evidence: Iterable[Evidence] = ()) -> None:
        self.decisions.append(Decision(item, "drop", STEP, rule, reason, tuple(evidence)))

    def record(self, **more: Any) -> ImageRecord:
        return ImageRecord(
            image=self.image,
            decisions=tuple(self.decisions),
            drafts=tuple(self.drafts),
            **structs.asdict(self.facts),
            **more,
        )


@dataclass(frozen=True, slots=True)
class ImageJobs:
    """Makes the jobs of images and albums."""

    extraction: FactExtraction
    options: QuestionOptions

    def image_job(self, image: SourceMedium) -> Job[ImageRecord]:
        """Extract the facts of an image or video, and write and check questions of every dimension
        that it allows."""
        work = ImageWork(image.id, (image.id,))
        return Job(image.id, self._extract(work, image), work.asked)

    def album_job(self, album: Album) -> Job[ImageRecord]:
        """Write and check questions about several images whose facts were extracted before."""
        work = ImageWork(album.id, tuple(one.id for one in album.images), album.facts)
        media = tuple(one.medium for one in album.images)
        return Job(album.id, self._write(work, "album", media), work.asked)

    def restating_job(self, draft: Draft) -> Job[ImageRecord]:
        """Restate a question as captions; the rule for distractors applies to them as well."""
        work = ImageWork(record_id(draft), draft.images)
        return Job(draft.id, self._restate(work, draft), work.asked)

    def _restate(self, work: ImageWork, draft: Draft) -> Steps[ImageRecord]:
        try:
            restated = yield from restate(writing.WRITER, draft, draft.id)
        except AskFailed as error:
            work.drop(work.image, final_rule(error), error.failure.message, work.asked)
            return work.record()
        reason = rules.check_distractors(question_of(restated), self.options.max_similarity)
        if reason:
            work.drop(work.image, rules.TOO_CLOSE, reason, work.asked)
            return work.record()
        return work.record(restated=restated, shown=draft.images[0], evidence=tuple(work.asked))

    def _extract(self, work: ImageWork, image: SourceMedium) -> Steps[ImageRecord]:
        """Extract, then write; an image that cannot be used is dropped with the reason."""
        if self.options.require_license and not image.cells.get("license"):
            work.drop(image.id, rules.NO_LICENSE, "the manifest names no licence for it")
            return work.record()
        try:
            found = yield from self.extraction.extract(image)
        except MediaError as error:
            found = Exclusion(rules.UNREADABLE, str(error))
        except AskFailed as error:
            found = Exclusion(final_rule(error), error.failure.message)
        if isinstance(found, Exclusion):
            work.drop(image.id, found.rule, found.reason, work.asked)
            return work.record()
        work.facts = found
        return (yield from self._write(work, image.kind, (image.medium,)))

    def _write(self, work: ImageWork, kind: str, media: Sequence[MediaRef]) -> Steps[ImageRecord]:
        """Write questions of each dimension, and decide about each, and about the image."""
        extracted = tuple(work.asked)
        prompts = {
            slug: one
            for slug, one in self.options.dimensions.items()
            if one.media == kind and all(map(work.facts.has, one.needs))
        }
        if not prompts:
            reason = "no dimension has what it needs: " + ", ".join(self.options.dimensions)
            work.drop(work.image, rules.NO_FACTS, reason, extracted)
            return work.record()
        for slug, prompt in prompts.items():
            role = writing.REASONER if prompt.reasons else writing.WRITER
            first, place = len(work.asked), f"{work.image}/{slug}"
            try:
                written = yield from writing.write_questions(
                    role, prompt, work.facts, work.image, media, count=self.options.count
                )
            except AskFailed as error:
                work.drop(place, final_rule(error), error.failure.message, work.asked[first:])
                continue
            evidence = (*extracted, *work.asked[first:])
            if not written:
                work.drop(place, rules.NO_QUESTION, "the writer made no question of it", evidence)
            for number, question in enumerate(written, 1):
                yield from self._check(work, prompt, f"{place}/{number}", question, evidence)
        if work.drafts:
            reason = f"{plural(len(work.drafts), 'question')} passed"
            work.decisions.append(Decision(work.image, "keep", STEP, rules.WRITTEN, reason, extracted))
        else:
            work.drop(work.image, rules.NO_QUESTION, "no question about it passed", extracted)
        return work.record()

    def _check(
        self,
        work: ImageWork,
        prompt: writing.DimensionPrompt,
        item: str,
        written: rules.WrittenQuestion,
        evidence: tuple[Evidence, ...],
    ) -> Steps[None]:
        """Apply every rule to a question, those that need no model first."""
        for rule, reason in self._reasons(work, written).items():
            if reason:
                work.drop(item, rule, reason, evidence)
                return
        first = len(work.asked)
        doubts: dict[str, str] = {}
        checks: dict[str, Steps[str]] = {}
        if self.options.checker:
            checks[rules.TOO_CLOSE] = writing.ask_close_distractors(writing.CHECKER, written, item)
            if prompt.media == "video":
                checks[rules.SINGLE_FRAME] = writing.ask_single_frame(writing.CHECKER, written, work.facts, item)
        for rule, check in checks.items():
            try:
                reason = yield from check
            except AskFailed as error:
                # A check that cannot be made says nothing against the question.
                doubts[final_rule(error)] = f"{rule}: {error.failure.message}"
                continue
            if reason:
                work.drop(item, rule, reason, (*evidence, *work.asked[first:]))
                return
        evidence = (*evidence, *work.asked[first:])
        work.drafts.append(Draft(item, prompt.name, work.images, written, evidence, doubts))

    def _reasons(self, work: ImageWork, written: rules.WrittenQuestion) -> dict[str, str]:
        """Why rules without a model drop a question, by rule, in the order they are applied."""
        missing = rules.check_parts(written)
        if missing:
            return {rules.MISSING: missing}
        return {
            rules.TOO_CLOSE: rules.check_distractors(written, self.options.max_similarity),
            rules.GIVEN_AWAY: rules.check_giveaway(written),
            rules.MENTIONS_DESCRIPTION: rules.check_description_mention(written),
            rules.REPEATED: rules.check_repetition(written, [one.written.question for one in work.drafts]),
        }


def final_rule(error: AskFailed) -> str:
    """The rule under which a failed request drops an item; raises the error if asking again may
    help."""
    if isinstance(error, NotJson):
        return rules.NOT_JSON
    if error.failure.kind in PERMANENT:
        return rules.UNANSWERED
    raise error
