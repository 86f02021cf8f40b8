"""The job of one picture, video or album: look, write, check; its result as a record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from snellen.core.errors import MediaError
from snellen.core.flow import Steps
from snellen.core.sample import MediaRef
from snellen.curate.asking import AskFailed, Job, NotJson
from snellen.curate.decisions import Action, Decision, Evidence
from snellen.curate.filter.rules import parse_rule
from snellen.curate.questions.extraction import VisualFacts
from snellen.curate.questions.in_context import question_of, record_id, restate
from snellen.curate.questions.looking import Exclusion, Looking
from snellen.curate.questions.options import QuestionOptions
from snellen.curate.questions.prompt_texts import DimensionPrompt
from snellen.curate.questions.records import Draft, PictureRecord, RestatedCaption
from snellen.curate.questions.rules import (
    GIVEN_AWAY,
    MISSING,
    NAMES_DESCRIPTION,
    NO_FACTS,
    NO_LICENSE,
    NO_QUESTION,
    NOT_JSON,
    REPEATED,
    SINGLE_FRAME,
    TEXT_ONLY,
    TOO_CLOSE,
    UNANSWERED,
    UNREADABLE,
    WRITTEN,
    WrittenQuestion,
    given_away,
    has_facts,
    missing_parts,
    repeats,
    speaks_of_description,
    too_close,
)
from snellen.curate.questions.sources import Picture
from snellen.curate.questions.writing import (
    CHECKER,
    REASONER,
    WRITER,
    answer_as_text,
    distractors_too_close,
    frame_suffices,
    write_questions,
)

STEP = "questions"
PERMANENT = frozenset({"unsupported", "too_long", "media"})
"""Kinds of failures that the next start would meet again."""

T = TypeVar("T")


class _Span(NamedTuple):
    """Requests of a job, by their numbers."""

    first: int
    last: int


class _JobDecision(NamedTuple):
    item: str
    action: Action
    rule: str
    reason: str
    spans: tuple[_Span, ...]


class _PassedQuestion(NamedTuple):
    id: str
    dimension: str
    written: WrittenQuestion
    spans: tuple[_Span, ...]
    doubts: dict[str, str]


@dataclass(slots=True)
class Finished:
    """What a job found out. The evidence of a decision is given as spans of the job's requests,
    as a job does not see their digests."""

    picture: str
    pictures: tuple[str, ...]
    extraction: VisualFacts = field(default_factory=VisualFacts)
    requests: int = 0
    decided: list[_JobDecision] = field(default_factory=list)
    questions: list[_PassedQuestion] = field(default_factory=list)
    restated: RestatedCaption | None = None

    def count_requests(self, steps: Steps[T]) -> Steps[T]:
        """The same steps; their requests are counted."""
        try:
            request = next(steps)
            while True:
                self.requests += 1
                request = steps.send((yield request))
        except StopIteration as stop:
            value: T = stop.value
            return value

    def drop(self, item: str, rule: str, reason: str, *spans: _Span) -> None:
        self.decided.append(_JobDecision(item, "drop", rule, reason, spans))

    def since(self, first: int) -> _Span:
        """The requests from number `first` on."""
        return _Span(first, self.requests)

    def record(self, asked: Sequence[Evidence]) -> PictureRecord:
        """The record, with the evidence of all requests of the job."""

        def evidence(spans: Sequence[_Span]) -> tuple[Evidence, ...]:
            return tuple(one for span in spans for one in asked[span.first : span.last])

        decisions = tuple(
            Decision(one.item, one.action, STEP, one.rule, one.reason, evidence(one.spans))
            for one in self.decided
        )
        drafts = tuple(
            Draft(
                one.id,
                one.dimension,
                self.pictures,
                one.written,
                evidence(one.spans),
                one.doubts,
            )
            for one in self.questions
        )
        fields = {name: getattr(self.extraction, name) for name in VisualFacts.__struct_fields__}
        return PictureRecord(
            picture=self.picture,
            decisions=decisions,
            drafts=drafts,
            restated=self.restated,
            shown=self.pictures[0] if self.restated else "",
            evidence=tuple(asked) if self.restated else (),
            **fields,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureJobs:
    """Makes the jobs of pictures and albums."""

    looking: Looking
    options: QuestionOptions
    has_checker: bool

    def picture_job(self, picture: Picture) -> Job[Finished]:
        """Look at a picture or video, and write and check questions of every dimension that it
        allows."""
        return Job(picture.id, self._picture(picture))

    def album_job(
        self, name: str, pictures: Sequence[Picture], extraction: VisualFacts
    ) -> Job[Finished]:
        """Write and check questions about several pictures that were looked at before."""

        def steps() -> Steps[Finished]:
            done = Finished(name, tuple(one.id for one in pictures), extraction)
            media = tuple(one.medium for one in pictures)
            yield from self._write(done, "album", media, _Span(0, 0))
            return done

        return Job(name, steps())

    def restating_job(self, draft: Draft) -> Job[Finished]:
        """Restate a question as captions; the rule for distractors applies to them as well."""

        def steps() -> Steps[Finished]:
            name = record_id(draft)
            done = Finished(name, draft.pictures)
            try:
                restated = yield from done.count_requests(restate(WRITER, draft, draft.id))
            except AskFailed as error:
                done.drop(name, final_rule(error), error.failure.message, done.since(0))
                return done
            reason = too_close(question_of(restated), self.options.max_similarity)
            if reason:
                done.drop(name, TOO_CLOSE, reason, done.since(0))
            else:
                done.restated = restated
            return done

        return Job(draft.id, steps())

    def _picture(self, picture: Picture) -> Steps[Finished]:
        done = Finished(picture.id, (picture.id,))
        if self.options.require_license and not picture.cells.get("license"):
            done.drop(picture.id, NO_LICENSE, "the manifest names no licence for it")
            return done
        try:
            found = yield from done.count_requests(self.looking.look(picture))
        except MediaError as error:
            done.drop(picture.id, UNREADABLE, str(error), done.since(0))
            return done
        except AskFailed as error:
            done.drop(picture.id, final_rule(error), error.failure.message, done.since(0))
            return done
        looked = done.since(0)
        if isinstance(found, Exclusion):
            done.drop(picture.id, found.rule, found.reason, looked)
            return done
        done.extraction = found
        yield from self._write(done, picture.kind, (picture.medium,), looked)
        return done

    def _write(
        self, done: Finished, kind: str, media: Sequence[MediaRef], looked: _Span
    ) -> Steps[None]:
        """Write questions of each dimension, and decide about each, and about the picture."""
        prompts = {
            slug: one
            for slug, one in self.options.dimensions.items()
            if one.media == kind and has_facts(done.extraction, one.needs)
        }
        if not prompts:
            reason = "no dimension has what it needs: " + ", ".join(self.options.dimensions)
            done.drop(done.picture, NO_FACTS, reason, looked)
            return
        for slug, prompt in prompts.items():
            role = REASONER if prompt.reasons else WRITER
            first = done.requests
            place = f"{done.picture}/{slug}"
            steps = write_questions(
                role, prompt, done.extraction, done.picture, media, count=self.options.count
            )
            try:
                written = yield from done.count_requests(steps)
            except AskFailed as error:
                done.drop(place, final_rule(error), error.failure.message, done.since(first))
                continue
            spans = (looked, done.since(first))
            if not written:
                done.drop(place, NO_QUESTION, "the writer made no question of it", *spans)
            for number, question in enumerate(written, 1):
                yield from self._check(done, prompt, f"{place}/{number}", question, spans)
        if done.questions:
            reason = f"{len(done.questions)} questions passed"
            done.decided.append(_JobDecision(done.picture, "keep", WRITTEN, reason, (looked,)))
        else:
            done.drop(done.picture, NO_QUESTION, "no question about it passed", looked)

    def _check(
        self,
        done: Finished,
        prompt: DimensionPrompt,
        item: str,
        written: WrittenQuestion,
        spans: tuple[_Span, ...],
    ) -> Steps[None]:
        """Apply every rule to a question, those that need no model first."""
        reasons = self._reasons(done, written)
        first = done.requests
        for rule, reason in reasons.items():
            if reason:
                done.drop(item, rule, reason, *spans)
                return
        doubts: dict[str, str] = {}
        for rule, check in self._checks(done, prompt, item, written):
            try:
                reason = yield from done.count_requests(check)
            except AskFailed as error:
                # A check that cannot be made says nothing against the question.
                doubts[final_rule(error)] = f"{rule}: {error.failure.message}"
                continue
            if reason:
                done.drop(item, rule, reason, *spans, done.since(first))
                return
        passed = _PassedQuestion(item, prompt.name, written, (*spans, done.since(first)), doubts)
        done.questions.append(passed)

    def _reasons(self, done: Finished, written: WrittenQuestion) -> dict[str, str]:
        """Why rules without a model drop a question, by rule, in the order they are applied."""
        missing = missing_parts(written)
        if missing:
            return {MISSING: missing}
        return {
            TOO_CLOSE: too_close(written, self.options.max_similarity),
            GIVEN_AWAY: given_away(written),
            NAMES_DESCRIPTION: speaks_of_description(written),
            REPEATED: repeats(written, [one.written.question for one in done.questions]),
        }

    def _checks(
        self, done: Finished, prompt: DimensionPrompt, item: str, written: WrittenQuestion
    ) -> Iterator[tuple[str, Steps[str]]]:
        """The checks by models; each says why the question is dropped, or nothing."""
        if self.has_checker:
            yield TOO_CLOSE, distractors_too_close(CHECKER, written, item)
            if prompt.media == "video":
                yield SINGLE_FRAME, frame_suffices(CHECKER, written, done.extraction, item)
        if self.options.text_only:
            yield TEXT_ONLY, self._without_picture(item, written)

    def _without_picture(self, item: str, written: WrittenQuestion) -> Steps[str]:
        """Ask the text-only models one by one, until more replies could not change the verdict."""
        rule, models = parse_rule(self.options.text_rule), len(self.options.text_only)
        threshold, right = rule.threshold(models), 0
        for number in range(1, models + 1):
            verdict = yield from answer_as_text(f"text{number}", written, item)
            right += verdict.correct
            if right >= threshold:
                return f"{right} of {models} models answer it without the picture: {rule.sentence}"
            if right + models - number < threshold:
                break
        return ""


def final_rule(error: AskFailed) -> str:
    """The rule under which a failed request drops an item; raises the error if asking again may
    help."""
    if isinstance(error, NotJson):
        return NOT_JSON
    if error.failure.kind in PERMANENT:
        return UNANSWERED
    raise error
