"""One run: a model on a benchmark, into a folder that the same command finds again."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from snellen.core.benchmark import Benchmark, Table, summed
from snellen.core.errors import DataError, StorageError, UsageError
from snellen.core.flow import Flow
from snellen.core.model import Model, RemoteModel
from snellen.core.output import Failure
from snellen.core.price import Price
from snellen.core.record import Pass, Record
from snellen.core.run import Counts, DataInfo, Report, RunConfig, RunInfo, Spent, Status
from snellen.core.sample import Sample
from snellen.engine.asking import MAIN, Asker, Terms, disconnect, flows_for
from snellen.engine.collecting import rare_collection
from snellen.engine.driving import drive_all
from snellen.engine.memory import forget, peak
from snellen.engine.progress import Progress, Silent
from snellen.engine.spending import Traffic
from snellen.engine.surroundings import hardware, versions
from snellen.engine.until import Stopper, Until
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder, RunWriter, open_run

_NOTE_EVERY = 5.0
"""Seconds between two notes in run.json of what was done and spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run to be made."""

    model: Model
    model_name: str
    benchmark: Benchmark
    out: Path
    roles: Mapping[str, Model] = field(default_factory=dict)
    """Other models that flows may ask, by role, e.g. an `extractor`."""
    limit: int | None = None
    seed: int = 0
    """Chooses which samples a limit keeps."""
    failures: str = "exclude"
    command: str = ""
    progress: Progress = field(default_factory=Silent)
    terms: Terms = Terms()  # noqa: RUF009 - frozen
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By role, where they are known."""
    until: Until | None = None
    """The rule by which the run may end before all samples are asked."""


class Interrupted(Exception):
    """Ctrl-C, after everything finished was kept."""

    def __init__(self, run: Path) -> None:
        super().__init__(str(run))
        self.run = run


def run(plan: Plan, store: ResponseStore) -> RunFolder:
    """Ask what is owed, write the folder, and return it for reading.

    A complete run is only summed up again. A run that the plan's terms ended early is kept as
    interrupted, with the reason. Raises UsageError subclasses, and Interrupted when the user
    stopped it.
    """
    lacking = plan.benchmark.needs(plan.model.capabilities)
    if lacking:
        raise UnsupportedBenchmark(f"{plan.model_name} on {plan.benchmark.name}: {lacking}")
    table = plan.benchmark.open()
    chosen = chosen_ids(plan, table)
    config = config_of(plan, table)
    folder = plan.out / folder_name(plan, config)
    with RunWriter(folder) as writer:
        done = writer.recover()
        state = _State(plan, writer, _first_info(plan, table, config, folder), len(chosen), done)
        owed = chosen - done
        samples = state.samples(table, chosen, owed)
        # Said before anything is spent, so that a dead run explains itself.
        state.write("running")
        try:
            if owed:
                _drive(plan, samples, store, state)
        except BaseException:
            # What stopped the run is the news, e.g. a full disk, which stops this as well.
            with suppress(StorageError):
                state.finish("interrupted")
            raise
        state.finish(state.ending())
    return open_run(folder)


class UnsupportedBenchmark(UsageError):
    """The model lacks what the benchmark needs: skipped with that reason, never scored 0."""


def chosen_ids(plan: Plan, table: Table) -> set[str]:
    """Ids of the samples to be asked. A limit keeps the units (`Sample.unit`) whose hash with the
    seed is smallest: a random subset, the same for every model, and nested (100 is part of 200).
    Units stay whole: at most `limit` samples, but never less than one unit.

    A few rows may have their question in the picture alone: they are asked as they are. Raises
    DataError where a row has neither, or none has a question."""
    units: dict[str, list[str]] = {}
    told, mute = False, None
    for sample in plan.benchmark.samples(table):
        told = told or bool(sample.question)
        if not sample.question:
            mute = sample.id
            if not sample.media:
                raise _nothing_to_ask(mute, table)
        units.setdefault(sample.unit or sample.id, []).append(sample.id)
    if not units:
        raise UsageError(f"{plan.benchmark.name}: no question is left to ask in {table.path}")
    if mute is not None and not told:
        raise _nothing_to_ask(mute, table)

    def lot(unit: str) -> bytes:
        return hashlib.sha256(f"{plan.seed}:{unit}".encode()).digest()

    chosen: set[str] = set()
    for unit in units if plan.limit is None else sorted(units, key=lot):
        if plan.limit is not None and chosen and len(chosen) + len(units[unit]) > plan.limit:
            break
        chosen.update(units[unit])
    return chosen


def _nothing_to_ask(row: str, table: Table) -> DataError:
    return DataError(
        f"{table.path}: the row {row!r} has no question to ask; got the columns "
        f"{', '.join(table.columns)}; name it with --columns question=..."
    )


