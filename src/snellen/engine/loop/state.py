"""A run as it stands: what is counted while it goes on, and what its folder is told of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from snellen.benchmarks.protocol.repeats import summary_of
from snellen.core.benchmark import Table
from snellen.core.errors import UsageError
from snellen.core.model import SelfReporting
from snellen.core.origin import origin_of
from snellen.core.record import Record
from snellen.core.reused_replies import Reused
from snellen.core.run import Counts, DataInfo, Report, RunConfig, RunInfo, Spent, Status
from snellen.core.sample import Sample
from snellen.core.served_identity import Served, noted
from snellen.engine.anytime.early_stop import Stopper
from snellen.engine.limits.spending import Traffic, with_replies_of_a_killed_start
from snellen.engine.loop.environment import forget, hardware, peak, versions
from snellen.engine.loop.plan import Plan
from snellen.engine.loop.request_broker import MAIN, Asker
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunWriter, open_run

_NOTE_EVERY = 5.0
"""Seconds between two notes in run.json of what was done and spent."""


class RunState:
    """The run as it stands: counts for the folder and the watcher."""

    def __init__(
        self, plan: Plan, writer: RunWriter, info: RunInfo, needed: int, done: set[str]
    ) -> None:
        self.plan, self.writer, self.info = plan, writer, info
        self.needed, self.done, self.failed = needed, len(done), 0
        self.asker: Asker | None = None
        self.stopper: Stopper | None = None
        self.started = time.monotonic()
        forget()
        self._saved = 0
        self._written = 0.0
        self._earlier = info.spent
        self._repairs = info.repairs
        self._served_earlier = info.served
        self._reused = info.reused
        self._score_sum, self._score_count = 0.0, 0
        plan.progress.started(f"{plan.model_name} on {plan.benchmark.name}", needed, len(done))

    def samples(self, table: Table, chosen: set[str], owed: set[str]) -> Iterator[Sample]:
        """Those that are owed, in the order of the data; or, where a rule may end the run, in its
        random order until it says so."""
        found = self.plan.benchmark.samples(table)
        plan, rule = self.plan, self.plan.until
        if rule is None:
            return (sample for sample in found if sample.id in owed)
        every = [sample for sample in found if sample.id in chosen]
        self.stopper = rule.stopper(every, plan.seed, plan.failures, plan.benchmark)
        for record in self.writer.records():
            self.stopper.finished(record)
        return self.stopper.order(owed)

    def finished(self, record: Record) -> None:
        if self.stopper is not None:
            self.stopper.finished(record)
        if record.owed:
            self.failed += 1
            self.writer.append_failure(record)
        else:
            self.done += 1
            self.writer.append(record)
        self._saved += record.saved
        if record.score is not None:
            self._score_sum += record.score
            self._score_count += 1
        traffic = self._traffic()
        score = self._score_sum / self._score_count if self._score_count else None
        self.plan.progress.advanced(
            self.done, self.failed, traffic.sent, traffic.reused, self._saved, score
        )
        if time.monotonic() - self._written > _NOTE_EVERY:
            self.write("running")

    def note_spent(self) -> None:
        """Called after each reply: what was spent is known even after a kill."""
        self.writer.note_spent(self._spent())

    def note_reused(self, store: ResponseStore, digest: bytes) -> None:
        """Called for each reply from the store. What this run had stored itself is its own."""
        stored = store.stored(digest)
        if stored is not None and stored.run != str(self.writer.path.absolute()):
            self._reused = self._reused.and_one(stored.at, stored.run)

    def ending(self) -> Status:
        if self._halted():
            return "interrupted"
        if self.stopper is not None and self.stopper.waiting:
            return "interrupted"
        if self.stopper is not None and self.stopper.reason:
            self.needed = self.done + self.failed
        return "incomplete" if self.failed else "complete"

    def write(self, status: Status) -> None:
        self.info = msgspec.structs.replace(
            self.info,
            status=status,
            counts=self._counts(),
            spent=self._spent(),
            stopped=self._stopped(),
            repairs=self._repairs + self._unreadable(),
            reused=self._reused,
            served=self._served(),
            remarks=tuple(getattr(self.plan.model, "remarks", ())),
            finished=None if status == "running" else _now(),
        )
        self.writer.write_info(self.info)
        self._written = time.monotonic()

    def finish(self, status: Status) -> None:
        """Sum up whatever is there, also after an interruption."""
        self.plan.progress.finished(status)
        records = self.writer.records()
        self._saved = sum(record.saved for record in records)
        self.write(status)
        summary = summary_of(self.plan.benchmark, records, self.info.config.examples)
        if self.stopper is not None:
            summary = self.stopper.told(summary)
        self.writer.write_report(Report(self.info, summary))

    def _halted(self) -> str:
        """Why nothing more is sent; nothing where nothing more is owed, as when the last reply
        spends the budget."""
        if self.asker is None or self.done >= self.needed:
            return ""
        return self.asker.halt.reason

    def _stopped(self) -> str:
        halted = self._halted()
        if halted or self.stopper is None:
            return halted
        return self.stopper.waiting or self.stopper.reason

    def _unreadable(self) -> tuple[str, ...]:
        count = self.asker.unreadable if self.asker is not None else 0
        if not count:
            return ()
        replies = "1 stored reply" if count == 1 else f"{count} stored replies"
        return (f"{replies} could not be read, and asked for again",)

    def _traffic(self) -> Traffic:
        return self.asker.parties[MAIN].traffic if self.asker else Traffic()

    def _spent(self) -> dict[str, Spent]:
        parties = self.asker.parties if self.asker is not None else {}
        now = {
            role: party.traffic.after(self._earlier.get(role), party.price)
            for role, party in parties.items()
            if party.traffic.sent or party.traffic.reused or role in self._earlier
        }
        return {**self._earlier, **now}

    def _served(self) -> dict[str, tuple[Served, ...]]:
        found = dict(self._served_earlier)
        for role, model in {MAIN: self.plan.model, **self.plan.roles}.items():
            if isinstance(model, SelfReporting) and self.asker is not None:
                starts = noted(found.get(role, ()), model.served())
                found |= {role: starts} if starts else {}
        return found

    def _counts(self) -> Counts:
        if self.asker is None:
            return msgspec.structs.replace(
                self.info.counts, samples=self.needed, done=self.done, failed=self.failed
            )
        traffic, memory = self._traffic(), peak()
        return Counts(
            samples=self.needed,
            done=self.done,
            failed=self.failed,
            sent=traffic.sent,
            reused=traffic.reused,
            saved=self._saved,
            seconds=time.monotonic() - self.started,
            prompt_tokens=traffic.fresh.prompt,
            completion_tokens=traffic.fresh.completion,
            process_memory=memory.process,
            device_memory=memory.device,
            largest_batch=int(getattr(self.plan.model, "largest_batch", 0)),
        )


def first_info(
    plan: Plan,
    table: Table,
    config: RunConfig,
    writer: RunWriter,
    repairs: tuple[str, ...],
    store: ResponseStore,
) -> RunInfo:
    folder = writer.path
    earlier = _earlier(folder)
    spent = with_replies_of_a_killed_start(
        writer.recover_spent(earlier.spent if earlier else {}),
        earlier,
        folder,
        {MAIN: config.identity, **config.roles},
        plan.prices,
        store,
    )
    return RunInfo(
        name=folder.name,
        model=plan.model_name,
        benchmark=plan.benchmark.name,
        title=plan.benchmark.title,
        config=config,
        data=DataInfo(str(table.path), table.digest, len(table), origin_of(table)),
        status="running",
        created=earlier.created if earlier else _now(),
        counts=earlier.counts if earlier else Counts(),
        reused=earlier.reused if earlier else Reused(),
        served=earlier.served if earlier else {},
        spent=spent,
        repairs=(*(earlier.repairs if earlier else ()), *repairs),
        failures=plan.failures,
        command=plan.command,
        versions=versions(),
        hardware=hardware(),
        paper=plan.benchmark.paper,
        source=plan.benchmark.source,
        headline=plan.benchmark.headline,
        capabilities=plan.model.capabilities,
    )


def _earlier(folder: Path) -> RunInfo | None:
    try:
        return open_run(folder).info
    except UsageError:
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
