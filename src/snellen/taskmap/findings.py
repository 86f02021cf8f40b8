"""What a task map says, as stored in `taskmap.json`."""

from __future__ import annotations

from msgspec import Struct

from snellen.core.model import Identity
from snellen.models.hf.lora import LoraOptions
from snellen.taskmap.agreement import ClusterAgreement, NearTau, Ties
from snellen.taskmap.clusters import Tree
from snellen.taskmap.prediction import TaskPrediction
from snellen.taskmap.vectors import VectorFacts


class Halves(Struct, frozen=True):
    """Whether the two halves of a task, which share no picture, are told to be one task."""

    task: str
    distance: float
    """Between the halves."""
    nearest: str
    """The half of another task that is nearest to either."""
    nearest_distance: float
    nearer_than: float
    """Share of the unrelated pairs (halves of two different tasks) that are farther apart."""
    apart: bool
    """Whether some half of another task is as near to one of the halves as they are to each
    other: the map fails here."""


class Stability(Struct, frozen=True):
    """How alike the maps of two seeds are."""

    first: int
    second: int
    correlation: float | None
    """Pearson's, of the distances of every pair of tasks."""
    failing: tuple[tuple[str, ...], tuple[str, ...]]
    """Tasks whose halves fail to be told as one, for each of the two seeds."""


class TaskMap(Struct, frozen=True):
    """Tasks, their distances and clusters. Distances are means over the seeds."""

    model: str
    identity: Identity
    benchmark: str
    parameters: dict[str, str]
    """The benchmark's resolved variant."""
    group: str
    kinds: tuple[str, ...]
    tuning: LoraOptions
    seeds: tuple[int, ...]
    layers: int
    tasks: tuple[VectorFacts, ...]
    """Facts of the vectors of the first seed."""
    left_out: dict[str, int]
    """Tasks with too few samples, and how many they have."""
    distances: tuple[tuple[float, ...], ...]
    tree: Tree
    cophenetic: float | None
    """Correlation of the tree's heights with the distances."""
    clusters: tuple[tuple[str, ...], ...]
    halves: tuple[Halves, ...] = ()
    stability: tuple[Stability, ...] = ()


class TaskScoreAgreement(Struct, frozen=True):
    """What the scores of many models say about tasks and clusters."""

    models: tuple[str, ...]
    tasks: int
    ties: Ties
    itself: bool
    """Whether each task counts as its own neighbour, as the paper's formula is printed."""
    every_pair: float | None
    """Tau over every pair of tasks, which needs no distances."""
    clusters: tuple[ClusterAgreement, ...] = ()
    by_distance: tuple[NearTau, ...] = ()
    prediction: TaskPrediction | None = None
    mantel: float | None = None
    """Correlation of distance and tau over the pairs of tasks: below 0, models rank more alike on
    nearer tasks."""
    mantel_p: float | None = None
    """The chance of one as low if the tasks of the map were permuted (Mantel's test)."""


class TaskMapFindings(Struct, frozen=True):
    """`taskmap.json`."""

    map: TaskMap | None = None
    agreement: TaskScoreAgreement | None = None
