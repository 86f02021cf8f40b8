"""The results of a task map, as they are stored in `taskmap.json`."""

from __future__ import annotations

from msgspec import Struct

from snellen.core.model import Identity
from snellen.models.hf.lora import LoraOptions
from snellen.taskmap.agreement import ClusterAgreement, NearTau, Ties
from snellen.taskmap.clusters import Tree
from snellen.taskmap.prediction import TaskPrediction
from snellen.taskmap.tasks import MapControl
from snellen.taskmap.vectors import VectorFacts


class Halves(Struct, frozen=True):
    """The test of one task: are its two halves, which share no image, nearest to each other?"""

    task: str
    distance: float
    """Between the two halves."""
    nearest: str
    """The half of another task that is nearest to either half."""
    nearest_distance: float
    nearer_than: float
    """The fraction of pairs of halves of two different tasks that are farther apart."""
    apart: bool
    """Whether a half of another task is as near to one of the halves as they are to each other. If
    so, the map fails for this task."""


class Stability(Struct, frozen=True):
    """How similar the maps of two seeds are."""

    first: int
    second: int
    correlation: float | None
    """Pearson's correlation of the distances over all pairs of tasks."""
    failing: tuple[tuple[str, ...], tuple[str, ...]]
    """Tasks that fail the test of halves, for each of the two seeds."""


class SeedMap(Struct, frozen=True):
    """The map of one seed, over the same tasks as the mean of all."""

    seed: int
    distances: tuple[tuple[float, ...], ...]
    failing: tuple[str, ...]
    """Tasks that fail the test of halves."""
    tested: int
    """Tasks of which both halves are on the map."""


CONTROL_LIMIT = 0.7
"""A map whose distances correlate more than this with those of its control has no clusters."""


class ControlMap(Struct, frozen=True):
    """The map of the same tasks, trained where pictures or answers were destroyed."""

    control: MapControl
    distances: tuple[tuple[float, ...], ...]
    correlation: float | None
    """With the distances of the map, over all pairs of tasks."""
    clusters: tuple[tuple[str, ...], ...]
    halves: tuple[Halves, ...] = ()

    @property
    def resembles_map(self) -> bool:
        """Whether the map is largely that of its control."""
        return self.correlation is not None and self.correlation > CONTROL_LIMIT


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
    """Tasks with too few samples, and their numbers of samples."""
    distances: tuple[tuple[float, ...], ...]
    tree: Tree
    cophenetic: float | None
    """Correlation of the tree's heights with the distances."""
    clusters: tuple[tuple[str, ...], ...]
    """Empty if the map correlates with its control above `CONTROL_LIMIT`."""
    halves: tuple[Halves, ...] = ()
    control: ControlMap | None = None
    stability: tuple[Stability, ...] = ()
    by_seed: tuple[SeedMap, ...] = ()
    """With more than one seed: the map of each."""


class TaskScoreAgreement(Struct, frozen=True):
    """How the scores of many models relate to the tasks and clusters of a map."""

    models: tuple[str, ...]
    tasks: int
    ties: Ties
    itself: bool
    """Whether each task counts as its own neighbour, as in the printed formula of the paper."""
    every_pair: float | None
    """Tau over every pair of tasks, which needs no distances."""
    clusters: tuple[ClusterAgreement, ...] = ()
    by_distance: tuple[NearTau, ...] = ()
    """At the paper's kind of threshold, a fraction of the largest distance."""
    by_share: tuple[NearTau, ...] = ()
    """At our kind: the distance within which this share of all pairs of tasks lies."""
    prediction: TaskPrediction | None = None
    mantel: float | None = None
    """Correlation of distance and tau over all pairs of tasks. Below 0, models rank more alike on
    nearer tasks."""
    mantel_p: float | None = None
    """The probability of a correlation as low if the tasks of the map were permuted (Mantel's
    test)."""
    control_mantel: float | None = None
    """The same with the distances of the map's control."""
    control_mantel_p: float | None = None


class TaskMapFindings(Struct, frozen=True):
    """The content of `taskmap.json`."""

    map: TaskMap | None = None
    agreement: TaskScoreAgreement | None = None
