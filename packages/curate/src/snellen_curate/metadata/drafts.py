"""One question of one record: its media, its target, its options; or why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from msgspec import structs

from snellen.core.errors import MediaError
from snellen.core.media import check_image, image_size
from snellen.core.record import Steps
from snellen.core.sample import MediaRef
from snellen.data.media.image_cells import NamedVideo
from snellen.data.media.image_files import FileDigests, MediaFolders, locate_image
from snellen.data.media.video_cells import locate_video
from snellen.data_sets.decisions import Exclusion
from snellen.settings import max_image_pixels
from snellen_curate.asking import NotJson
from snellen_curate.metadata import distractors
from snellen_curate.metadata.catalogue import Catalogue, OtherRecords, TemplatePool
from snellen_curate.metadata.distractors import WRITTEN, DistractorContext, find_strategy
from snellen_curate.metadata.draw import seeded_random
from snellen_curate.metadata.records import CategoryTree, MetadataHeader, MetadataRecord, geometry_problem
from snellen_curate.metadata.targets import QuestionTarget, ask_question, find_targets, question_fields
from snellen_curate.metadata.templates import QuestionTemplate


@dataclass(frozen=True, slots=True)
class QuestionDraft:
    """An item before its options have places."""

    id: str
    record: MetadataRecord
    template: QuestionTemplate
    license: str
    question: str
    gold: str
    wrong: tuple[str, ...]
    media: tuple[MediaRef, ...]
    candidates: tuple[MediaRef, ...] = ()
    """For retrieval, the images of the right option and of the wrong ones, in this order."""
    strategies: tuple[str, ...] = ()
    """Names of the strategies that wrong options came from."""

    @property
    def size(self) -> int:
        """Number of options."""
        return len(self.wrong) + 1


@dataclass(frozen=True, slots=True)
class MediaFiles:
    """The images and videos that records name, checked when they are used."""

    folders: MediaFolders
    digests: FileDigests
    where: str
    """The metadata files, for messages."""

    def open(self, record: MetadataRecord) -> tuple[MediaRef, ...]:
        """The record's media. Raises MediaError."""
        images = [self.image(name, record.id) for name in record.images]
        if record.video:
            named, place = NamedVideo((record.video,)), f"{self.where}, record {record.id}"
            video = locate_video(named, self.folders, self.digests, place)
            if not hasattr(video.source, "frames"):
                video.source.read()
            images.append(video)
        return tuple(images)

    def image(self, name: str, record: str) -> MediaRef:
        """An image whose bytes were looked at. Raises MediaError."""
        ref = locate_image(name, self.folders, self.digests, f"{self.where}, record {record}")
        check_image(ref.source.read(), max_image_pixels())
        return ref


