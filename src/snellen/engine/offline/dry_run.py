"""Dry runs: flows driven by stored replies and, if none is stored, by the reply that keeps the flow
going for the most requests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.errors import MediaError
from snellen.core.media import image_size
from snellen.core.model import RemoteModel, abilities
from snellen.core.output import CandidateScore, Compared, Drawn, Generated, Output, Ranked
from snellen.core.record import Record
from snellen.core.request import Compare, Draw, Generate, Media, Rank, Request, Text, request_digest
from snellen.core.sample import Sample
from snellen.engine.forecast.probe_samples import sample_size
from snellen.engine.forecast.sample_costs import RoleCost, SampleCost
from snellen.engine.limits.shared_prefix import CHARACTERS_PER_TOKEN, PrefixForecast, cache_of
from snellen.engine.loop.plan import RunPlan, build_flow
from snellen.engine.loop.request_broker import MAIN, ModelClient
from snellen.models.naming.image_tokens import ImageTokenRule
from snellen.settings import max_image_pixels
from snellen.store.responses import ResponseStore

_MAX_MEASURED_IMAGES = 200


class RequestSize(NamedTuple):
    """The length of a request's text, and the tokens of its images."""

    characters: int
    image_tokens: float
    cached_tokens: float = 0.0
    """Tokens that the provider will have cached, at a lower price."""

    @property
    def tokens(self) -> float:
        return self.characters / CHARACTERS_PER_TOKEN + self.image_tokens


@dataclass(slots=True)
class DryRunCounts:
    """What a dry run has counted."""

    stored: int = 0
    """Requests that the store answers."""
    equal: int = 0
    """Requests equal to an earlier pending one."""
    unsupported: int = 0
    """Samples that the model cannot take."""
    other_roles: Counter[str] = field(default_factory=Counter)
    """Pending requests to extractors and judges, by role."""
    pending: dict[int, list[RequestSize]] = field(default_factory=lambda: defaultdict(list))
    """Pending requests to the model, by how many pending passes of their sample precede them: with
    early stop they are sent only if all of those are right."""
    replies: list[Output] = field(default_factory=list)
    """Stored replies of the model."""
    correct_passes: int = 0
    scored_passes: int = 0
    """Passes with a stored reply and a score; of these, `correct_passes` are right."""
    other_sizes: dict[str, list[RequestSize]] = field(default_factory=lambda: defaultdict(list))
    """Sizes of the pending requests to extractors and judges, by role."""
    measured: list[SampleCost] = field(default_factory=list)
    """What the samples took whose replies are all stored."""
    pending_samples: list[float] = field(default_factory=list)
    """Sizes of the samples none of whose replies is stored."""
    begun_samples: list[float] = field(default_factory=list)
    """Sizes of the samples some of whose replies are stored."""
    digests: set[bytes] = field(default_factory=set)
    """Digests of the pending requests."""
    waves: int = 0
    """Most pending requests of a sample that are asked in batches: each waits for the one before."""
    passes: Counter[int] = field(default_factory=Counter)
    """Number of samples with an unknown score, by their number of passes."""
    scores: list[float] = field(default_factory=list)
    """Scores of samples whose replies are all stored."""

    def mean_score(self, pass_rate: float) -> float | None:
        """Expected mean score if this fraction of the passes is right and a sample counts only if
        all of its passes are; None without samples."""
        samples = len(self.scores) + self.passes.total()
        likely = sum(count * pass_rate**passes for passes, count in self.passes.items())
        return (sum(self.scores) + likely) / samples if samples else None


