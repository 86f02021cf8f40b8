"""What models replied about an item, as a decision records it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import BinaryIO

import msgspec

from snellen.core.errors import StorageError
from snellen.core.output import Failure, Generated
from snellen.core.record import Record
from snellen.curate.decisions import Evidence
from snellen.curate.filter.verdicts import ItemVerdict, RunVerdicts, decode_line
from snellen.store.runs import FAILURES_FILE, SAMPLES_FILE

_MAX_REPLY = 2_000
"""Characters of a reply that a decision records; the run has all of it."""
_NO_REPLY = "no reply"
_WORDS = {ItemVerdict.RIGHT: "right", ItemVerdict.WRONG: "wrong", ItemVerdict.SILENT: _NO_REPLY}
_decode = msgspec.json.Decoder(Record).decode


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
        return tuple(self._read_run(run, position) for run in self._runs)

    def media_failure(self, run: RunVerdicts, position: int) -> str:
        """Why a run could not read the picture of an item."""
        return self._read_run(run, position).verdict.removeprefix(f"{_NO_REPLY}: ")

    def _read_run(self, run: RunVerdicts, position: int) -> Evidence:
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
        found = record_evidence(decode_line(_decode, line, path), run.name)
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
