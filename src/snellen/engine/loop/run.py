"""One run: a model on a benchmark, into a folder that the same command finds again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.benchmarks.protocol.repeats import summary_of, with_never_asked
from snellen.core.benchmark import DataTable
from snellen.core.errors import RunLocked, StorageError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.infrequent_gc import infrequent_gc
from snellen.core.model import EnvironmentModel, RemoteModel, SelfReportingModel, abilities
from snellen.core.output import Failure, Output
from snellen.core.record import Record
from snellen.core.request import LazyTuple, Request
from snellen.core.run import Counts, DataInfo, Report, ReusedReplies, RoleUsage, RunConfig, RunInfo, Status
from snellen.core.sample import Sample, origin_of
from snellen.core.served_identity import ServedIdentity, append_served
from snellen.data.media.sources import BrokenSource
from snellen.engine.anytime.early_stop import StopMonitor
from snellen.engine.forecast.probe_samples import MIN_PROBE
from snellen.engine.limits.spending import UsageCounter, add_killed_start
from snellen.engine.limits.truncation import TruncationMonitor
from snellen.engine.loop.concurrent_runs import ConcurrentRuns
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.environment import hardware, peak_memory, reset_peak_memory, versions
from snellen.engine.loop.extension import extension_remark
from snellen.engine.loop.plan import (
    RunPlan,
    build_flow,
    build_once,
    first_image_remark,
    images_reason,
    run_config,
    select_samples,
    takes_one_image,
)
from snellen.engine.loop.probe import Probe, open_probe
from snellen.engine.loop.request_broker import MAIN, RequestBroker, concurrent_flows
from snellen.store.responses import ASKED_FILE, ResponseStore
from snellen.store.runs import ResumeRecord, RunFolder, RunWriter, open_run, recover_spent, run_folder_name


class RunInterrupted(KeyboardInterrupt):
    """The user pressed Ctrl-C. Finished samples are kept, and the same call goes on with the rest.

    `run` is the folder of the run; before the first run, the folder of all runs."""

    def __init__(self, run: Path, done: int = 0, total: int = 0, left: str = "") -> None:
        """`left` says what waits at providers."""
        kept = f"{done:,} of {total:,} samples are" if total else "what was finished is"
        goes_on = f"goes on there{f', and takes what is left: {left}' if left else ''}"
        super().__init__(f"stopped; {kept} kept in {run}; the same call, with the same arguments, {goes_on}")
        self.run, self.left = run, left


class UnsupportedBenchmark(UsageError):
    """The model cannot take the benchmark. It is skipped with the reason, never scored 0."""


def run(plan: RunPlan, store: ResponseStore) -> RunFolder:
    """Ask the pending samples, write the run folder, and open it for reading.

    A complete run is only summarised again. A run that its request limits aborted is kept as
    interrupted, with the reason. Raises UsageError subclasses, and RunInterrupted on Ctrl-C.
    """
    _check_takes(plan, plan.benchmark.requires(plan.capabilities))
    table = plan.benchmark.open()
    plan, selected = select_samples(build_once(plan, table), table)
    _check_takes(plan, images_reason(plan, table, selected))
    config = run_config(plan, table)
    folder = plan.out / run_folder_name(plan.model_name, plan.benchmark.name, config)
    with RunWriter(folder) as writer:
        done, repairs = resume(plan, table, writer, selected)
        info = initial_info(plan, table, config, writer, repairs, store)
        state = RunState(plan, writer, info, len(selected), done)
        pending = selected - done
        samples = state.samples(table, selected, pending)
        was_complete = not pending
        # They take as much memory as records, which are all read at the end.
        del selected, pending, done
        # Written before anything is spent, so that the folder of a killed run explains itself.
        state.write_info("running")
        try:
            if not was_complete:
                store.set_run_folder(folder, with_list=state.lists_replies)
                state.print_forecast()
                _drive(plan, samples, store, state)
                state.print_forecast(has_paused=state.is_waiting)
        except BaseException:
            # Report what stopped the run, not that the same cause (a full disk, say) also keeps
            # the folder from being finished.
            with suppress(StorageError, RunLocked):
                state.finish("interrupted")
            raise
        state.finish(state.final_status())
    result = open_run(folder)
    result.was_complete = was_complete
    address = abilities(plan.model).address
    if was_complete and result.info.address and address != result.info.address:
        result.unasked_address = address
    return result


def _check_takes(plan: RunPlan, missing: str | None) -> None:
    if missing:
        raise UnsupportedBenchmark(f"{plan.model_name} on {plan.benchmark.name}: {missing}")


def _drive(plan: RunPlan, samples: Iterator[Sample], store: ResponseStore, state: RunState) -> None:
    """Drive the flows of the pending samples in an event loop of their own."""

    async def main() -> None:
        """Drive the flows of all pending samples; the broker counts requests, spending and reused
        replies."""
        models = {MAIN: plan.model, **plan.roles}
        for model in models.values():
            if isinstance(model, SelfReportingModel):
                model.reset_served()
        broker = RequestBroker(models, store, plan.limits, plan.prices, plan.fresh)
        state.broker = broker
        broker.on_sent = state.on_sent
        broker.on_spent = state.record_spending
        concurrent_runs = broker.concurrent_runs = ConcurrentRuns(store)
        broker.on_reused = partial(state.note_reused, store)
        if broker.waves is not None and plan.warned is not None:
            broker.waves.on_notice = plan.warned
        try:
            await concurrent_runs.start(broker.in_flight)
            await drive_all(
                samples,
                build_flow(plan),
                broker,
                state.add_record,
                min(state.total, concurrent_flows(models, may_stop=plan.stop_rule is not None)),
                threaded=plan.benchmark.prepare is not None,
            )
        finally:
            await broker.stop()
            await concurrent_runs.stop()

    remote = isinstance(plan.model, RemoteModel)
    try:
        # Only for servers: hundreds of requests in flight make collections expensive. A local
        # model's tensors are large, so its garbage must not wait.
        with infrequent_gc() if remote else nullcontext():
            run_coroutine(main())
    except KeyboardInterrupt:
        waves = state.broker.waves if state.broker is not None else None
        left = waves.left if waves is not None else ""
        raise RunInterrupted(state.writer.path, state.done, state.total, left) from None


class ResumeState(NamedTuple):
    """Ids of the samples that are done, and sentences about lines that were left out."""

    done: set[str]
    repairs: tuple[str, ...]


def resume(plan: RunPlan, table: DataTable, writer: RunWriter, selected: set[str]) -> ResumeState:
    """Find the finished samples of an earlier start, and take all other lines out of the folder.

    One line per sample counts: the first, if the run asks that sample and the data still have the
    images it was asked about.
    """
    lines = writer.recover()
    if not lines:
        return ResumeState(set(), ())
    first: dict[str, int] = {}
    """The index of the line that counts, by sample id."""
    duplicate: set[int] = set()
    foreign: set[int] = set()
    for position, line in enumerate(lines):
        if line.id not in selected:
            foreign.add(position)
        elif first.setdefault(line.id, position) != position:
            duplicate.add(position)
    changed = {first.pop(name) for name in _changed_ids(plan, table, lines, first)}
    excluded = duplicate | foreign | changed
    if excluded:
        writer.exclude_lines(excluded)
    return ResumeState(set(first), tuple(_repair_notices(len(duplicate), len(foreign), len(changed))))


def _changed_ids(plan: RunPlan, table: DataTable, lines: list[ResumeRecord], first: dict[str, int]) -> list[str]:
    """Ids of finished samples whose images in the data have changed since.

    If the benchmark prepares images before they are shown, lines of older versions do not record
    the original images; they are kept.
    """
    compared = [lines[index] for index in first.values()]
    if plan.benchmark.prepare is not None:
        compared = [line for line in compared if line.data_media is not None]
    names = {line.id for line in compared if line.media or line.data_media}
    if not names:
        return []
    samples = plan.benchmark.samples(table)
    return [
        sample.id for sample in samples if sample.id in names and _has_other_images(sample, lines[first[sample.id]])
    ]


def _has_other_images(sample: Sample, line: ResumeRecord) -> bool:
    """Whether a line is about other images than the sample's. A line also names images that are
    options or that a model drew."""
    if isinstance(sample.media, LazyTuple) and not sample.media.is_built:
        # Making them all would keep the first request waiting, and the digest of the data is the run's.
        return False
    if any(isinstance(ref.source, BrokenSource) for ref in sample.media):
        # The images are gone: asking again could not be about any others.
        return False
    if line.data_media is not None:
        return set(line.data_media) != {ref.digest for ref in sample.media}
    digests, recorded = [ref.digest for ref in sample.media], set(line.media)
    if len(line.media) == len(digests):
        return recorded != set(digests)
    digests += [ref.digest for ref in sample.option_images.values()]
    # A line with fewer images was asked in another form (stitched, blind): nothing to compare.
    return len(line.media) > len(sample.media) and not recorded.issuperset(digests)


def _repair_notices(duplicate: int, foreign: int, changed: int) -> Iterator[str]:
    if duplicate:
        yield f"{_count_rows(duplicate)} of samples.jsonl left out: another row has the same id"
    if foreign:
        yield f"{_count_rows(foreign)} of samples.jsonl left out: no sample of this run has the id"
    if changed:
        yield f"{_count_rows(changed)} of samples.jsonl left out: the images have changed"


def _count_rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"


_WRITE_INTERVAL = 5.0
"""Seconds between two updates of run.json while samples are asked."""
_SPENT_INTERVAL = 0.1
"""Seconds between two lines of spent.jsonl while no request fails."""


class RunState:
    """Counts of a run while it goes on, and what its folder and its progress display show of them.

    Counts cover all starts of the run; what was spent before this start comes from `run.json`.
    """

    def __init__(self, plan: RunPlan, writer: RunWriter, info: RunInfo, total: int, done: set[str]) -> None:
        """`total` counts the samples of the run, `done` are the ids of those that earlier starts
        finished."""
        self.plan, self.writer, self.info = plan, writer, info
        self.total, self.done, self.failed = total, len(done), 0
        self.broker: RequestBroker | None = None
        self.stop_monitor: StopMonitor | None = None
        self.start_time = time.monotonic()
        reset_peak_memory()
        self._extra_remarks: tuple[str, ...] = ()
        self._probe: Probe | None = None
        self._truncation_monitor = _truncation_monitor(plan, info)
        self._saved = 0
        self._shown_sent = 0
        self._written_at = self._spent_at = 0.0
        self._earlier_spent = info.spent
        self.lists_replies = (writer.path / ASKED_FILE).exists() or not any(
            usage.answered for usage in info.spent.values()
        )
        """Whether the folder's list holds, or will hold, every reply that its `spent` counts."""
        self._repairs = info.repairs
        self._earlier_served = info.served
        self._reused = info.reused
        self._addresses: dict[str, str] = {}
        self._score_sum, self._score_count = 0.0, 0
        # Questions that fail a rotation, or have few, end early: the running mean is biased.
        self._ends_wrong_first = "circular" in plan.benchmark.parameters
        self._positions: dict[str, int] = {}
        plan.progress.on_start(f"{plan.model_name} on {plan.benchmark.name}", total, len(done))

    def samples(self, table: DataTable, selected: set[str], pending: set[str]) -> Iterator[Sample]:
        """Iterate over the pending samples: in the order of the data, or of those that begin
        alike (`_group_alike`); or, with a stop rule, in its random order until the rule is met."""
        plan, rule = self.plan, self.plan.stop_rule
        samples = self._with_positions(plan.benchmark.samples(table), pending if rule is None else selected)
        if rule is None:
            if plan.on_forecast is not None and len(pending) >= MIN_PROBE:
                self._probe = open_probe(plan, plan.benchmark.samples(table), pending, self._earlier_records())
                if self._probe is not None:
                    again = partial(plan.benchmark.samples, table)
                    return self._probe.first(lambda: self._group_alike(self._with_positions(again(), pending)))
            return self._group_alike(samples)
        selected_samples = list(samples)
        self.stop_monitor = rule.start_monitor(selected_samples, plan.seed, plan.failures, plan.benchmark)
        # What earlier starts finished may be enough already.
        for record in self.writer.records():
            self.stop_monitor.add_record(record)
        order = self.stop_monitor.order(pending)
        if plan.on_forecast is None or self.stop_monitor.reason:
            return order
        earlier = self._earlier_records()
        self._probe = open_probe(plan, selected_samples, pending, earlier, self.stop_monitor)
        # The order of the rule must not change: its first samples are the probe.
        return order if self._probe is None else self._probe.in_order(order)

    def _group_alike(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        """The samples; where cached tokens cost less, those that begin alike next to each other."""
        model, price = self.plan.model, self.plan.prices.get(MAIN)
        if price is None or price.cached is None:
            return samples
        from snellen.engine.limits.shared_prefix import cache_of, group_samples

        return group_samples(samples, abilities(model).concurrency) if cache_of(model, price) else samples

    def _earlier_records(self) -> Iterator[Record]:
        """Complete records of the samples that earlier starts finished."""
        return RunFolder(self.writer.path).records() if self.done else iter(())

    def _with_positions(self, samples: Iterator[Sample], kept: set[str]) -> Iterator[Sample]:
        """The samples whose ids are `kept`. Notes the position of each in the data: samples end in
        another order."""
        for position, sample in enumerate(samples):
            if sample.id in kept:
                self._positions[sample.id] = position
                yield sample

    def add_record(self, record: Record) -> None:
        """Write the record of a finished sample, and update counts and display."""
        record = msgspec.structs.replace(record, position=self._positions.pop(record.id, None))
        if self.stop_monitor is not None:
            self.stop_monitor.add_record(record)
        if self._truncation_monitor is not None:
            self._truncation_monitor.add_record(record)
        if record.is_retryable:
            self.failed += 1
            self.writer.append_failure(record)
        else:
            self.done += 1
            self.writer.append(record)
        self._saved += record.saved
        if record.score is not None:
            self._score_sum += record.score
            self._score_count += 1
        self._show_progress(self._usage())
        if time.monotonic() - self._written_at > _WRITE_INTERVAL:
            self.write_info("running")

        if self._probe is not None:
            self._probe.add_end(record)
            self.print_forecast()

    def _show_progress(self, usage: UsageCounter) -> None:
        score = self._score_sum / self._score_count if self._score_count else None
        if self._ends_wrong_first and self._score_count < self.total:
            score = None
        self._shown_sent = usage.sent
        self.plan.progress.on_advance(self.done, self.failed, usage.sent, usage.reused, self._saved, score)

    @property
    def on_sent(self) -> Callable[[Request, Output], object] | None:
        """Counts what the samples of the probe take; None without a probe."""
        return None if self._probe is None else self._probe.ledger.add_output

    def print_forecast(self, *, has_paused: bool = False) -> None:
        """Call `on_forecast` once the samples of the probe have ended, or if the run has paused for
        another one before."""
        if self._probe is None or self.plan.on_forecast is None:
            return
        if self._probe.ledger.is_complete or has_paused:
            expected, self._probe = self._probe.forecast(), None
            if self.broker is not None:
                self.broker.on_sent = None
            if expected is not None:
                self.plan.on_forecast(expected)

    def record_spending(self, output: Output) -> None:
        """Write what was spent so far: after a failure, and with replies every `_SPENT_INTERVAL`.
        What a killed start spent on later replies is counted from the store (`add_killed_start`),
        which has no failures."""
        now = time.monotonic()
        if now - self._spent_at > _SPENT_INTERVAL or isinstance(output, Failure):
            self.writer.record_spending(self._total_spent())
            self._spent_at = now

    def note_reused(self, store: ResponseStore, digest: bytes) -> None:
        """Count a reply from the store, unless this very run had stored it."""
        stored = store.reply_origin(digest)
        if stored is not None and stored.run != str(self.writer.path.absolute()):
            address = self._other_address(stored.run)
            self._reused = self._reused.with_reply(stored.stored_at, stored.run, address)

    def _other_address(self, folder: str | None) -> str:
        """The server that a run asked, if it is not this run's; empty if unknown."""
        own = abilities(self.plan.model).address
        if not own or folder is None:
            return ""
        if folder not in self._addresses:
            earlier = _earlier_info(Path(folder))
            self._addresses[folder] = earlier.address if earlier is not None else ""
        return self._addresses[folder] if self._addresses[folder] != own else ""

    @property
    def is_waiting(self) -> bool:
        """Whether the run has paused until another one has come as far."""
        return self.stop_monitor is not None and bool(self.stop_monitor.waits_for)

    def final_status(self) -> Status:
        """The status at the end of the loop. A stop rule that was met makes a run complete."""
        if self._abort_reason():
            return "interrupted"
        if self.is_waiting:
            return "interrupted"
        if self.stop_monitor is not None and self.stop_monitor.reason:
            self.total = self.done + self.failed
        return "incomplete" if self.failed else "complete"

    def write_info(self, status: Status) -> None:
        """Write `run.json` with the counts so far, and with what the models remark: the measured one,
        and those that the benchmark brings."""
        plan, stopped = self.plan, self._abort_reason()
        if not stopped and self.stop_monitor is not None:
            stopped = self.stop_monitor.waits_for or self.stop_monitor.reason
        models = [plan.model, *(plan.roles[role] for role in plan.benchmark.own_roles if role in plan.roles)]
        remarks = [remark for model in models for remark in abilities(model).remarks]
        self.info = msgspec.structs.replace(
            self.info,
            status=status,
            counts=self._counts(),
            spent=self._total_spent(),
            stopped=stopped,
            repairs=self._repairs + self._unreadable_notices(),
            reused=self._reused,
            address=abilities(plan.model).address if self._usage().sent else self.info.address,
            served=self._served_models(),
            remarks=(*remarks, *self._extra_remarks),
            finished=None if status == "running" else _now(),
        )
        self.writer.write_info(self.info)
        self._written_at = time.monotonic()

    def finish(self, status: Status) -> None:
        """Write `run.json` and the report of all records so far, also after an interruption."""
        if (usage := self._usage()).sent > self._shown_sent:
            # Requests of samples that have not ended, such as those of a batch that waits.
            self._show_progress(usage)
        self.plan.progress.on_finish(status)
        records = self.writer.records()
        self._saved = sum([record.saved for record in records])
        self._extra_remarks = tuple(_remarks_on(self.plan, records, RunFolder(self.writer.path)))
        self.write_info(status)
        if status == "complete":
            # All that was spent is in run.json now.
            (self.writer.path / ASKED_FILE).unlink(missing_ok=True)
        summary = summary_of(self.plan.benchmark, records, self.info.config.examples)
        if self.stop_monitor is not None:
            summary = self.stop_monitor.annotate(summary)
        if self.plan.shard is not None:
            notices = (self.plan.shard.notice(self.total), *summary.notices)
            summary = msgspec.structs.replace(summary, notices=notices)
        if status == "interrupted":
            summary = with_never_asked(self.plan.benchmark, summary, self.total)
        self.writer.write_report(Report(self.info, summary))

    def _abort_reason(self) -> str:
        """Why the run was aborted; "" if not, or if every sample is done (the last reply may have
        spent the budget)."""
        if self.broker is None or self.done >= self.total:
            return ""
        return self.broker.abort_signal.reason

    def _unreadable_notices(self) -> tuple[str, ...]:
        count = self.broker.unreadable if self.broker is not None else 0
        if not count:
            return ()
        replies = "1 stored reply" if count == 1 else f"{count} stored replies"
        return (f"{replies} could not be read, and asked for again",)

    def _usage(self) -> UsageCounter:
        return self.broker.clients[MAIN].usage if self.broker else UsageCounter()

    def _total_spent(self) -> dict[str, RoleUsage]:
        clients = self.broker.clients if self.broker is not None else {}
        now = {
            role: client.usage.add_to(self._earlier_spent.get(role), client.price)
            for role, client in clients.items()
            if client.usage.sent or client.usage.reused or role in self._earlier_spent
        }
        return {**self._earlier_spent, **now}

    def _served_models(self) -> dict[str, tuple[ServedIdentity, ...]]:
        served = dict(self._earlier_served)
        for role, model in {MAIN: self.plan.model, **self.plan.roles}.items():
            if isinstance(model, SelfReportingModel) and self.broker is not None:
                report = model.served_identity()
                starts = append_served(served.get(role, ()), report)
                served |= {role: starts} if starts else {}
                if report.lock and isinstance(model, EnvironmentModel):
                    self.writer.write_environment(report.lock, model.environment_files())
        return served

    def _counts(self) -> Counts:
        """Counts for `run.json`; those of requests, time and memory are of the latest start."""
        if self.broker is None:
            return msgspec.structs.replace(self.info.counts, samples=self.total, done=self.done, failed=self.failed)
        usage, memory = self._usage(), peak_memory()
        return Counts(
            samples=self.total,
            done=self.done,
            failed=self.failed,
            sent=usage.sent,
            reused=usage.reused,
            saved=self._saved,
            seconds=time.monotonic() - self.start_time,
            prompt_tokens=usage.sent_usage.prompt_tokens,
            completion_tokens=usage.sent_usage.completion_tokens,
            process_memory=memory.process,
            device_memory=memory.device,
            largest_batch=abilities(self.plan.model).largest_batch,
        )


def _truncation_monitor(plan: RunPlan, info: RunInfo) -> TruncationMonitor | None:
    """A monitor of cut replies; None if nobody is told, and for recorded replies."""
    if plan.warned is None or abilities(plan.model).by_row:
        return None
    name = f"{plan.model_name} on {plan.benchmark.name}"
    return TruncationMonitor(name, info.config.longest_reply, plan.warned)


def _remarks_on(plan: RunPlan, records: Sequence[Record], folder: RunFolder) -> Iterator[str]:
    """What readers should know about how these records came about."""
    if takes_one_image(plan.model) and (remark := first_image_remark(records)):
        yield remark
    if plan.extend_truncated is not None:
        # From the file: the records at hand have no replies.
        yield extension_remark(folder.records(), plan.extend_truncated)


def initial_info(
    plan: RunPlan,
    table: DataTable,
    config: RunConfig,
    writer: RunWriter,
    repairs: tuple[str, ...],
    store: ResponseStore,
) -> RunInfo:
    """The run's `run.json` at its start, with what earlier starts did and spent."""
    folder = writer.path
    earlier = _earlier_info(folder)
    spent = recover_spent(writer.path, earlier.spent if earlier else {})
    if earlier is not None:
        identities = {MAIN: config.identity, **config.roles}
        spent = add_killed_start(spent, earlier, folder, identities, plan.prices, store)
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
        reused=earlier.reused if earlier else ReusedReplies(),
        served=earlier.served if earlier else {},
        address=earlier.address if earlier else "",
        spent=spent,
        repairs=(*(earlier.repairs if earlier else ()), *repairs),
        failures=plan.failures,
        command=plan.command,
        versions=versions(),
        hardware=hardware(),
        paper=plan.benchmark.paper,
        source=plan.benchmark.provenance,
        headline=plan.benchmark.headline,
        capabilities=plan.capabilities,
        shard=plan.shard,
        merged=earlier.merged if earlier else {},
    )


def _earlier_info(folder: Path) -> RunInfo | None:
    try:
        return open_run(folder).info
    except UsageError:
        return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
