"""What runs say about each item: right, wrong, or nothing, with the replies as evidence; and what the
rules make of that.

Verdicts are arrays in the order of the items. What a model replied is read again, from the line of
the run that a verdict came from, only for the items that need it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeVar

import msgspec
import numpy as np
from msgspec import Struct
from numpy import bool_, float64, int8, int64, intp
from numpy.typing import NDArray

from snellen.benchmarks.protocol.control import OPTION as CONTROL
from snellen.core.errors import DataError, StorageError, UsageError
from snellen.core.output import Failure, FailureKind, Generated, Outcome
from snellen.core.record import Record, Unscored
from snellen.core.sample import Kind, Sample
from snellen.data_sets.decisions import Evidence
from snellen.data_sets.items import ItemTable, item_kind
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE, RunFolder
from snellen_curate.filter.rules import (
    FORMS,
    KINDS,
    Judgement,
    ModelKind,
    Rule,
    check_rule,
    flag_probabilities,
    guess_of,
    judge,
)

T = TypeVar("T")

_BLIND = ("blind", "black")
"""Controls under which a model sees nothing of the images; the second is how MMT-Bench asks
models that need one."""
_PAIR = 2


class ItemVerdict(IntEnum):
    """What a run says about an item."""

    SILENT = -1
    """No reply, or none that could be scored."""
    WRONG = 0
    RIGHT = 1


ITEM = np.dtype(
    [
        ("guess_once", "f8"),  # What a guess scores in one pass, 0 to 1; NaN if the options are unknown.
        ("passes", "i8"),  # Passes that must all be right.
        ("has_gold", "?"),
        ("has_media", "?"),
        ("content", "i8"),  # Hash of question, options and gold; 0 where a run holds them in another form.
        ("unit", "i8"),  # What is judged as one: a pair of yes/no questions, else the item alone.
        ("size", "i8"),  # Number of items of its unit: 2 in a pair, else 1.
    ]
)
"""What must be known of all items at once."""


@dataclass(frozen=True, slots=True)
class ItemIndex:
    """All items, in the order of the data."""

    positions: dict[str, int]
    """Position of each item, by its id."""
    rows: NDArray[Any]
    """An array of `ITEM`, (items,)."""
    groups: dict[str, tuple[NDArray[intp], list[str]]]
    """Column to the number of each item's value (items,), and the values; "" is for none."""
    problems: dict[int, str]
    """Position to why a row cannot be asked."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def pair_count(self) -> int:
        """Number of pairs of yes/no questions that are judged as one."""
        return int((self.rows["size"] > 1).sum()) // _PAIR


@dataclass(frozen=True, slots=True)
class RunVerdicts:
    """What one run says about each item."""

    name: str
    kind: ModelKind
    path: Path
    verdicts: NDArray[int8]
    """`ItemVerdict` by item, each for itself, (items,)."""
    places: NDArray[int64]
    """Where the item's line begins in `samples.jsonl`; in `failures.jsonl` as -2 - offset; -1 if
    the run has none."""
    changed: int = 0
    """Samples of the run whose question, options or gold are others in the data now: they count as
    not asked."""
    unknown: int = 0
    """Samples of the run that the data do not have."""
    media_failures: tuple[int, ...] = ()
    """Positions of items whose image or video could not be read when they were asked."""


def index_items(table: ItemTable, columns: Sequence[str], circular: bool, pairs: bool = True) -> ItemIndex:
    """Read all items once. `columns` are those that shares are reported by; with `pairs`, two
    yes/no questions of one unit are judged as one. Raises DataError, UsageError."""
    rows: list[tuple[float, int, bool, bool, int, int, int]] = []
    positions: dict[str, int] = {}
    units: list[str] = []
    codes: dict[str, list[int]] = {column: [] for column in columns}
    labels: dict[str, dict[str, int]] = {column: {} for column in columns}
    problems: dict[int, str] = {}
    for position, item in enumerate(table):
        sample = item.sample
        positions[item.id] = position
        # A run holds questions of another kind in another form.
        content = content_hash(sample) if item_kind(item) == sample.kind else 0
        units.append(sample.unit if pairs and sample.kind == "yes_no" else "")
        rows.append((*guess_of(sample, circular), bool(sample.gold), bool(sample.media), content, position, 1))
        for column, known in labels.items():
            codes[column].append(known.setdefault(item.label(column), len(known)))
        if item.problem:
            problems[position] = item.problem
    if not rows:
        raise DataError(f"{table.path} has no items")
    items = np.array(rows, ITEM)
    for pair in _find_pairs(units):
        items["unit"][pair], items["size"][pair] = pair[0], _PAIR
    groups = {column: (np.array(codes[column], dtype=np.intp), list(labels[column])) for column in columns}
    return ItemIndex(positions, items, groups, problems)


def _find_pairs(units: Sequence[str]) -> list[list[int]]:
    """Positions of the two members of each pair. A unit of any other size is no pair, so that its
    items stand for themselves."""
    members: dict[str, list[int]] = {}
    for position, unit in enumerate(units):
        if unit:
            members.setdefault(unit, []).append(position)
    return [positions for positions in members.values() if len(positions) == _PAIR]


class _JudgedRecord(Struct, frozen=True, gc=False):
    """The fields of a record that a verdict needs."""

    id: str
    kind: Kind
    question: str
    outcome: Outcome
    score: float | None = None
    unscored: Unscored | None = None
    gold: tuple[str, ...] = ()
    options: dict[str, str] = {}
    values: dict[str, float] = {}
    failure: FailureKind | None = None


def content_hash(sample: Sample | _JudgedRecord) -> int:
    """A hash of what was asked and what is right, for runs on other copies of the data."""
    content = (sample.question, list(sample.options.items()), sorted(sample.gold))
    digest = hashlib.blake2b(msgspec.json.encode(content), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def run_kind(run: RunFolder) -> ModelKind:
    """Whether a run's model was asked with the images, by `run.json`.

    Raises UsageError for a run under another control, which is neither."""
    info = run.info
    control = info.config.parameters.get(CONTROL, "")
    if control in _BLIND:
        return "text-only"
    if control:
        raise UsageError(
            f"{run.path} was made under --control {control}; expected runs with the pictures as "
            "they are, or without any (--control blind)"
        )
    inputs = info.capabilities.inputs if info.capabilities is not None else None
    return "text-only" if inputs is not None and not inputs & {"image", "video"} else "vision"


def read_verdicts(
    run: RunFolder, name: str, kind: ModelKind, index: ItemIndex, data: str, circular: bool
) -> RunVerdicts:
    """Read what a run says about each item. `data` is the digest of the items' data; `circular`:
    an item is right if it is in every rotation of the options, else if it is in the first pass.

    Of a question that was asked several times, more than half of the draws must be right. Raises
    UsageError for a run that did not rotate the options although `circular` asks for it, or that
    shares no question with the data.
    """
    verdicts = np.full(len(index), int(ItemVerdict.SILENT), dtype=np.int8)
    places = np.full(len(index), -1, dtype=np.int64)
    check_content = run.info.config.data != data
    right_above = 0.5 if run.info.config.repeats > 1 else 1.0 - 1e-9
    changed = unknown = 0
    media_failures: list[int] = []
    for place, record in _judged_records(run):
        position = index.positions.get(record.id)
        if position is None:
            unknown += 1
        elif places[position] != -1:
            continue  # a second line about the same sample: the first counts
        elif check_content and index.rows["content"][position] not in (0, content_hash(record)):
            changed += 1
        else:
            if circular and index.rows["passes"][position] > 1:
                _check_rotated(record, run)
            places[position] = place
            verdicts[position] = _verdict(record, circular, right_above)
            if record.failure == "media":
                media_failures.append(position)
    # A run that was stopped before its first reply has nothing that could disagree.
    if (changed or unknown) and (places == -1).all():
        why = (
            "its questions, options or answers are others; run the models on these data"
            if changed
            else "no sample id is the same; give the data that the run was made on"
        )
        raise UsageError(f"{run.path} has no reply to a question of these data: {why}")
    return RunVerdicts(name, kind, run.path, verdicts, places, changed, unknown, tuple(media_failures))


def _judged_records(run: RunFolder) -> Iterator[tuple[int, _JudgedRecord]]:
    """The samples of a run, each with its place; see `RunVerdicts.places`. An incomplete last line
    is left out."""
    decode = msgspec.json.Decoder(_JudgedRecord).decode
    for name in (SAMPLES_FILE, FAILURES_FILE):
        path, offset = run.path / name, 0
        try:
            with path.open("rb") as file:
                for line in file:
                    if line.endswith(b"\n"):
                        yield offset if name == SAMPLES_FILE else -2 - offset, decode_line(decode, line, path)
                    offset += len(line)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def _check_rotated(record: _JudgedRecord, run: RunFolder) -> None:
    if record.score is not None and "vanilla" not in record.values:
        raise UsageError(
            f"{run.path} asked each question once; the rules want the options rotated "
            "(CircularEval): run it with --circular, or judge all runs by their first replies with "
            "--circular off"
        )


def _verdict(record: _JudgedRecord, circular: bool, right_above: float) -> ItemVerdict:
    if record.unscored is not None or record.score is None:
        return ItemVerdict.SILENT
    score = record.score if circular else record.values.get("vanilla", record.score)
    return ItemVerdict.RIGHT if score > right_above else ItemVerdict.WRONG


def join_pairs(verdicts: NDArray[int8], units: NDArray[int64]) -> NDArray[int8]:
    """The verdicts with each pair judged as one, as MME's accuracy+ does: wrong if either question
    is wrong, else silent if either is, else right."""
    if len(np.unique(units)) == len(units):
        return verdicts
    # The worst of both: wrong (0) before silent (1) before right (2).
    severity = np.array([1, 0, 2], dtype=np.int8)[verdicts + 1]
    worst = np.full(len(units), 2, dtype=np.int8)
    np.minimum.at(worst, units, severity)
    return np.array([ItemVerdict.WRONG, ItemVerdict.SILENT, ItemVerdict.RIGHT], dtype=np.int8)[worst[units]]


def decode_line(decode: Callable[[bytes], T], line: bytes, path: Path) -> T:
    try:
        return decode(line)
    except msgspec.DecodeError as error:
        raise DataError(f"{path} holds a line that is no sample record: {error}") from error


_MAX_REPLY = 2_000
"""Characters of a reply that a decision records; the run has all of it."""
_NO_REPLY = "no reply"
_WORDS = {ItemVerdict.RIGHT: "right", ItemVerdict.WRONG: "wrong", ItemVerdict.SILENT: _NO_REPLY}
_decode_record = msgspec.json.Decoder(Record).decode


class EvidenceReader(ExitStack):
    """Reads again what the models of runs replied about single items. A context manager, which
    holds the runs' files open."""

    def __init__(self, runs: Sequence[RunVerdicts]) -> None:
        super().__init__()
        self._runs = tuple(runs)
        self._files: dict[Path, BinaryIO] = {}
        self._texts: dict[str, str] = {}

    def read(self, position: int) -> tuple[Evidence, ...]:
        """What each model replied about an item, and what was made of it. Of several rotations it
        is the first that was not right, else the first. Raises StorageError."""
        return tuple(self.read_run(run, position) for run in self._runs)

    def read_run(self, run: RunVerdicts, position: int) -> Evidence:
        """What one model replied about an item."""
        place = int(run.places[position])
        if place == -1:
            return Evidence(run.name, verdict="not asked")
        name, offset = (SAMPLES_FILE, place) if place >= 0 else (FAILURES_FILE, -2 - place)
        path = run.path / name
        try:
            if path not in self._files:
                self._files[path] = self.enter_context(path.open("rb"))
            self._files[path].seek(offset)
            line = self._files[path].readline()
        except OSError as error:
            raise StorageError(f"cannot read {path}: {error.strerror or error}") from error
        found = record_evidence(decode_line(_decode_record, line, path), run.name)
        # A few verdicts are those of most items.
        text = self._texts.setdefault(found.verdict, found.verdict)
        return Evidence(found.model, found.request, found.reply, text, found.score)


