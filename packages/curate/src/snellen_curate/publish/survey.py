"""The first look at the items to publish: columns, licences, splits, and what must not go out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from snellen.core.errors import DataError, MediaError, UsageError
from snellen.core.media import check_image
from snellen.core.sample import sampling_key
from snellen.data_sets.decisions import flagged_items, latest_decisions, read_decisions
from snellen.data_sets.items import Item, ItemTable, folder_outside, item_kind
from snellen.data_sets.step import STEP_FILE, outside_before
from snellen.report.format import plural
from snellen_curate.attribution import AUTHOR_COLUMN, URL_COLUMN, split_images
from snellen_curate.publish.hold_out import SplitCandidate, choose_held_out, find_giveaways, image_texts
from snellen_curate.publish.licences import SOURCE_COLUMN, LicenceTable, check_licence, licences_of
from snellen_curate.publish.options import DROP, REFUSE, PublishOptions
from snellen_curate.publish.table_files import Layout, ability_of

UNUSABLE, UNREADABLE, NO_LICENCE, NOT_SPDX, GIVEAWAY = (
    "unusable_row",
    "unreadable_media",
    "no_licence",
    "licence_not_spdx",
    "states_its_answer",
)
"""Rules."""
_LARGEST_NUMBER = 1_000_000
"""VLMEvalKit's files hold rotation r of a question as the row of index + r * 1,000,000."""
_MAX_LISTED = 5


class ItemFinding(NamedTuple):
    """What is wrong with an item."""

    action: Literal["drop", "flag"]
    rule: str
    reason: str


class PublishedEntry(NamedTuple):
    """What is remembered of an item that is published."""

    ability: str
    licence: str
    source: str
    kind: str
    is_held_out: bool = False


@dataclass(slots=True)
class ImageCredit:
    """Whom an image or video is of, and under which licence."""

    source: str
    licence: str
    author: str
    url: str
    items: int = 0


@dataclass(slots=True)
class Survey:
    """What the first pass over the items found."""

    options: PublishOptions
    licences: LicenceTable
    layout: Layout
    still_flagged: int
    """Items with a flag of an earlier step that nobody has settled."""
    made_by: list[tuple[str, str, str, int]]
    """Step, rule, action and number of items of the steps before."""
    entries: dict[str, PublishedEntry] = field(default_factory=dict)
    """The items to publish, by id, in the order of the data."""
    findings: dict[str, list[ItemFinding]] = field(default_factory=dict)
    numbers: dict[str, str] = field(default_factory=dict)
    """Row numbers of the TSV files, by id, the items that are held out last; empty if the ids
    themselves are usable."""
    credits: dict[str, ImageCredit] = field(default_factory=dict)
    """By digest of the image or video."""
    _candidates: list[SplitCandidate] = field(default_factory=list)
    _readable: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """By digest of the media that can be read, the texts in their files if these are searched."""

    def look_at(self, item: Item) -> None:
        """Note whether an item can be published, and how."""
        options = self.options
        finding = _unusable(item, self._readable, read_texts=options.keeps_back)
        licences, lacking = ([], None) if finding else _licences(item, self.licences, options.licence)
        if lacking is not None:
            finding = ItemFinding("drop" if options.require_licence == DROP else "flag", *lacking)
        if finding is not None:
            self.findings[item.id] = [finding]
            if finding.action == "drop":
                return
        _credit(item, licences, self.credits)
        self.layout.add(item)
        licence, ability = " AND ".join(dict.fromkeys(filter(None, licences))), ability_of(item, options.ability)
        self.entries[item.id] = PublishedEntry(ability, licence, item.cells.get(SOURCE_COLUMN, ""), item_kind(item))
        if options.keeps_back:
            self._look_for_answer(item, ability)

    def _look_for_answer(self, item: Item, ability: str) -> None:
        """Note whether an item can be held out: not if its answer stands beside it."""
        sample = item.sample
        images = {ref.digest: self._readable.get(ref.digest, ()) for ref in sample.media}
        places = find_giveaways(sample, {SOURCE_COLUMN: item.cells.get(SOURCE_COLUMN, "")}, images)
        if places:
            reason = f"the answer is stated in {' and '.join(places)}"
            self.findings.setdefault(item.id, []).append(ItemFinding("flag", GIVEAWAY, reason))
        must_be_public = bool(places) or not sample.gold
        self._candidates.append(SplitCandidate(item.id, ability, sample.unit, tuple(images), must_be_public))

    def hold_out(self) -> None:
        """Choose the items whose answers are kept back. Raises UsageError if there are none."""
        entries = self.entries
        for name in _choose_held_out(entries, self._candidates, self.options):
            entries[name] = entries[name]._replace(is_held_out=True)
        if not all(name.isdecimal() and name == str(int(name)) and int(name) < _LARGEST_NUMBER for name in entries):
            public = (name for name, entry in entries.items() if not entry.is_held_out)
            names = (*public, *self.ids_without_answers(self.options.seed))
            self.numbers = {name: str(number) for number, name in enumerate(names, 1)}

    def ids_without_answers(self, seed: int) -> list[str]:
        """Items whose answers are kept back, in an order that says nothing of these."""
        held = [name for name, entry in self.entries.items() if entry.is_held_out]
        return sorted(held, key=lambda name: sampling_key(seed, name))

    def kinds(self) -> list[str]:
        return sorted({entry.kind for entry in self.entries.values()})

    def by_rule(self, action: str) -> dict[str, list[str]]:
        """Ids of the items with a finding of this action, by rule."""
        ids: dict[str, list[str]] = {}
        for name, findings in self.findings.items():
            for finding in findings:
                if finding.action == action:
                    ids.setdefault(finding.rule, []).append(name)
        return ids

    def first_reasons(self) -> dict[str, str]:
        """Why, by rule: the first item and its reason."""
        reasons: dict[str, str] = {}
        for name, findings in self.findings.items():
            for finding in findings:
                reasons.setdefault(finding.rule, f"{' '.join(name.split())}: {finding.reason}")
        return reasons

    def ability_counts(self, *, held_out: bool) -> dict[str, int]:
        """Number of questions by ability, of one of the two parts."""
        counts = Counter(entry.ability for entry in self.entries.values() if entry.is_held_out == held_out)
        return dict(sorted(counts.items()))


