"""One pass over a metadata file: which records each template can ask about, and what is needed to
draw from them. Of a record a few numbers stay in memory.

Texts are found by similarity (BM25), a million of them and more without comparing each with each:
Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, Sec. 3.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from snellen.core.errors import DataError
from snellen.core.sample import sampling_key
from snellen.data_sets.decisions import Exclusion
from snellen_curate.metadata.draw import AnswerFrequencies, AnswerPlan, plan_answers
from snellen_curate.metadata.perturbations import KnownBoxes
from snellen_curate.metadata.record_file import RecordFiles
from snellen_curate.metadata.records import MetadataRecord
from snellen_curate.metadata.spaces import CategoryTree, option_key
from snellen_curate.metadata.targets import answer_texts, box_targets, has_targets
from snellen_curate.metadata.templates import QuestionTemplate

_TOKEN = re.compile(r"\w+")
_K1, _B = 1.2, 0.75
MAX_POSTINGS = 20_000
"""Texts looked at for one word of a query. A word in more texts says little about any of them; of
such a word, this many texts spread evenly over the collection count. It bounds the time of a query
by the number of its words."""


class TextIndex:
    """An inverted index. Add all texts, then search; equal texts are kept once."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._tokens = array("I")
        """Word numbers of all texts, one text after the other, each word of a text once."""
        self._lengths = array("I")
        self._labels = array("q")
        self._seen: set[int] = set()
        self._postings: tuple[Any, Any] | None = None

    def __len__(self) -> int:
        """Number of different texts."""
        return len(self._labels)

    def add(self, text: str, label: int) -> None:
        """Add a text under a number of the caller's; one that says the same as an earlier text is
        passed over."""
        key = option_key(text)
        digest = int.from_bytes(sampling_key("", key)[:8], "big")
        if digest in self._seen:
            return
        self._seen.add(digest)
        words = self._words
        numbers = {words.setdefault(word, len(words)) for word in _TOKEN.findall(key)}
        self._tokens.extend(numbers)
        self._lengths.append(len(numbers))
        self._labels.append(label)
        self._postings = None

    def search(self, text: str, count: int) -> list[int]:
        """Labels of the `count` texts that are most similar, best first; ties in the order in which
        they were added. Fewer if fewer share a word."""
        starts, texts = self._invert()
        total = len(self._labels)
        average = max(1.0, len(self._tokens) / max(1, total))
        found: list[Any] = []
        weights: list[Any] = []
        for word in dict.fromkeys(_TOKEN.findall(option_key(text))):
            number = self._words.get(word)
            if number is None:
                continue
            postings = texts[starts[number] : starts[number + 1]]
            # The inverse document frequency of the whole list, also where a part of it is read.
            idf = float(np.log1p((total - len(postings) + 0.5) / (len(postings) + 0.5)))
            if len(postings) > MAX_POSTINGS:
                postings = postings[:: -(-len(postings) // MAX_POSTINGS)]
            lengths = np.frombuffer(self._lengths, dtype=np.uintc)[postings]
            # Each word counts once in a text: options are short.
            weights.append(idf * (_K1 + 1) / (1 + _K1 * (1 - _B + _B * lengths / average)))
            found.append(postings)
        if not found:
            return []
        numbers, places = np.unique(np.concatenate(found), return_inverse=True)
        scores = np.bincount(places, np.concatenate(weights))
        return [self._labels[int(numbers[place])] for place in _top(scores, numbers, count)]

    def _invert(self) -> tuple[Any, Any]:
        """Start of each word's postings, and the texts of all postings in one array."""
        if self._postings is None:
            tokens = np.frombuffer(self._tokens, dtype=np.uintc)
            lengths = np.frombuffer(self._lengths, dtype=np.uintc)
            owners = np.repeat(np.arange(len(lengths), dtype=np.uint32), lengths)
            order = np.argsort(tokens, kind="stable")
            counts = np.bincount(tokens, minlength=len(self._words))
            starts = np.concatenate([[0], np.cumsum(counts)])
            self._postings = (starts, owners[order])
        return self._postings


def _top(scores: Any, numbers: Any, count: int) -> list[int]:
    """Places of the largest scores, ties by number."""
    places = np.arange(len(scores))
    if len(scores) > count:
        threshold = np.partition(scores, -count)[-count]
        places = np.flatnonzero(scores >= threshold)
    order = np.lexsort((numbers[places], -scores[places]))
    best: list[int] = places[order][:count].tolist()
    return best


_MAX_LABELS = 100_000
"""Different answers of one template and source that become a category space."""
_MAX_TEXTS = 256
"""Texts of one record that are searched."""
_MAX_DRAWS = 500
"""Other records drawn for one item."""


_USED, _NOTHING_TO_ASK, _NO_SUBTASK = range(3)
_STATES = (
    None,
    Exclusion("template", "it has nothing that a template asks for"),
    Exclusion("template", "no template is of its subtask"),
)


class TemplatePool:
    """The records that one template takes, by source."""

    def __init__(self, template: QuestionTemplate) -> None:
        self.template = template
        calls = template.strategy_calls()
        self._is_planned = template.answer != "presence" and any(
            name in ("categories", "numbers") and call.get("seen", True) for name, call in calls
        )
        self._counts_answers = self._is_planned or template.answer == "presence"
        searches = any(name == "other_items" and call.get("near") for name, call in calls)
        self.index = TextIndex() if searches else None
        self.rows: dict[str, array[int]] = {}
        """Row numbers by source."""
        self.observed: dict[str, Counter[str]] = {}
        """Answers by source, with how often they occur."""
        self._absent: dict[str, Counter[str]] = {}
        """Labels that records with categories of their own do not show, by source."""
        self._trees: dict[str, CategoryTree] = {}
        self._plans: dict[str, AnswerPlan] = {}
        self._several: dict[str, list[tuple[str, ...]]] = {}
        """Answers of the records that have more of them than questions, by source."""
        self._boxes: dict[str, KnownBoxes] = {}

    def add(self, row: int, record: MetadataRecord) -> None:
        self.rows.setdefault(record.source, array("I")).append(row)
        if self.template.answer == "box":
            boxes = [target.box for target in box_targets(record) if target.box is not None]
            share = min(1.0, self.template.per_record / max(1, len(boxes)))
            for box in boxes:
                size = (record.width, record.height)
                self.known_boxes(record.source).add(box.label, box.corners, size, share)
        if self.index is None and not self._counts_answers:
            return
        texts = answer_texts(record, self.template.answer)
        if self.template.answer == "presence" and record.categories:
            absent: Counter[str] = self._absent.setdefault(record.source, Counter())
            if len(absent) < _MAX_LABELS:
                absent.update(set(record.categories).difference(texts))
        if self._counts_answers:
            observed: Counter[str] = self.observed.setdefault(record.source, Counter())
            if len(observed) < _MAX_LABELS:
                observed.update(texts)
                if self._is_planned and len(texts) > self.template.per_record:
                    self._several.setdefault(record.source, []).append(texts)
        if self.index is not None:
            for place, text in enumerate(texts[:_MAX_TEXTS]):
                self.index.add(text, row * _MAX_TEXTS + place)

    def tree(self, record: MetadataRecord, spaces: Mapping[str, CategoryTree]) -> CategoryTree:
        """The category space of a record's answers: its own list, the space that it or the template
        names, else the answers of the records of its source."""
        if self._answers_are_labels and record.categories:
            places = spaces[record.space].places if record.space else {}
            return CategoryTree({label: places.get(label, "") for label in record.categories})
        own = record.space if self._answers_are_labels else ""
        if own or self.template.space:
            return spaces[own or self.template.space]
        if record.source not in self._trees:
            # Numbers are no categories.
            has_labels = self.template.answer not in ("count", "number")
            observed = self.observed.get(record.source, Counter()) if has_labels else ()
            self._trees[record.source] = CategoryTree(dict.fromkeys(observed, ""))
        return self._trees[record.source]

    def frequencies(self, source: str) -> AnswerFrequencies:
        """How often each answer is right among the records of a source."""
        return AnswerFrequencies(self.observed.get(source, {}), len(self.rows[source]), self._absent.get(source))

    def plan(self, source: str) -> AnswerPlan:
        """Which answers become keys of the questions of a source, and how often they are
        offered."""
        if source not in self._plans:
            counts = self.observed.get(source, Counter()) if self._is_planned else Counter[str]()
            self._plans[source] = plan_answers(
                counts,
                self.template.min_options,
                self.template.max_options,
                self._several.get(source, ()),
                self.template.per_record,
            )
        return self._plans[source]

    def known_boxes(self, source: str) -> KnownBoxes:
        """The boxes that the template asks for in images of a source."""
        return self._boxes.setdefault(source, KnownBoxes())

    @property
    def _answers_are_labels(self) -> bool:
        """Whether a record's category space is about the answers. That of an image of a dog says
        nothing about its weather."""
        return self.template.answer not in ("relation", "answer", "text", "number") and (
            not self.template.answer.startswith("annotation.")
        )


class Catalogue:
    """The usable records of a file, and the others with their reasons."""

    def __init__(self, files: RecordFiles, templates: Sequence[QuestionTemplate], seed: int | str) -> None:
        self._files = files
        self.seed = seed
        self.pools = [TemplatePool(template) for template in templates]
        self._by_subtask: dict[str, list[TemplatePool]] = {}
        for pool in self.pools:
            self._by_subtask.setdefault(pool.template.subtask, []).append(pool)
        self._offsets = array("Q")
        self._keys = array("Q")
        self._states = bytearray()
        self.problems: dict[int, Exclusion] = {}
        """Rows that cannot be used, with the reason. Those that no template takes are not here:
        they may be most of a large file. See `problem`."""
        self.names: dict[int, str] = {}
        """Names of these rows."""

    def __len__(self) -> int:
        """Number of rows, usable or not."""
        return len(self._offsets)

    def read(self, refuse: Callable[[MetadataRecord], Exclusion | None]) -> None:
        """Read all records; `refuse` may refuse one that is well formed.

        Raises DataError if no record is usable because each is malformed.
        """
        for line in self._files:
            row = len(self._offsets)
            self._offsets.append(line.offset)
            key = int.from_bytes(sampling_key(self.seed, line.name)[:8], "big")
            self._keys.append(key)
            problem = line.problem
            state = _USED
            if problem is None and line.record is not None:
                problem = refuse(line.record)
                if problem is None:
                    state = self._add(row, line.record)
            self._states.append(state)
            if problem is not None:
                self.problems[row] = problem
                self.names[row] = line.name
        malformed = [each for each in self.problems.values() if each.rule in ("json", "field")]
        if len(malformed) == len(self._offsets):
            row, problem = next(iter(self.problems.items()))
            raise DataError(f"{self._files} holds no metadata records: {self.names[row]}: {problem.reason}")
        self._refuse_repeated_ids()

    def _add(self, row: int, record: MetadataRecord) -> int:
        """Add a record to the pools of the templates that take it; returns its state."""
        pools = self._by_subtask.get(record.subtask, []) if record.subtask else self.pools
        state = _NOTHING_TO_ASK if pools else _NO_SUBTASK
        for pool in pools:
            sources = pool.template.sources
            if (not sources or record.source in sources) and has_targets(record, pool.template):
                pool.add(row, record)
                state = _USED
        return state

    def problem(self, row: int) -> Exclusion | None:
        """Why a row is in no pool; None if it is in one."""
        return self.problems.get(row) or _STATES[self._states[row]]

    def count_unmatched(self) -> int:
        """Number of usable records that no template takes."""
        return len(self._states) - self._states.count(_USED)

    def _refuse_repeated_ids(self) -> None:
        """Raises DataError for an id that two records share: items and decisions go by ids."""
        keys = np.frombuffer(self._keys, dtype=np.uint64)
        order = np.argsort(keys, kind="stable")
        for place in np.flatnonzero(keys[order][1:] == keys[order][:-1]).tolist():
            first, second = int(order[place]), int(order[place + 1])
            if {first, second} & set(self.problems):
                continue
            name = self.record(first).id
            if name == self.record(second).id:
                raise DataError(
                    f"{self._files}: records {first + 1} and {second + 1} have the same id {name!r}; ids must be unique"
                )

    def record(self, row: int) -> MetadataRecord:
        return self._files.read(self._offsets[row])

    def orders(self, pool: TemplatePool) -> dict[str, list[int]]:
        """The rows of a pool by source, each in the order in which they are drawn; sources in an
        order of the seed's choice."""
        keys = np.frombuffer(self._keys, dtype=np.uint64)
        names = sorted(pool.rows, key=lambda name: sampling_key(self.seed, f"source/{name}"))
        drawn: dict[str, list[int]] = {}
        for name in names:
            rows: Any = np.frombuffer(pool.rows[name], dtype=np.uintc)
            drawn[name] = rows[np.argsort(keys[rows], kind="stable")].tolist()
        return drawn


@dataclass(frozen=True, slots=True)
class OtherRecords:
    """The other records of a template: those of the same source first, whose style is the same."""

    catalogue: Catalogue
    pool: TemplatePool
    source: str

    def similar(self, text: str, count: int) -> Sequence[tuple[MetadataRecord, str]]:
        """The answers that are most similar to a text, the most similar first, with their
        records."""
        index, answer = self.pool.index, self.pool.template.answer
        found = []
        for label in index.search(text, count) if index else ():
            row, place = divmod(label, _MAX_TEXTS)
            record = self.catalogue.record(row)
            found.append((record, answer_texts(record, answer)[place]))
        return found

    def at_random(self, rng: Random) -> Iterator[MetadataRecord]:
        """Records of the generator's choice, some perhaps twice."""
        same = self.pool.rows[self.source]
        for _ in range(_MAX_DRAWS):
            yield self.catalogue.record(same[rng.randrange(len(same))])
        rows = list(self.pool.rows.values())
        for _ in range(_MAX_DRAWS if len(rows) > 1 else 0):
            others = rows[rng.randrange(len(rows))]
            yield self.catalogue.record(others[rng.randrange(len(others))])