@dataclass(frozen=True, slots=True)
class Drafter:
    """Drafts the questions of all templates."""

    catalogue: Catalogue
    media: MediaFiles
    header: MetadataHeader
    spaces: Mapping[str, CategoryTree]
    same: Sequence[Sequence[str]]
    """Labels that say the same."""
    alike_length: bool

    def item_id(self, pool: TemplatePool, record: MetadataRecord, slot: int) -> str:
        """The id of the item that `draft` makes, or would make."""
        name = f"{pool.template.subtask}/{record.id}"
        if pool.template.per_record == 1:
            return name
        targets = self._targets(pool, record)
        return f"{name}/{targets[slot].name or slot + 1 if slot < len(targets) else slot + 1}"

    def _targets(self, pool: TemplatePool, record: MetadataRecord) -> list[QuestionTarget]:
        """What the template asks about a record: of each answer a share becomes questions."""
        keep, place = pool.plan(record.source).keep, f"{pool.template.subtask}/{record.id}"
        return [
            target
            for target in self._every_target(pool, record)
            if (share := keep.get(target.gold, 1.0)) == 1
            or self._random(f"keep/{place}/{target.name or target.gold}").random() < share
        ]

    def _every_target(self, pool: TemplatePool, record: MetadataRecord) -> list[QuestionTarget]:
        tree = pool.tree(record, self.spaces)
        rng = self._random(f"target/{pool.template.subtask}/{record.id}")
        return find_targets(record, pool.template, tree, pool.frequencies(record.source), rng)

    def _random(self, name: str) -> Random:
        return seeded_random(self.catalogue.seed, name)

    def draft(self, pool: TemplatePool, record: MetadataRecord, slot: int) -> Steps[QuestionDraft | Exclusion]:
        """The question number `slot` (from 0) about a record. Asks if the template says so.

        Raises AskFailed.
        """
        targets = self._targets(pool, record)
        if slot >= len(targets):
            if slot == 0 and self._every_target(pool, record):
                reason = "enough other questions have its answer as their key"
                return Exclusion("balance", reason)
            reason = "it has nothing that the template can ask for without ambiguity"
            return Exclusion("target", reason if slot == 0 else "all its targets are used")
        try:
            media = self.media.open(record)
            size = image_size(media[0].source.read()) if media[0].kind == "image" else (0, 0)
        except MediaError as error:
            return Exclusion("picture", str(error))
        problem = _size_problem(record, size)
        if problem is not None:
            return problem
        name = self.item_id(pool, record, slot)
        if size[0]:
            record = structs.replace(record, width=size[0], height=size[1])
        tree = pool.tree(record, self.spaces)
        context = DistractorContext(
            record,
            pool.template,
            targets[slot],
            tree,
            size,
            OtherRecords(self.catalogue, pool, record.source),
            pool.frequencies(record.source),
            pool.plan(record.source),
            pool.known_boxes(record.source),
            self._random(f"options/{name}"),
        )
        return (yield from self._draft_target(name, media, context))

    def _draft_target(
        self, name: str, media: tuple[MediaRef, ...], context: DistractorContext
    ) -> Steps[QuestionDraft | Exclusion]:
        """The question `name` about a target, with wrong options. Raises AskFailed."""
        record, template, target = context.record, context.template, context.target
        question = ask_question(record, template, target, context.tree, context.rng)
        if question is None:
            fields = question_fields(record, target, context.tree)
            empty = ", ".join(sorted(key for key, value in fields.items() if not value))
            return Exclusion("placeholder", f"every phrasing mentions something that it lacks (empty: {empty})")
        used: dict[str, str] = {}
        try:
            proposals = yield from self._propose(context, name, question, media, used)
        except NotJson as error:
            # Its replies are stored: asking again would change nothing.
            return Exclusion("writer", str(error))
        wrong = distractors.choose_options(
            target.gold,
            proposals,
            distractors.OptionFilter.for_target(target.gold, target.true, self.same),
            context.plan.size - 1,
            alike_length=self.alike_length
            and all(name == WRITTEN or find_strategy(name).of_any_length for name, _ in template.strategy_calls()),
            rng=context.rng,
        )
        if len(wrong) < template.min_options - 1:
            needed = template.min_options - 1
            return Exclusion("options", f"{needed} wrong options are needed, got {len(wrong)}")
        draft = QuestionDraft(
            name,
            record,
            template,
            self.header.license_of(record),
            question,
            target.gold,
            tuple(wrong),
            media,
            strategies=tuple(dict.fromkeys(used[text] for text in wrong)),
        )
        return self._with_candidates(draft) if template.answer == "picture" else draft

    def _propose(
        self, context: DistractorContext, name: str, question: str, media: Sequence[MediaRef], used: dict[str, str]
    ) -> Steps[Iterator[str]]:
        """What the template's strategies propose, one strategy after the other; `used` gets the
        strategy of each text. Raises AskFailed and NotJson."""
        proposals: list[tuple[str, Iterator[str]]] = []
        for strategy_name, given in context.template.strategy_calls():
            if strategy_name == WRITTEN:
                settings = distractors.read_settings(WRITTEN, distractors.WriterSettings, given)
                written = yield from distractors.write_options(
                    name, context.template, question, context.target, media, settings
                )
                texts = iter(written)
            else:
                strategy = find_strategy(strategy_name)
                settings = distractors.read_settings(strategy_name, strategy.settings, given)
                texts = strategy.propose(context, settings)
            proposals.append((strategy_name, texts))
        return _note_strategies(proposals, used)

    def _with_candidates(self, draft: QuestionDraft) -> QuestionDraft | Exclusion:
        """A retrieval question: the query alone, and the candidates as images."""
        try:
            images = [self.media.image(name, draft.record.id) for name in draft.wrong]
        except MediaError as error:
            return Exclusion("picture", str(error))
        digests = {ref.digest for ref in (*images, *draft.media)}
        if len(digests) < len(images) + len(draft.media):
            return Exclusion("options", "two of the candidate pictures are the same")
        return replace(draft, media=draft.media[:1], candidates=(draft.media[1], *images))


def _note_strategies(proposals: Iterable[tuple[str, Iterator[str]]], used: dict[str, str]) -> Iterator[str]:
    """The texts, noting which strategy was the first to propose each."""
    for strategy, texts in proposals:
        for text in texts:
            used.setdefault(text.strip(), strategy)
            yield text


def _size_problem(record: MetadataRecord, size: tuple[int, int]) -> Exclusion | None:
    """Boxes and points that do not fit the image as it is."""
    if not (record.boxes or record.keypoints) or not size[0]:
        return None
    if record.width and (record.width, record.height) != size:
        return Exclusion(
            "size",
            f"its boxes are for {record.width} x {record.height} pixels and the picture has {size[0]} x {size[1]}",
        )
    return geometry_problem(record, *size)