def survey_items(table: ItemTable, options: PublishOptions, licences: LicenceTable) -> Survey:
    """Look at every item once. Raises UsageError if an item has no licence and licences are
    required, or no item is left."""
    survey = Survey(options, licences, Layout(options.keep), *_earlier_steps(table.folder))
    outside = _OutsideImages(table, options.outside)
    for item in table:
        outside.look_at(item)
        survey.look_at(item)
    outside.refuse()
    _refuse_missing_licences(survey.findings, options)
    if not survey.entries:
        raise DataError(f"{table.path}: no item is left to publish")
    survey.hold_out()
    return survey


class _OutsideImages:
    """Images of a user's file that lie outside of its folder, or came from there by an earlier
    step: a path or link in somebody else's file may lead to anything on this machine."""

    def __init__(self, table: ItemTable, allowed: Sequence[str]) -> None:
        self._allowed = [Path(folder).expanduser().resolve() for folder in allowed]
        self._roots = [table.root, *self._allowed] if table.root else []
        self._table = table
        self._found: dict[str, str] = {}
        self._checked: set[str] = set()

    def look_at(self, item: Item) -> None:
        for ref in item.sample.media:
            if ref.digest not in self._checked:
                self._checked.add(ref.digest)
                folder = folder_outside(ref, self._roots)
                if folder:
                    self._found.setdefault(folder, f"item {item.id}")

    def refuse(self) -> None:
        """Raises UsageError if there are any."""
        for name in outside_before([self._table]):
            if not any(Path(name).is_relative_to(root) for root in self._allowed):
                self._found.setdefault(name, f"copied by an earlier step, see {STEP_FILE}")
        if self._found:
            name, where = next(iter(self._found.items()))
            folders = plural(len(self._found), "folder")
            raise UsageError(
                f"{self._table.spec} has pictures from {folders} outside of the data's own: {name} "
                f"({where}); if they may be published, name each folder with --media DIR"
            )


def _unusable(item: Item, readable: dict[str, tuple[str, ...]], *, read_texts: bool) -> ItemFinding | None:
    """Why an item cannot be published at all. `readable` gets the digests of media that can be
    read, with the texts in their files if these are searched."""
    problem = item.problem or _question_problem(item)
    if problem:
        return ItemFinding("drop", UNUSABLE, problem)
    for ref in item.sample.media:
        if ref.digest in readable:
            continue
        try:
            data = ref.source.read()
            if ref.kind == "image":
                check_image(data)
        except MediaError as error:
            return ItemFinding("drop", UNREADABLE, str(error))
        is_searched = read_texts and ref.kind == "image"
        readable[ref.digest] = tuple(image_texts(data)) if is_searched else ()
    return None


def _question_problem(item: Item) -> str:
    """Why the question cannot be asked, whatever the models; "" if it can."""
    sample = item.sample
    if not sample.question.strip() and not sample.hint.strip():
        return "it has no question"
    seen: dict[str, str] = {}
    for label, option in sample.options.items():
        text = " ".join(option.split())
        if text and text in seen:
            return f"its options {seen[text]} and {label} are the same: {text[:60]!r}"
        seen[text] = label
    return ""