def record_evidence(record: Record, name: str) -> Evidence:
    """What the model called `name` replied, by the record of a run."""
    passes = record.passes
    wrong = next((number for number, one in enumerate(passes) if not one.correct), None)
    shown = wrong or 0
    output = passes[shown].output if passes else None
    # One request for each pass, unless an extractor or judge was asked as well.
    digests = record.requests
    request = digests[min(shown, len(digests) - 1)] if len(digests) == len(passes) else ""
    request = request or (digests[0] if digests else "")
    if record.score is None or isinstance(output, Failure):
        why = f"{output.kind}: {output.message}" if isinstance(output, Failure) else record.outcome
        return Evidence(name, request, verdict=f"{_NO_REPLY}: {why}"[:_MAX_REPLY])
    reply = output.text if isinstance(output, Generated) else (record.answer or "")
    return Evidence(name, request, reply[:_MAX_REPLY], _verdict_text(record, wrong), record.score)


def _verdict_text(record: Record, wrong: int | None) -> str:
    """ "right", "right in all 4 rotations", "wrong in rotation 2 of 4: B, not D"."""
    passes = record.passes
    count = len(passes) + record.saved if len(record.options) > 1 else len(passes)
    if wrong is None or record.score == 1.0:
        return f"right in all {count} rotations" if count > 1 else "right"
    answer = passes[wrong].answer
    said = getattr(answer, "value", None)
    gold = " or ".join(passes[wrong].gold or record.gold)
    why = f"{said}, not {gold}" if said is not None else record.outcome.replace("_", " ")
    return f"wrong in rotation {wrong + 1} of {count}: {why}" if count > 1 else f"wrong: {why}"


