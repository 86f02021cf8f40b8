"""`merge_shards`: join the shards of runs into the folders that one machine would have written.

A shard is read and never changed. Merging again, after another shard has come or one has gone on,
takes in what is new: samples count by their id, and what a shard has spent by its number.
"""

from __future__ import annotations

import shlex
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct, structs

from snellen.analysis.comparison.reopened_data import benchmark_of
from snellen.api.report_page import write_report_page
from snellen.benchmarks.protocol.repeats import summary_of, with_never_asked
from snellen.core.atomic_write import atomic_file
from snellen.core.errors import DataError, UsageError, storage_errors
from snellen.core.grouping import group_by
from snellen.core.run import Counts, MergedShard, Report, ReusedReplies, RunInfo, Status
from snellen.core.served_identity import ServedIdentity, append_served
from snellen.core.shard import RunShard, find_shard_folders
from snellen.data.in_memory import KEPT_FOLDER
from snellen.engine.limits.spending import add_usage
from snellen.report.page.html import PAGE_FILE
from snellen.report.page.thumbnails import MEDIA_FOLDER
from snellen.store.annotations import ANNOTATIONS_FILE
from snellen.store.merging import merge_stores
from snellen.store.responses import STORE_FILE
from snellen.store.runs import (
    ENVIRONMENT_FOLDER,
    FAILURES_FILE,
    LEFT_OUT_FILE,
    REPORT_FILE,
    RUN_FILE,
    RUN_FILES,
    SAMPLES_FILE,
    RunFolder,
    RunWriter,
    complete_lines,
    open_run,
)


class _SampleLine(Struct, frozen=True, gc=False):
    """What merging reads of a line of samples.jsonl."""

    id: str
    position: int | None = None
    saved: int = 0


_decoder = msgspec.json.Decoder(_SampleLine)


class MergedRun(NamedTuple):
    """A run that was merged, and why its numbers or pictures are missing, if they are."""

    run: RunFolder
    problems: tuple[str, ...]


class MergedShards(NamedTuple):
    """Runs in the order of their names, and how many replies were new to the store."""

    runs: tuple[MergedRun, ...]
    replies: int


def merge_shards(folders: Iterable[Path | str], out: Path | str) -> MergedShards:
    """Join the shards in `folders` (folders of shards, or of results that hold some) into `out`.

    Of each run the samples stand in the order of the data, as one machine writes them that asks one
    question after the other, and the numbers are computed anew. The replies go to the store of
    `out`, so that the same command without `--shard` asks what is still missing, and nothing else.
    Raises UsageError if there is no shard, or shards of one run do not fit together.
    """
    out = Path(out)
    shards = _find_shards([Path(folder) for folder in folders])
    groups = _group_by_run(shards)
    stores = [store for shard in shards if (store := shard / STORE_FILE).is_file()]
    with storage_errors("write to", out):
        out.mkdir(parents=True, exist_ok=True)
        for shard in shards:
            _copy_folder(shard / KEPT_FOLDER, out / KEPT_FOLDER)
    replies = merge_stores(stores, out / STORE_FILE) if stores else 0
    return MergedShards(tuple(_merge_run(runs, out / name) for name, runs in groups.items()), replies)


def _find_shards(folders: Sequence[Path]) -> list[Path]:
    """The folders of shards, in order, each once. Raises UsageError if there is none."""
    found: dict[Path, Path] = {}
    for folder in folders:
        if not folder.is_dir():
            raise UsageError(f"{folder}: there is no such folder; name the --out of `snellen run --shard K/N`")
        inner = [folder] if RunShard.of_folder(folder) else find_shard_folders(folder)
        if not inner:
            raise UsageError(
                f"{folder} holds no shard: expected folders such as {RunShard(1, 8).folder}, which "
                "`snellen run --shard 1/8` writes inside of its --out"
            )
        found |= {path.resolve(): path for path in inner}
    return list(found.values())


def _group_by_run(shards: Sequence[Path]) -> dict[str, list[RunFolder]]:
    """The shards of each run, by the name of its folder. Raises UsageError."""
    found = (open_run(file.parent) for shard in shards for file in sorted(shard.glob(RUN_FILES)))
    groups = group_by(found, lambda run: run.path.name)
    if not groups:
        raise UsageError(f"no shard in {', '.join(map(str, shards))} holds a run yet")
    for runs in groups.values():
        _check_group(runs)
    return dict(sorted(groups.items()))


def _check_group(runs: Sequence[RunFolder]) -> None:
    """Raises UsageError for what is no shard, and shards that do not fit together."""
    first: dict[RunShard, RunFolder] = {}
    for run in runs:
        if run.info.shard is None:
            raise UsageError(f"{run.path} is a whole run and no shard; move it out of {run.path.parent}")
        other = first.setdefault(run.info.shard, run)
        if other is not run:
            raise UsageError(f"shard {run.info.shard.text} is there twice, {other.path} and {run.path}: name one")
    counts = {(shard.count, shard.samples) for shard in first}
    if len(counts) > 1:
        described = ", ".join(f"{shard.text} of {shard.samples:,} samples" for shard in first)
        problem = f"the shards of {runs[0].name} are parts of different divisions: {described}"
        raise UsageError(f"{problem}; move those of one division away, or name those of the other")
    if len({msgspec.json.encode(run.info.config) for run in runs}) > 1:
        raise DataError(f"the shards of {runs[0].name} have different settings in their {RUN_FILE}")