def _licences(item: Item, table: LicenceTable, of_questions: str) -> tuple[list[str], tuple[str, str] | None]:
    """The SPDX licence of each image of an item, and the rule and reason if one has none. An item
    without images has the licence of the questions."""
    texts = licences_of(item.cells, table, len(item.sample.media))
    if not item.sample.media:
        texts = [texts[0] or of_questions]
    lacking = None
    for place, text in enumerate(texts):
        try:
            texts[place] = check_licence(text, f"item {item.id}") if text else ""
        except UsageError as error:
            texts[place], lacking = "", (NOT_SPDX, str(error))
    if lacking is None and "" in texts:
        source = item.cells.get(SOURCE_COLUMN, "")
        lacking = NO_LICENCE, f"no licence is stated for the source {source!r}"
    return texts, lacking


def _credit(item: Item, licences: Sequence[str], credits: dict[str, ImageCredit]) -> None:
    """Note whom each image of an item is of."""
    media = item.sample.media
    authors, urls = (split_images(item.cells.get(name, ""), len(media)) for name in (AUTHOR_COLUMN, URL_COLUMN))
    for ref, licence, author, url in zip(media, licences, authors, urls, strict=False):
        source = item.cells.get(SOURCE_COLUMN, "")
        credit = credits.setdefault(ref.digest, ImageCredit(source, licence, author, url))
        credit.items += 1


def _refuse_missing_licences(findings: Mapping[str, Sequence[ItemFinding]], options: PublishOptions) -> None:
    """Raises UsageError if licences are required and items have none."""
    lacking = [name for name, [first, *_] in findings.items() if first.rule in (NO_LICENCE, NOT_SPDX)]
    if options.require_licence == REFUSE and lacking:
        count = "1 item has" if len(lacking) == 1 else f"{len(lacking)} items have"
        raise UsageError(
            f"{count} no licence: {name_some(lacking)} (first: "
            f"{findings[lacking[0]][0].reason}); add a column `license`, name a table with "
            "--licences, or leave the items out with --drop no-licence"
        )


def _choose_held_out(
    entries: Collection[str], items: Sequence[SplitCandidate], options: PublishOptions
) -> frozenset[str]:
    """The ids that are held out: a share, or what another publication holds out, whatever the
    questions say: its public part has the answers of the others. Raises UsageError if there are
    none."""
    share, folder = options.hold_out, options.split_like
    if share is not None:
        chosen = choose_held_out(items, share, options.seed)
        if not chosen or len(chosen) == len(entries):
            raise UsageError(
                f"--hold-out {share:.0%} of {len(entries)} items keeps "
                f"{'all' if chosen else 'none'} back: questions about one picture stay together, and "
                "those that state their answer are published; choose another share"
            )
        return chosen
    chosen = read_held_out_ids(Path(folder)) & set(entries) if folder else frozenset()
    if folder and not chosen:
        raise UsageError(f"--hold-out {folder}: it holds out none of the {len(entries)} ids")
    return chosen


def read_held_out_ids(folder: Path) -> frozenset[str]:
    """Ids of the questions whose answers a publication keeps back. Raises UsageError."""
    import pyarrow
    from pyarrow.parquet import read_table

    file = folder / "data" / "test.parquet"
    try:
        table = read_table(file, columns=["index", "answer"])
    except (OSError, pyarrow.ArrowException, KeyError) as error:
        raise UsageError(f"--hold-out {folder}: no publication is there ({error})") from error
    if table.column("answer").null_count < len(table):
        raise UsageError(f"--hold-out {folder}: it keeps no answers back")
    return frozenset(table.column("index").to_pylist())


def _earlier_steps(folder: Path | None) -> tuple[int, list[tuple[str, str, str, int]]]:
    """Items that are still flagged, and the decisions of the steps before, counted."""
    if folder is None:
        return 0, []
    decisions = [*read_decisions(folder)]
    counts: Counter[tuple[str, str, str]] = Counter()
    for step in dict.fromkeys(decision.step for decision in decisions):
        own = latest_decisions(each for each in decisions if each.step == step)
        counts.update((each.step, each.rule, each.action) for each in own.values())
    return len(flagged_items(decisions)), [(*key, count) for key, count in counts.items()]


def name_some(names: list[str]) -> str:
    """The first few names, in a line."""
    more = len(names) - _MAX_LISTED
    return ", ".join(" ".join(name.split()) for name in names[:_MAX_LISTED]) + (f" and {more} more" if more > 0 else "")