def brief_evidence(names: Sequence[str]) -> Callable[[tuple[int, ...]], tuple[Evidence, ...]]:
    """Makes evidence of an item's verdicts, without replies, for items that no rule flags; equal
    combinations are shared."""

    @cache
    def evidence_of(verdicts: tuple[int, ...]) -> tuple[Evidence, ...]:
        words = [_WORDS[ItemVerdict(verdict)] for verdict in verdicts]
        return tuple(Evidence(name, verdict=word) for name, word in zip(names, words, strict=True))

    return evidence_of


UNREADABLE, NO_IMAGE, NO_ANSWER = "unreadable", "no picture", "no answer"
_MIN_MEDIA_SHARE = 0.9
"""If this share of the items has an image or video, an item without one is flagged; with fewer,
the data are a mixture."""


class ItemProblem(NamedTuple):
    """Why no model can be judged by an item."""

    rule: str
    """`unreadable` (the row, its image or its video), `no image` or `no answer`."""
    reason: str


class JudgedRule(NamedTuple):
    """A rule and what it says about every item."""

    rule: Rule
    models: int
    right: NDArray[intp]
    """Models that are right, by item (items,)."""
    silent: NDArray[intp]
    """Models without a reply, by item (items,)."""
    judgements: NDArray[int8]
    """`Judgement` by item (items,)."""
    guess_independent: NDArray[float64]
    """Probability of a flag if the models guessed independently in every pass (items,); NaN if
    unknown."""
    guess_once: NDArray[float64]
    """The same if each model kept to the option that it drew first (items,)."""

    def reason(self, position: int, is_pair: bool) -> str:
        """How many models are right, as a clause: "2 of 3 text-only models are right"."""
        right, silent = int(self.right[position]), int(self.silent[position])
        kind = self.rule.kind
        if right:
            text = f"{right} of {self.models} {kind} models {'is' if right == 1 else 'are'} right"
        else:
            text = f"none of {self.models} {kind} models is right"
        if is_pair:
            text += " on both questions of the pair"
        return f"{text}, {silent} gave no reply" if silent else text