class DryRun:
    """Drives flows with stored replies, and counts the requests that would be sent."""

    def __init__(
        self,
        plan: RunPlan,
        store: ResponseStore,
        image_rule: ImageTokenRule | None,
        image_tokens: int,
        pending: set[bytes] | None = None,
    ) -> None:
        """`pending`: digests of requests that earlier runs will have sent; those of this run are
        added."""
        self.counts = DryRunCounts() if pending is None else DryRunCounts(digests=pending)
        self._plan, self._store = plan, store
        self._image_rule, self._default_image_tokens = image_rule, image_tokens
        self._flow = build_flow(plan)
        self._stops_early = plan.benchmark.parameters.get("circular") == "early"
        self._empty_store = ResponseStore(None)
        models = {MAIN: plan.model, **plan.roles}
        self._clients = {
            role: ModelClient(model, self._empty_store, fresh=plan.fresh) for role, model in models.items()
        }
        self._batched = {role for role, model in models.items() if abilities(model).batch_terms is not None}
        self._tokens_by_image: dict[str, int] = {}
        cache = cache_of(plan.model, plan.prices.get(MAIN))
        self._prefixes = None if cache is None else PrefixForecast(cache, self._image_tokens)

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self._empty_store.close()

    def drive_sample(self, sample: Sample) -> None:
        """Drive the flow of one sample, and count its requests."""
        flow = self._flow(sample)
        is_stored: list[bool] = []
        stored_costs: dict[str, RoleCost] = {}
        missing = False
        pending = repeat = waves = 0
        try:
            request = next(flow)
            while True:
                stored = self._stored_output(request)
                if request.to == MAIN:
                    if repeat != getattr(request, "repeat", repeat):
                        # The next repeat starts: none of its passes is pending yet.
                        pending, repeat = 0, repeat + 1
                    is_stored.append(stored is not None)
                    pending += self._count_request(request, stored, pending if self._stops_early else 0)
                elif stored is None:
                    self.counts.other_roles[request.to] += 1
                    self.counts.other_sizes[request.to].append(self._request_size(request))
                missing = missing or stored is None
                waves += stored is None and request.to in self._batched
                if stored is not None:
                    stored_costs.setdefault(request.to, RoleCost()).add(stored)
                request = flow.send(_likely_output(request, sample) if stored is None else stored)
        except StopIteration as end:
            self.counts.waves = max(self.counts.waves, waves)
            self._count_record(end.value, is_stored)
            self._count_sample(sample_size(sample), stored_costs, missing)
        except MediaError:
            # Its images cannot be read: the run will record a failure without a request.
            return

    def _count_sample(self, size: float, stored: Mapping[str, RoleCost], missing: bool) -> None:
        if missing and stored:
            self.counts.begun_samples.append(size)
        elif missing:
            self.counts.pending_samples.append(size)
        elif stored:
            self.counts.measured.append(SampleCost(size, stored))

    def image_tokens_text(self) -> str:
        if not self._tokens_by_image:
            return ""
        if self._image_rule is not None:
            return f"images by {self._image_rule.source}; "
        return f"{self._default_image_tokens} tokens an image (assumed); "

    def _stored_output(self, request: Request) -> Output | None:
        client = self._clients.get(request.to)
        if client is None:
            return None
        return self._store.get(request_digest(request, client.identity_for(request)))

    def _count_request(self, request: Request, stored: Output | None, before: int) -> int:
        """Count a request; returns 1 if it must be sent, else 0."""
        if stored is not None:
            self.counts.stored += 1
            self.counts.replies.append(stored)
            return 0
        digest = request_digest(request, self._clients[MAIN].identity_for(request))
        if digest in self.counts.digests:
            self.counts.equal += 1
            return 0
        self.counts.digests.add(digest)
        size = self._request_size(request)
        if self._prefixes is not None and not isinstance(request, Rank):
            size = size._replace(cached_tokens=self._prefixes.cached_tokens(request))
        self.counts.pending[before].append(size)
        return 1

    def _count_record(self, record: Record, is_stored: Sequence[bool]) -> None:
        self.counts.unsupported += record.unscored == "unsupported"
        if record.score is not None and all(is_stored):
            self.counts.scores.append(record.score)
        elif record.unscored is None:
            self.counts.passes[len(is_stored) // self._plan.repeats] += 1
        if len(record.passes) == len(is_stored):
            judged = [
                sample_pass.correct
                for sample_pass, stored in zip(record.passes, is_stored, strict=True)
                if stored and sample_pass.correct is not None
            ]
            self.counts.scored_passes += len(judged)
            self.counts.correct_passes += sum(judged)

    def _request_size(self, request: Request) -> RequestSize:
        """The size of a request; a server processes the prompt again for each ranked candidate."""
        parts = [part for message in request.messages for part in message.parts]
        characters = sum(len(part.text) for part in parts if isinstance(part, Text))
        image_tokens = sum(self._image_tokens(part, request) for part in parts if isinstance(part, Media))
        if not isinstance(request, Rank):
            return RequestSize(characters, image_tokens)
        reads = 1 + len(request.candidates) if isinstance(self._plan.model, RemoteModel) else 1
        return RequestSize(reads * characters + sum(map(len, request.candidates)), reads * image_tokens)

    def _image_tokens(self, part: Media, request: Request) -> float:
        if part.digest not in self._tokens_by_image:
            if len(self._tokens_by_image) >= _MAX_MEASURED_IMAGES:
                return sum(self._tokens_by_image.values()) / len(self._tokens_by_image)
            self._tokens_by_image[part.digest] = self._measure_image(part, request.media)
        return self._tokens_by_image[part.digest]

    def _measure_image(self, part: Media, media: Mapping[str, object]) -> int:
        source = media.get(part.digest)
        if self._image_rule is None or part.kind != "image" or source is None:
            return self._default_image_tokens
        try:
            size = image_size(source.read(), max_image_pixels())  # type: ignore[attr-defined]
        except (MediaError, OSError, ValueError):
            return self._default_image_tokens
        return self._image_rule.tokens(*size)


def _likely_output(request: Request, sample: Sample) -> Output:
    """An output with which a circular flow continues: the gold of the pass."""
    if isinstance(request, Generate):
        planned = planned_passes(sample) if sample.options else []
        turn = request.ref.turn
        gold = planned[turn].gold if turn < len(planned) else sample.gold
        if request.to == MAIN and gold:
            return Generated(sample.written_gold(gold[0]))
        return Generated(request.choices[0] if request.choices else "0")
    if isinstance(request, Rank):
        return Ranked(tuple(CandidateScore(-float(n), 1) for n in range(len(request.candidates))))
    if isinstance(request, Draw):
        return Drawn(("0" * 64,))
    assert isinstance(request, Compare)
    return Compared((0.0,) * len(request.candidates))
