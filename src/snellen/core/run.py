"""The description of a run: `run.json` and `report.json`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from snellen.core.model import Capabilities, Identity
from snellen.core.output import FailureKind, Price, Usage
from snellen.core.request import Sampling
from snellen.core.sample import Origin
from snellen.core.served_identity import ServedIdentity
from snellen.core.shard import RunShard
from snellen.core.summary import Summary


class FewShotInfo(Struct, frozen=True, omit_defaults=True):
    """Few-shot examples: questions with answers before every question of their kind. Their source
    and seed are parameters of the run (`shots_from`, `shots_seed`)."""

    ids: tuple[str, ...]
    """Ids of the examples, in prompt order."""
    digest: str
    """SHA-256 (hex) of the examples: questions, options, answers and hashes of their media."""
    aside: int = 0
    """Questions of the data that are not asked: the examples, their duplicates, and questions of
    their units."""


Status = Literal["running", "interrupted", "incomplete", "complete"]
"""`incomplete`: ended, but samples failed or are missing; they are asked again on resume."""


class DataInfo(Struct, frozen=True, omit_defaults=True):
    """The data of a run. `digest` is the SHA-256 of their content."""

    path: str
    digest: str
    rows: int
    origin: Origin | None = None
    """None if it was not recorded or is unknown."""

    @property
    def note(self) -> str:
        """What a reader must know of the data; empty if they are the published ones."""
        return self.origin.note if self.origin is not None else ""


class RunConfig(Struct, frozen=True, omit_defaults=True):
    """Everything that decides which requests a run makes and how they are scored. Its digest is
    part of the folder's name, so that the same command resumes its run."""

    identity: Identity
    benchmark: str
    version: str
    parameters: dict[str, str]
    data: str
    """Digest of the data."""
    limit: int | None = None
    seed: int = 0
    max_new_tokens: int = 512
    roles: dict[str, Identity] = {}
    """Other models that were asked, e.g. an `extractor`."""
    until: str = ""
    """The rule by which the run may end before all samples are asked: `±1`, `A>B`."""
    examples: FewShotInfo | None = None
    """Few-shot examples, if any."""
    repeats: int = 1
    """Draws of each question."""
    fresh: str = ""
    """Name under which replies were requested anew, whatever the store held; empty if stored
    replies were used."""
    sampling: dict[str, Sampling] = {}
    """By role (`model`, `judge`, ...): sampling settings of the command, if any."""
    extend_truncated: int | None = None
    """The limit, in tokens, with which replies cut at a lower one were asked for again; None: no
    reply was."""

    @property
    def longest_reply(self) -> int:
        """The most tokens that any reply of the model may have."""
        return max(self.max_new_tokens, self.extend_truncated or 0)


