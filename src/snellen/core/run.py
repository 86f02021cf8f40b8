"""What a run folder says about itself: `run.json` and `report.json`."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from snellen.core.model import Capabilities, Identity
from snellen.core.origin import Origin
from snellen.core.output import FailureKind, Usage
from snellen.core.price import Price
from snellen.core.request import Sampling
from snellen.core.reused_replies import ReusedReplies
from snellen.core.served_identity import ServedIdentity
from snellen.core.summary import Summary


class FewShotInfo(Struct, frozen=True, omit_defaults=True):
    """Questions that stood with their answers before every question of their kind. Where they
    come from and by which seed stands in the run's parameters (`shots_from`, `shots_seed`)."""

    ids: tuple[str, ...]
    """Ids of the examples, in the order in which they are shown."""
    digest: str
    """SHA-256 (hex) of the examples: questions, options, answers and hashes of their media."""
    aside: int = 0
    """Questions of the data that are not asked: the examples, what asks the same, and what belongs
    to one unit with them."""


Status = Literal["running", "interrupted", "incomplete", "complete"]
"""`incomplete`: ended, but samples failed or are missing; the next start asks them again."""


class DataInfo(Struct, frozen=True, omit_defaults=True):
    """The data a run was asked about. `digest` is the SHA-256 of their content."""

    path: str
    digest: str
    rows: int
    origin: Origin | None = None
    """None in runs that did not note it, and for data that do not tell it."""

    @property
    def note(self) -> str:
        """What a reader must know of the data; empty where they are the published ones."""
        return self.origin.note if self.origin is not None else ""


class RunConfig(Struct, frozen=True, omit_defaults=True):
    """Everything that decides which requests a run makes and how they are scored. Its digest
    names the folder, so that the same command finds its run again."""

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
    """What was shown before each question, where something was."""
    repeats: int = 1
    """How often each question was asked."""
    fresh: str = ""
    """The name under which replies were asked for anew, whatever the store had; empty: stored
    replies were taken."""
    sampling: dict[str, Sampling] = {}
    """By role (`model`, `judge`, ...): how replies were sampled, where the command said so."""


class Counts(Struct, frozen=True, omit_defaults=True):
    """Requests of the run so far, over all starts where the word is `total`."""

    samples: int = 0
    done: int = 0
    failed: int = 0
    sent: int = 0
    """Requests that were sent to the model in the latest start, each as often as it was sent."""
    reused: int = 0
    """Requests answered by the store in the latest start."""
    saved: int = 0
    """Requests that early stop made unnecessary, over all finished samples."""
    seconds: float = 0.0
    """Wall time of the latest start."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    process_memory: int = 0
    """Bytes of main memory that the process held at its highest; 0 where it is not known."""
    device_memory: int = 0
    """Bytes of accelerator memory that torch held at its highest in the latest start; 0 where
    none was used by this process."""
    largest_batch: int = 0
    """Prompts that a local model computed together at most in the latest start; 0 where it is not
    known."""


class RoleUsage(Struct, frozen=True, omit_defaults=True):
    """What one model cost, over all starts of a run."""

    sent: int = 0
    """Requests, each as often as it was sent."""
    answered: int = 0
    reused: int = 0
    """Answers that were taken from the store."""
    failures: dict[FailureKind, int] = {}
    """Requests that failed for good in the latest start, by kind."""
    usage: Usage = Usage()
    """Tokens of the answers that were asked for."""
    reused_usage: Usage = Usage()
    """Tokens of the answers from the store, which were paid for earlier."""
    seconds: float = 0.0
    """Sum of the times the model took; longer than the run where requests overlap."""
    price: Price | None = None
    cost: float | None = None
    """Of `usage`, in the currency of `price`; None where no price is known."""


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
    """What the model says about how its replies were computed, where a reader should know."""
    capabilities: Capabilities | None = None
    """What the model declared it can take and give; None in runs that did not note it."""
    spent: dict[str, RoleUsage] = {}
    """By role: `model`, `judge`, `extractor`, ..."""
    repairs: tuple[str, ...] = ()
    """What was left out of the folder's files or asked again, and why, over all starts."""
    reused: ReusedReplies = ReusedReplies()
    """Replies that were in the store before the run asked for them."""
    served: dict[str, tuple[ServedIdentity, ...]] = {}
    """By role: what servers said of the models behind them; more than one where that changed
    between two starts."""
    stopped: str = ""
    """Why the latest start ended before all was asked: a spent budget, too many failures, a rule
    that had seen enough."""


class Report(Struct, frozen=True, omit_defaults=True):
    """`report.json`: the run and its numbers."""

    run: RunInfo
    summary: Summary