def config_of(plan: Plan, table: Table) -> RunConfig:
    return RunConfig(
        identity=plan.model.identity,
        roles={role: model.identity for role, model in plan.roles.items()},
        benchmark=plan.benchmark.name,
        version=plan.benchmark.version,
        parameters=dict(plan.benchmark.parameters),
        data=table.digest,
        limit=plan.limit,
        seed=plan.seed if plan.limit is not None or plan.until is not None else 0,
        until=plan.until.text if plan.until is not None else "",
        max_new_tokens=plan.benchmark.max_new_tokens,
    )


def folder_name(plan: Plan, config: RunConfig) -> str:
    """<model>--<benchmark>--<8 hex of the config digest>."""
    digest = hashlib.sha256(msgspec.json.encode(config, order="sorted")).hexdigest()
    model, benchmark = (
        re.sub(r"[^A-Za-z0-9._+-]+", "_", name).strip("_.")[-80:]
        for name in (plan.model_name, plan.benchmark.name)
    )
    return f"{model}--{benchmark}--{digest[:8]}"


class _State:
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
        self._score_sum, self._score_count = 0.0, 0
        plan.progress.started(f"{plan.model_name} on {plan.benchmark.name}", needed, len(done))

    def samples(self, table: Table, chosen: set[str], owed: set[str]) -> Iterator[Sample]:
        """Those that are owed, in the order of the data; or, where a rule may end the run, in its
        random order until it says so."""
        found = self.plan.benchmark.samples(table)
        if self.plan.until is None:
            return (sample for sample in found if sample.id in owed)
        every = [sample for sample in found if sample.id in chosen]
        self.stopper = self.plan.until.stopper(every, self.plan.seed, self.plan.failures)
        for record in self.writer.records():
            self.stopper.finished(record)
        return self.stopper.order(owed)

    def finished(self, record: Record) -> None:
        if self.stopper is not None:
            self.stopper.finished(record)
        if record.unscored in ("failed", "missing"):
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
            # What was spent is known even after a kill.
            self.write("running")

    def ending(self) -> Status:
        if self.asker is not None and self.asker.halt.reason:
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
        summary = summed(self.plan.benchmark, records)
        if self.stopper is not None:
            summary = self.stopper.told(summary)
        self.writer.write_report(Report(self.info, summary))

    def _stopped(self) -> str:
        halted = self.asker.halt.reason if self.asker is not None else ""
        if halted or self.stopper is None:
            return halted
        return self.stopper.waiting or self.stopper.reason

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
        )


def _drive(plan: Plan, samples: Iterator[Sample], store: ResponseStore, state: _State) -> None:
    async def main() -> None:
        models = {MAIN: plan.model, **plan.roles}
        asker = Asker(models, store, plan.terms, plan.prices)
        state.asker = asker
        try:
            await drive_all(
                samples,
                flow_of(plan),
                asker,
                state.finished,
                flows_for(models),
                threaded=plan.benchmark.prepare is not None,
            )
        finally:
            asker.close()
            await disconnect(*models.values())

    remote = isinstance(plan.model, RemoteModel)
    try:
        # A local model spends no time to speak of on collecting, and its tensors are large.
        with rare_collection() if remote else nullcontext():
            asyncio.run(main())
    except KeyboardInterrupt:
        raise Interrupted(state.writer.path) from None


def flow_of(plan: Plan) -> Callable[[Sample], Flow]:
    """The benchmark's flow; a sample that is beyond the model ends without a request."""
    beyond, prepare = plan.benchmark.beyond, plan.benchmark.prepare
    if beyond is None and prepare is None:
        return plan.benchmark.flow

    def flow(sample: Sample) -> Flow:
        reason = beyond(sample, plan.model.capabilities) if beyond else None
        if reason is None:
            shown = prepare(sample) if prepare else sample
            return (yield from plan.benchmark.flow(shown))
        return Record(
            id=sample.id,
            kind=sample.kind,
            question=sample.question,
            outcome="unsupported",
            unscored="unsupported",
            gold=sample.gold,
            options=dict(sample.options),
            groups=dict(sample.groups),
            media=tuple(ref.digest for ref in sample.media),
            passes=(Pass((), Failure("unsupported", reason)),),
            failure="unsupported",
        )

    return flow


def _first_info(plan: Plan, table: Table, config: RunConfig, folder: Path) -> RunInfo:
    earlier = _earlier(folder)
    return RunInfo(
        name=folder.name,
        model=plan.model_name,
        benchmark=plan.benchmark.name,
        title=plan.benchmark.title,
        config=config,
        data=DataInfo(str(table.path), table.digest, len(table)),
        status="running",
        created=earlier.created if earlier else _now(),
        counts=earlier.counts if earlier else Counts(),
        spent=earlier.spent if earlier else {},
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


__all__ = ["Interrupted", "Plan", "UnsupportedBenchmark", "run"]