def _merge_run(shards: Sequence[RunFolder], target: Path) -> MergedRun:
    with RunWriter(target) as writer:
        earlier = open_run(target) if (target / RUN_FILE).is_file() else None
        sources = [*([earlier] if earlier else []), *shards]
        done, failed, saved = _merge_samples(sources, target)
        for name in (LEFT_OUT_FILE, ANNOTATIONS_FILE):
            _merge_lines([run.path / name for run in sources], target / name)
        for name in (MEDIA_FOLDER, ENVIRONMENT_FOLDER):
            for run in shards:
                _copy_folder(run.path / name, target / name)
        info = _merge_info([run.info for run in shards], earlier.info if earlier else None, target.parent, done, failed)
        info = structs.replace(info, counts=structs.replace(info.counts, saved=saved))
        writer.write_info(info)
        problems = _write_report(writer, info)
    merged = open_run(target)
    if not problems:
        _, problem = write_report_page([merged], [merged.report()], None, ())
        problems = (f"the page shows no pictures: {problem}",) if problem else ()
    return MergedRun(merged, problems)


def _write_report(writer: RunWriter, info: RunInfo) -> tuple[str, ...]:
    """Write the numbers; returns why there are none, if the benchmark cannot be opened here."""
    try:
        benchmark = benchmark_of(RunFolder(writer.path))
        if (benchmark.name, benchmark.version) != (info.benchmark, info.config.version):
            raise UsageError(
                f"{info.benchmark} {info.config.version} is not at hand; the same command without --shard computes them"
            )
    except UsageError as error:
        folder = RunFolder(writer.path)
        if folder.has_report and folder.report().run.counts.done != info.counts.done:
            for name in (REPORT_FILE, PAGE_FILE):
                (writer.path / name).unlink(missing_ok=True)
        return (f"{info.name} has its samples and no numbers: {error}",)
    summary = summary_of(benchmark, writer.records(), info.config.examples)
    if info.status == "interrupted":
        summary = with_never_asked(benchmark, summary, info.counts.samples)
    writer.write_report(Report(info, summary))
    return ()


def _merge_samples(sources: Sequence[RunFolder], target: Path) -> tuple[int, int, int]:
    """Write samples.jsonl and failures.jsonl, each sample once and in the order of the data;
    returns how many samples are done, how many failed, and how many requests the done ones saved."""
    done = _first_lines([run.path / SAMPLES_FILE for run in sources], set())
    failed = _first_lines([run.path / FAILURES_FILE for run in sources], set(done))
    for name, lines in ((SAMPLES_FILE, done), (FAILURES_FILE, failed)):
        if lines or (target / name).exists():
            _write_lines(target / name, sorted(lines.values(), key=lambda place: place.order))
    return len(done), len(failed), sum(place.saved for place in done.values())


class _Place(NamedTuple):
    """Where a line is: its bytes are copied as they are, and never all in memory."""

    order: int
    file: Path
    offset: int
    length: int
    saved: int


def _first_lines(files: Iterable[Path], excluded: set[str]) -> dict[str, _Place]:
    """The first line of each sample that is not `excluded`. Raises DataError."""
    found: dict[str, _Place] = {}
    for file in files:
        if not file.exists():
            continue
        offset = 0
        for number, line in enumerate(complete_lines(file), 1):
            try:
                head = _decoder.decode(line)
            except msgspec.DecodeError as error:
                raise DataError(f"line {number} of {file} is no sample record ({error}); mend or remove it") from error
            order = len(found) if head.position is None else head.position
            if head.id not in excluded:
                found.setdefault(head.id, _Place(order, file, offset, len(line), head.saved))
            offset += len(line)
    return found


def _write_lines(target: Path, places: Sequence[_Place]) -> None:
    """Write lines of several files in this order."""
    with storage_errors("write", target), atomic_file(target) as part:
        files = {file: file.open("rb") for file in {place.file for place in places}}
        try:
            with part.open("wb") as written:
                for place in places:
                    file = files[place.file]
                    file.seek(place.offset)
                    written.write(file.read(place.length))
        finally:
            for file in files.values():
                file.close()


def _merge_lines(files: Iterable[Path], target: Path) -> None:
    """Write the distinct lines of files that are kept line by line, if there are any."""
    lines = dict.fromkeys(line for file in files if file.exists() for line in complete_lines(file))
    if lines:
        with storage_errors("write", target), atomic_file(target) as part:
            part.write_bytes(b"".join(lines))


def _copy_folder(source: Path, target: Path) -> None:
    if source.is_dir():
        with storage_errors("write to", target):
            shutil.copytree(source, target, dirs_exist_ok=True)