@dataclass(frozen=True, slots=True)
class JudgedItems:
    """Everything that is known before anything is decided."""

    index: ItemIndex
    runs: tuple[RunVerdicts, ...]
    problems: Mapping[int, ItemProblem]
    """By position, items that no model can be judged by."""
    askable: NDArray[bool_]
    """Items without a problem (items,)."""
    applied: tuple[JudgedRule, ...]
    others: tuple[JudgedRule, ...]
    """Rules that decide nothing, to compare."""

    def flagged_mask(self, kinds: Sequence[ModelKind] = KINDS) -> NDArray[bool_]:
        """Items that an applied rule of these kinds flags (items,)."""
        return self._some_rule_says(Judgement.FLAG, kinds)

    def undecided_mask(self) -> NDArray[bool_]:
        """Items that no rule flags, and that one cannot judge (items,)."""
        return self._some_rule_says(Judgement.UNDECIDED) & ~self.flagged_mask()

    def reasons(self, position: int, judgement: Judgement) -> tuple[str, str]:
        """The applied rules that say this about an item, and why."""
        rules = [each for each in self.applied if each.judgements[position] == judgement]
        is_pair = bool(self.index.rows["size"][position] > 1)
        why = dict.fromkeys(each.reason(position, is_pair) for each in rules)
        return ", ".join(each.rule.name for each in rules), "; ".join(why)

    def _some_rule_says(self, judgement: Judgement, kinds: Sequence[ModelKind] = KINDS) -> NDArray[bool_]:
        says = [(each.judgements == judgement) & (each.rule.kind in kinds) for each in self.applied]
        result: NDArray[bool_] = np.logical_or.reduce(says) & self.askable
        return result


