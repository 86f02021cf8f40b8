"""A benchmark of another tool, as a value that is run like any other.

`vlmevalkit/MMStar:checkout=DIR,python=PATH` names the task, where the tool's code is, and the Python
of its environment; without the last two the environment is made (`environment`).
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, get_args

from msgspec import structs

from snellen.benchmarks.declaration.peers import PEERS
from snellen.benchmarks.protocol.ask_config import check_allowed
from snellen.benchmarks.protocol.flows import Circular
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.bridge.catalogue import find_listed, read_catalogue
from snellen.bridge.environment import find_checkout, find_python, read_list
from snellen.bridge.flow import BridgedFlow, PutQuestion, find_order, generation_of, media_refs
from snellen.bridge.process import PeerFault, PeerLost, Session, WorkerCommand, WorkerLimits
from snellen.bridge.protocol import NextTurn, Reordering, SampleData, TaskFacts
from snellen.bridge.scorer import SCORER, ScorerModel
from snellen.bridge.summary import Whole
from snellen.core.benchmark import Benchmark, BenchmarkFactory, DataTable, Variant, requires
from snellen.core.errors import DataError, UsageError, storage_errors
from snellen.core.model import Modality
from snellen.core.request import LazyTuple
from snellen.core.sample import MediaRef, Row, Sample
from snellen.core.summary import FailurePolicy
from snellen.settings import Settings, peer_setting

MODULES = {"vlmevalkit": "vlmevalkit", "lmms-eval": "lmms_eval", "inspect": "inspect_ai"}
"""Prefix of names to the adapter in `worker`."""
WORKER_OPTIONS = {"workers": 1, "seconds": 300}
"""Processes of the tool that score, and the longest time for one question or score."""
PLACE_OPTIONS = ("checkout", "python", "data", "network")
"""Options that say where things are; like those of the workers they change no number."""
TASK_OPTIONS = {"video": ("frames", "file"), "checksum": ("on", "off")}
"""Options that the adapters take."""
_KNOWN = (*TASK_OPTIONS, *PLACE_OPTIONS, *WORKER_OPTIONS)
_MOST = {"workers": 64, "seconds": 86_400}
HEADLINE = "score"
"""Name of the headline where the tool does not say it before the first run."""


@dataclass(frozen=True, slots=True)
class BridgedTable:
    """The rows of a task: their positions alone, since the tool makes the questions."""

    path: str
    count: int
    digest: str
    columns: Sequence[str] = ("index",)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Row]:
        return (Row(index, {"index": str(index)}) for index in range(self.count))


class BridgedTask:
    """A task that is open in a session; questions are asked of the tool once."""

    def __init__(self, session: Session, title: str) -> None:
        self.session, self._title = session, title
        self._described: dict[int, SampleData] = {}
        self._places: dict[str, int] = {}

    @functools.cached_property
    def facts(self) -> TaskFacts:
        """Raises UsageError, DataError."""
        try:
            return self.session.facts
        except PeerFault as error:
            kind = DataError if error.fault.kind == "data" else UsageError
            own = "" if error.fault.kind in ("data", "usage", "needs") else " has an error of its own: "
            raise kind(f"{self._title}{own or ': '}{error}{_advice(error, self.session)}") from error
        except PeerLost as error:
            raise UsageError(str(error)) from error

    def open(self) -> DataTable:
        """The rows."""
        hello = self.session.hello
        return BridgedTable(hello.data or self.session.task, self.facts.count, self.facts.digest)

    def samples(self, rows: Iterable[Row]) -> Iterator[Sample]:
        """The questions of rows; where the tool says something of a row without it, its prompt is made when
        it is asked. Raises DataError where the tool cannot make one."""
        for row in rows:
            data = self._describe(row.index)
            self._places[data.id] = row.index
            yield self._sample(data, row.index)

    def find(self, sample: Sample, options: Mapping[str, str], gold: Sequence[str]) -> PutQuestion:
        """The question of a sample with these options and this gold answer. Raises DataError."""
        if sample.id not in self._places:
            for _ in self.samples(self.open()):
                pass
        place = self._places[sample.id]
        own = self._describe(place)
        if order := find_order(own.options, own.gold, options, gold):
            moved = self._call_sample(place, order=order)
            return PutQuestion(place, moved.messages, moved.generation or own.generation, order, moved.fixed)
        data = self._prompt(place)
        return PutQuestion(place, data.messages, data.generation)

    def check_reordering(self, what: str) -> None:
        """Raise UsageError where the tool's code leaves no room for options in another order."""
        try:
            refused = self.session.call(Reordering, "reorder").refused
        except (PeerFault, PeerLost) as error:
            refused = str(error)
        if refused:
            raise UsageError(f"{self._title} cannot be asked with {what}: {refused}")

    def next_turn(self, index: int, replies: Sequence[str]) -> NextTurn:
        """What follows these replies."""
        return self.session.call(NextTurn, "next", index=index, replies=list(replies))

    def _describe(self, index: int) -> SampleData:
        """What is said of a question, with its prompt if it was made or nothing else says what is asked."""
        if index not in self._described:
            data = self._call_sample(index, prompt=False)
            self._described[index] = data if data.messages or data.question else self._call_sample(index)
        return self._described[index]

    def _prompt(self, index: int) -> SampleData:
        """A question with its prompt."""
        data = self._describe(index)
        if not data.messages:
            data = self._described[index] = self._call_sample(index)
        return data

    def _call_sample(self, index: int, *, prompt: bool = True, order: Sequence[int] = ()) -> SampleData:
        try:
            return self.session.call(SampleData, "sample", index=index, prompt=prompt, order=order)
        except PeerFault as error:
            raise DataError(f"{self._title}: question {index + 1}: {error}") from error
        except PeerLost as error:
            raise UsageError(str(error)) from error

    def _media(self, index: int) -> tuple[MediaRef, ...]:
        """None where the tool cannot make the question: its flow says why."""
        try:
            return tuple(media_refs(self._prompt(index).messages))
        except DataError:
            return ()

    def _sample(self, data: SampleData, index: int) -> Sample:
        text = "\n".join(part.text for one in data.messages for part in one.parts if part.type == "text")
        media = tuple(media_refs(data.messages)) if data.messages else LazyTuple(partial(self._media, index))
        return Sample(
            id=data.id,
            kind=data.kind or "open",
            question=data.question or text,
            gold=data.gold,
            options=data.options,
            media=cast(tuple[MediaRef, ...], media),
            groups=data.groups,
            unit=data.unit,
        )