def _merge_info(shards: Sequence[RunInfo], earlier: RunInfo | None, out: Path, done: int, failed: int) -> RunInfo:
    """`run.json` of the whole run: what its shards, and starts without shards, did and spent."""
    first, all_infos = shards[0], [*([earlier] if earlier else []), *shards]
    parts = [info.shard for info in shards if info.shard is not None]
    before = earlier.merged if earlier else {}
    merged = before | {
        part.text: MergedShard(spent=info.spent, reused=info.reused, served=info.served)
        for part, info in zip(parts, shards, strict=True)
    }
    own = reduce(lambda left, one: add_usage(left, one.spent, -1), before.values(), earlier.spent if earlier else {})
    total = parts[0].samples
    missing = [f"{index}/{parts[0].count}" for index in range(1, parts[0].count + 1)]
    missing = [text for text in missing if text not in merged]
    stopped = f"not merged yet: shard {', '.join(missing)}" if missing else ""
    if not stopped and done + failed < total:
        stopped = "; ".join(dict.fromkeys(info.stopped for info in shards if info.stopped)) or "shards are not finished"
    ended: Status = "incomplete" if failed else "complete"
    return structs.replace(
        first,
        status=ended if done + failed >= total else "interrupted",
        stopped=stopped if done + failed < total else "",
        created=min(info.created for info in all_infos),
        finished=max((info.finished or "" for info in all_infos), default="") or None,
        counts=_merge_counts([info.counts for info in shards], total, done, failed),
        command=_whole_command(first.command, out),
        spent=reduce(add_usage, (one.spent for one in merged.values()), own),
        merged=merged,
        shard=None,
        reused=_merge_reuse(earlier, merged),
        served=_merge_served(earlier, merged),
        repairs=_distinct(info.repairs for info in all_infos),
        remarks=(*_distinct(info.remarks for info in all_infos), *_different_versions(shards)),
    )


def _merge_counts(counts: Sequence[Counts], total: int, done: int, failed: int) -> Counts:
    """Sums; of memory and batches the largest of a shard, of time the longest."""
    sums = ("sent", "reused", "prompt_tokens", "completion_tokens")
    largest = ("seconds", "process_memory", "device_memory", "largest_batch")
    joined = {name: sum(getattr(one, name) for one in counts) for name in sums}
    joined |= {name: max(getattr(one, name) for one in counts) for name in largest}
    return Counts(samples=total, done=done, failed=failed, **joined)


def _merge_reuse(earlier: RunInfo | None, merged: Mapping[str, MergedShard]) -> ReusedReplies:
    """Replies that shards found in a store, and starts without shards."""
    found = [(one.reused, 1) for one in merged.values()]
    if earlier:
        # What it counts includes the shards that it was merged from.
        found = [(earlier.reused, 1), *((one.reused, -1) for one in earlier.merged.values()), *found]
    runs: Counter[str] = Counter()
    for one, sign in found:
        runs.update({name: sign * count for name, count in one.runs.items()})
    return ReusedReplies(
        replies=sum(sign * one.replies for one, sign in found),
        first=min((one.first for one, _ in found if one.first), default=""),
        last=max((one.last for one, _ in found), default=""),
        runs={name: count for name, count in runs.items() if count > 0},
        addresses=_distinct(one.addresses for one, _ in found),
    )


def _merge_served(earlier: RunInfo | None, merged: Mapping[str, MergedShard]) -> dict[str, tuple[ServedIdentity, ...]]:
    """What servers reported, by role: an entry more where the machines were not served alike."""
    served = dict(earlier.served) if earlier else {}
    for text, shard in merged.items():
        known = earlier.merged.get(text, MergedShard()) if earlier else MergedShard()
        for role, starts in shard.served.items():
            before = known.served.get(role, ())
            grown = (now.beyond(then) for now, then in zip(starts, before, strict=False))
            new = (*(one for one in grown if one), *starts[len(before) :])
            served[role] = reduce(append_served, new, served.get(role, ()))
    return served


def _different_versions(shards: Sequence[RunInfo]) -> Iterator[str]:
    """A remark for each library, and the hardware, in which the machines differ."""
    for facts in ("versions", "hardware"):
        seen = [getattr(info, facts) for info in shards]
        for name in dict.fromkeys(name for one in seen for name in one):
            values = list(dict.fromkeys(one.get(name, "absent") for one in seen))
            if len(values) > 1:
                yield f"shards ran on different {facts}: {name} {' and '.join(map(str, values))}"


def _distinct(values: Iterable[Iterable[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for group in values for value in group))


def _whole_command(command: str, out: Path) -> str:
    """The command of a shard as that which goes on with the whole run in `out`."""
    try:
        words = shlex.split(command)
    except ValueError:
        return command
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and word.partition("=")[0] not in ("--shard", "--out"):
            kept.append(word)
        skip = not skip and word in ("--shard", "--out")
    return shlex.join([*kept, "--out", str(out)]) if kept else command
