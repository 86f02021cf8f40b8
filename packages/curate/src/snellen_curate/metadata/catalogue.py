"""One pass over a metadata file: which records each template can ask about, and what is needed to
draw from them. Of a record a few numbers stay in memory, and of a template that searches its texts.
"""

from __future__ import annotations

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
from snellen_curate.metadata.records import CategoryTree, MetadataRecord, RecordFiles, option_key
from snellen_curate.metadata.targets import answer_texts, box_targets, has_targets
from snellen_curate.metadata.templates import QuestionTemplate

_MAX_SEARCHED = 100_000
"""Different texts of one template that are searched: a search takes some 20 ms then."""


class TextIndex:
    """Texts that are searched by spelling. Texts that say the same are kept once."""

    def __init__(self) -> None:
        self._labels: dict[str, int] = {}
        """By the form in which options are compared."""

    def add(self, text: str, label: int) -> None:
        """Add a text under a number of the caller's."""
        if len(self._labels) < _MAX_SEARCHED:
            self._labels.setdefault(option_key(text), label)

    def search(self, text: str, count: int) -> list[int]:
        """Labels of the `count` texts that are most similar (normalised indel), best first; ties in
        the order in which they were added."""
        from rapidfuzz import process
        from rapidfuzz.distance import Indel

        scorer = Indel.normalized_similarity
        found = process.extract(option_key(text), self._labels.keys(), scorer=scorer, limit=count, score_cutoff=0.01)
        return [self._labels[key] for key, *_ in found]


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