class Counts(Struct, frozen=True, omit_defaults=True):
    """Requests of the run so far."""

    samples: int = 0
    done: int = 0
    failed: int = 0
    sent: int = 0
    """Requests sent to the model in the latest start, retries included."""
    reused: int = 0
    """Requests answered by the store in the latest start."""
    saved: int = 0
    """Requests that early stop made unnecessary, over all finished samples."""
    seconds: float = 0.0
    """Wall time of the latest start."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    process_memory: int = 0
    """Peak main memory of the process, in bytes; 0 if unknown."""
    device_memory: int = 0
    """Peak accelerator memory of torch in the latest start, in bytes; 0 if this process used
    none."""
    largest_batch: int = 0
    """Prompts of the largest batch of a local model in the latest start; 0 if unknown."""


class BatchUsage(Struct, frozen=True, omit_defaults=True):
    """What one batch at a provider used: a part of what its role used."""

    sent: int = 0
    answered: int = 0
    usage: Usage = Usage()


class RoleUsage(Struct, frozen=True, omit_defaults=True):
    """What one model used and cost, over all starts of a run."""

    sent: int = 0
    """Requests, retries included."""
    answered: int = 0
    reused: int = 0
    """Answers from the store."""
    failures: dict[FailureKind, int] = {}
    """Requests that failed for good in the latest start, by kind."""
    usage: Usage = Usage()
    """Tokens of the requested answers."""
    reused_usage: Usage = Usage()
    """Tokens of the answers from the store, which were paid for earlier."""
    seconds: float = 0.0
    """Sum of the wall times of requests; exceeds that of the run if requests overlap."""
    price: Price | None = None
    cost: float | None = None
    """Cost of `usage`, in the currency of `price`; None if no price is known."""
    batches: dict[str, BatchUsage] = {}
    """Batches whose results were taken, by name: what several folders of one run took is counted once."""


_MAX_RUNS = 8
"""Runs that are counted by name; the others are counted together."""
_OTHER_RUNS = "other runs"


class ReusedReplies(Struct, frozen=True, omit_defaults=True):
    """Replies that a run took from the store: who had requested them, and when.

    Counted over all starts and roles. Replies that the run itself had stored do not count.
    """

    replies: int = 0
    first: str = ""
    """When the oldest was stored, in UTC, ISO 8601; empty if that was not recorded."""
    last: str = ""
    runs: dict[str, int] = {}
    """Replies by the folder of the run that requested them, as far as recorded."""
    addresses: tuple[str, ...] = ()
    """Servers that gave them, if not the run's own."""

    def with_reply(self, stored_at: float | None, run: str | None, address: str = "") -> ReusedReplies:
        """Add one reply, stored at `stored_at` (seconds since 1970) for a run; `address` is that of
        its server, if it is not the run's."""
        when = _iso(stored_at)
        times = [time for time in (self.first, self.last, when) if time]
        runs = dict(self.runs)
        if run:
            name = run if run in runs or len(runs) < _MAX_RUNS else _OTHER_RUNS
            runs[name] = runs.get(name, 0) + 1
        first, last = min(times, default=""), max(times, default="")
        addresses = self.addresses
        if address and address not in addresses:
            addresses = (*addresses, address)
        return ReusedReplies(self.replies + 1, first, last, runs, addresses)

    def sentence(self, model: str, again: str = "--fresh") -> str:
        """A sentence for readers, with `again` as the way to ask again; empty if no reply was
        reused."""
        if not self.replies:
            return ""
        were = "reply was" if self.replies == 1 else "replies were"
        text = f"{model}: {self.replies:,} {were} in the store"
        if self.first:
            first, last = self.first[:10], self.last[:10]
            text += f", made on {first}" if first == last else f", made from {first} to {last}"
        if self.runs:
            name, *others = sorted(self.runs, key=lambda run: (-self.runs[run], run))
            more = f" and {len(others)} other{'s' if len(others) > 1 else ''}" if others else ""
            text += f" by {name}{more}"
        if self.addresses:
            text += f", at {' and '.join(self.addresses)}"
        return f"{text}; use {again} to ask again"


def _iso(seconds: float | None) -> str:
    try:
        return "" if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


class MergedShard(Struct, frozen=True, omit_defaults=True):
    """What a shard had when it was merged: a part of the fields of this name of the whole run."""

    spent: dict[str, RoleUsage] = {}
    reused: ReusedReplies = ReusedReplies()
    served: dict[str, tuple[ServedIdentity, ...]] = {}


class RunInfo(Struct, frozen=True, omit_defaults=True):
    """`run.json`."""

    name: str
    """Name of the folder: <model>--<benchmark>--<8 hex of the config digest>."""
    model: str
    """The model as the user named it."""
    benchmark: str
    title: str
    config: RunConfig
    data: DataInfo
    status: Status
    created: str
    """UTC, ISO 8601."""
    finished: str | None = None
    counts: Counts = Counts()
    failures: str = "exclude"
    command: str = ""
    versions: dict[str, str] = {}
    hardware: dict[str, str] = {}
    paper: str = ""
    source: str = ""
    headline: str = "accuracy"
    remarks: tuple[str, ...] = ()
    """What the model reports about how its replies were computed."""
    capabilities: Capabilities | None = None
    """Inputs and outputs that the model declared; None if not recorded."""
    spent: dict[str, RoleUsage] = {}
    """By role: `model`, `judge`, `extractor`, ..."""
    repairs: tuple[str, ...] = ()
    """What was dropped from the folder's files or asked again, and why, over all starts."""
    reused: ReusedReplies = ReusedReplies()
    """Replies that were in the store before the run requested them."""
    served: dict[str, tuple[ServedIdentity, ...]] = {}
    """By role: what servers reported about their models; more than one entry if that changed
    between two starts."""
    address: str = ""
    """Host and port of the server that was asked last; empty for models on the same machine."""
    stopped: str = ""
    """Why the latest start ended early: budget spent, too many failures, a stop rule."""
    shard: RunShard | None = None
    """The part of the run whose samples are in this folder; None: all of them."""
    merged: dict[str, MergedShard] = {}
    """The shards that were merged into this folder (`3/8`)."""


class Report(Struct, frozen=True, omit_defaults=True):
    """`report.json`: the run and its numbers."""

    run: RunInfo
    summary: Summary