def judge_items(
    index: ItemIndex, runs: Sequence[RunVerdicts], chosen: Sequence[Rule], min_replies: int | None = None
) -> JudgedItems:
    """Judge every item by the chosen rules, and by the papers' others to compare."""
    problems = find_problems(index, runs)
    askable = np.ones(len(index), dtype=np.bool_)
    askable[list(problems)] = False
    joined = [(run.kind, join_pairs(run.verdicts, index.rows["unit"])) for run in runs]

    def judge_by(rule: Rule) -> JudgedRule:
        return _judge_rule(rule, index, joined, min_replies)

    others = _other_rules([run.kind for run in runs], chosen)
    return JudgedItems(
        index, tuple(runs), problems, askable, tuple(map(judge_by, chosen)), tuple(map(judge_by, others))
    )


def find_problems(index: ItemIndex, runs: Sequence[RunVerdicts]) -> dict[int, ItemProblem]:
    """Items that no model can be judged by, by position."""
    problems = {position: ItemProblem(UNREADABLE, reason) for position, reason in index.problems.items()}
    with EvidenceReader(runs) as reader:
        for run in runs:
            for position in run.media_failures:
                if position not in problems:
                    why = reader.read_run(run, position).verdict.removeprefix(f"{_NO_REPLY}: ")
                    problems[position] = ItemProblem(UNREADABLE, why)
    with_media = int(index.rows["has_media"].sum())
    if with_media >= _MIN_MEDIA_SHARE * len(index):
        reason = f"it has no picture, as {with_media} of {len(index)} items have"
        for position in (~index.rows["has_media"]).nonzero()[0].tolist():
            problems.setdefault(position, ItemProblem(NO_IMAGE, reason))
    for position in (~index.rows["has_gold"]).nonzero()[0].tolist():
        problems.setdefault(position, ItemProblem(NO_ANSWER, "the data have no answer to it"))
    return problems


def _other_rules(kinds: Sequence[ModelKind], chosen: Sequence[Rule]) -> Iterator[Rule]:
    """The rules of the papers that are not chosen, as far as these models allow them."""
    counts = Counter(kinds)
    for rule in FORMS.values():
        if rule not in chosen and counts[rule.kind]:
            with suppress(UsageError):
                check_rule(rule, counts[rule.kind])
                yield rule


def _judge_rule(
    rule: Rule, index: ItemIndex, joined: Sequence[tuple[ModelKind, NDArray[int8]]], min_replies: int | None
) -> JudgedRule:
    """Apply a rule to the verdicts of the models of its kind, with the chance that guesses are
    flagged. `joined` has verdicts of shape (items,)."""
    verdicts = np.stack([each for kind, each in joined if kind == rule.kind])  # (models, items)
    right = (verdicts == ItemVerdict.RIGHT).sum(axis=0)
    silent = (verdicts == ItemVerdict.SILENT).sum(axis=0)
    models = len(verdicts)
    once = index.rows["guess_once"] ** index.rows["size"]
    independent = index.rows["guess_once"] ** (index.rows["size"] * index.rows["passes"])
    return JudgedRule(
        rule,
        models,
        right,
        silent,
        judge(rule, right, silent, models, min_replies),
        flag_probabilities(rule, independent, models),
        flag_probabilities(rule, once, models),
    )