def load_media(sample: Sample) -> Sample:
    """The sample with its media made, which a run has done in a thread."""
    return structs.replace(sample, media=tuple(sample.media))


def listed_facts(peer: str, task: str) -> dict[str, str]:
    """What is known of a task before its tool is there. Raises UnknownName."""
    from snellen.benchmarks.declaration.registry import own_name_of

    listed, found = find_listed(peer, task), read_catalogue(peer)
    at = f" at commit {found.commit[:8]}" if found.commit else ""
    return {
        "benchmark": f"{peer}/{task}",
        "by": f"the code of {PEERS[peer]} {found.version}{at}, in an environment of its own (docs/bridge.md)",
        "inputs": " ".join(listed.modality),
        "kind": listed.kind or "",
        "needs": ", ".join(listed.wants()) or "its data",
        "status": listed.status,
        "options": ", ".join(_KNOWN),
        "Snellen's own": own_name_of(task, peer),
        "run it by": f"snellen run -m MODEL -b {peer}/{task}",
    }


def bridge_factory(peer: str, task: str) -> BenchmarkFactory:
    """What builds the benchmark of a task of another tool, by a variant."""
    return partial(_build, peer, task)


def _build(peer: str, task: str, variant: Variant) -> Benchmark:
    """Raises UsageError, DataError."""
    name, title = f"{peer}/{task}", f"{task}, by {PEERS[peer]}"
    _refuse(name, PEERS[peer], variant)
    options = _resolve(name, variant.options)
    has_judge = variant.judges > 0
    asked = _tool_options(options, has_judge)
    opened = open_named(peer, task, variant.options, has_judge)
    facts, hello = opened.facts, opened.session.hello
    version = hello.version + (f" ({hello.commit[:8]})" if hello.commit else "")
    identity = {"version": version, "data": facts.digest, **asked}
    count = int(options.get("workers", WORKER_OPTIONS["workers"]))
    sessions = [opened.session, *map(opened.session.another, range(2, count + 1))]
    scorer = ScorerModel(sessions, identity)
    headline = facts.headline or HEADLINE
    failures = cast(FailurePolicy, variant.failures or "exclude")
    folder = Settings.from_environment().cache / "bridge" / "aggregates"
    circular = cast(Circular, check_allowed("circular", variant.circular or "off", get_args(Circular)))
    if circular != "off" or (variant.control or "").startswith("shuffled-options"):
        opened.check_reordering("--circular" if circular != "off" else "shuffled-options")
    if circular != "off":
        headline = "circular"
    whole = Whole(opened.session, scorer.identity, folder, PEERS[peer], headline, has_judge, failures, circular)
    return Benchmark(
        name=name,
        version=version or "1",
        title=title,
        provenance=f"{PEERS[peer]} {version}",
        requires=requires(*_inputs(facts, options)),
        oracle=None,
        coverage="exact",
        parameters={
            "peer": f"{PEERS[peer]} {version}",
            **asked,
            **({} if circular == "off" else {"circular": circular}),
        },
        headline=headline,
        open=opened.open,
        samples=opened.samples,
        prepare=load_media,
        flow=BridgedFlow(
            name,
            opened.find,
            opened.next_turn if facts.multi_turn else None,
            facts.generation,
            variant.max_new_tokens,
            has_judge,
            circular,
        ),
        summarise=whole.summarise,
        extra_roles=(JUDGE,) if has_judge else (),
        own_roles={SCORER: lambda: scorer},
        options=TASK_OPTIONS,
        rules=(),
        failures=failures,
        max_new_tokens=generation_of(facts.generation, variant.max_new_tokens).max_new_tokens,
        notice="; ".join((*facts.notes, *_other_commit(peer, hello.commit))),
    )


def _other_commit(peer: str, commit: str | None) -> list[str]:
    """What a reader must know of a checkout that is not the one with which the bridge was checked."""
    listed = read_catalogue(peer).commit
    if not listed or not commit or commit == listed:
        return []
    return [f"the code is {PEERS[peer]} at commit {commit[:8]}; its way over the bridge was checked with {listed[:8]}"]


def _tool_options(options: Mapping[str, str], has_judge: bool) -> dict[str, str]:
    """What the tool is told of the options."""
    asked = {key: value for key, value in options.items() if key in TASK_OPTIONS and value != TASK_OPTIONS[key][0]}
    return {**asked, "judge": "yes" if has_judge else "no"}


def open_named(peer: str, task: str, given: Mapping[str, str], has_judge: bool = False) -> BridgedTask:
    """The task with the options of a name. Raises UsageError."""
    options = _resolve(f"{peer}/{task}", given)
    own = "checkout" if read_list(peer).code else "python"
    if not (options.get(own) or peer_setting(peer, own)):
        # Of the pinned code all tasks are known: a slip of the pen costs no download.
        find_listed(peer, task)
    place = tuple(sorted((key, value) for key, value in options.items() if key in (*PLACE_OPTIONS, "seconds")))
    return open_task(peer, task, tuple(sorted(_tool_options(options, has_judge).items())), place)


@functools.cache
def open_task(
    peer: str, task: str, options: tuple[tuple[str, str], ...], place: tuple[tuple[str, str], ...]
) -> BridgedTask:
    """The one of this process, which all runs share. Raises UsageError."""
    options_of_place = dict(place)
    seconds = float(options_of_place.pop("seconds", WORKER_OPTIONS["seconds"]))
    command = worker_command(peer, options_of_place)
    key = hashlib.sha256(repr((command, task, options)).encode()).hexdigest()[:12]
    folder = Settings.from_environment().cache / "bridge" / peer / key
    limits = WorkerLimits(call_seconds=seconds)
    return BridgedTask(Session(command, task, dict(options), folder, limits), f"{peer}/{task}")


def worker_command(peer: str, place: Mapping[str, str]) -> WorkerCommand:
    """How the worker of a tool is started. Raises UsageError."""
    given: dict[str, Any] = {key: place.get(key) or peer_setting(peer, key) for key in PLACE_OPTIONS}
    network = given.pop("network") == "yes"
    checkout = _folder(f"{peer}: checkout", given["checkout"]) or find_checkout(peer)
    python = given["python"] or find_python(peer)
    data = _folder(f"{peer}: data", given["data"]) or _usual_data(peer)
    settings = {"checkout": checkout, "data": data, "network": network}
    # Of what tools fetch besides data sets of the hub; each worker's home is emptied.
    variables = {"XDG_CACHE_HOME": str(Settings.from_environment().cache / "bridge" / "cache")}
    if peer == "vlmevalkit" and data:
        variables["LMUData"] = data
    kept = {key: value for key, value in settings.items() if value}
    return WorkerCommand(MODULES[peer], str(python), kept, variables)


def _usual_data(peer: str) -> str | None:
    """Where the tool's users have its data."""
    if peer != "vlmevalkit":
        return None
    settings = Settings.from_environment()
    folder = settings.lmu_data or settings.cache / "bridge" / "LMUData"
    with storage_errors("write", folder):
        folder.mkdir(parents=True, exist_ok=True)
    return str(folder)


def _folder(what: str, named: str | None) -> str | None:
    if not named:
        return None
    path = Path(named).expanduser().absolute()
    if not path.is_dir():
        raise UsageError(f"{what}={named}: there is no such folder")
    return str(path)


def _resolve(name: str, given: Mapping[str, str]) -> dict[str, str]:
    """The options of a name. Raises UsageError."""
    for key, value in given.items():
        if key not in _KNOWN:
            raise UsageError(f"{name} has no option {key!r}; its options: {', '.join(_KNOWN)}")
        if key in WORKER_OPTIONS and not (value.isdecimal() and 0 < int(value) <= _MOST[key]):
            raise UsageError(f"{name}:{key}={value}: expected a whole number from 1 to {_MOST[key]}")
        allowed = {**TASK_OPTIONS, "network": ("no", "yes")}.get(key)
        if allowed and value not in allowed:
            raise UsageError(f"{name}:{key}={value}: expected one of {', '.join(allowed)}")
    return {**{key: values[0] for key, values in TASK_OPTIONS.items()}, **given}


def _refuse(name: str, title: str, variant: Variant) -> None:
    """Raise UsageError for what another tool's code leaves no room for."""
    refused = {
        "--rule": variant.rule is not None,
        "--extract-with": variant.extractor,
        "a second judge": variant.judges > 1,
        "repeated verdicts": variant.judge_repeats > 1,
        "--data": variant.data is not None,
    }
    for what, is_given in refused.items():
        if is_given:
            advice = "; name a folder of data with the option data=FOLDER" if what == "--data" else ""
            raise UsageError(f"{name} is put and scored by {title}'s own code, which does not know {what}{advice}")


def _inputs(facts: TaskFacts, options: Mapping[str, str]) -> list[Modality]:
    shown: list[Modality] = []
    for one in facts.modality:
        if one == "video":
            shown.append("video" if options["video"] == "file" else "image")
        elif one in ("image", "audio", "text"):
            shown.append(cast(Modality, one))
    return shown or ["text"]


def _advice(error: PeerFault, session: Session) -> str:
    allowed = session.command.settings.get("network")
    return "; with the option network=yes the tool may fetch it" if error.fault.kind == "data" and not allowed else ""
