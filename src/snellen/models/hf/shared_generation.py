"""Requests answered with shared beginnings, once it is seen that this changes no answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any

from snellen.core.output import CandidateScore, Failure, Generated, Output
from snellen.core.request import Generate, Generation, Rank
from snellen.models.hf.batch_size import Sizes, Sizing, Work
from snellen.models.hf.decode import Decoding
from snellen.models.hf.generate import Lots, reply_of
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.logprobs import ranked
from snellen.models.hf.prefix_sharing import Begun, Sharing
from snellen.models.hf.tokenise import Row, Unsharable
from snellen.models.split_batch import MODEL_ERRORS, failure_of, halving

if TYPE_CHECKING:
    from torch import Tensor

_ON_CPU = 1_000_000_000
"""Bytes of beginnings kept in main memory."""
_OF_GPU = 0.15
"""Share of a GPU's memory for them."""
_TOLERANCE = {"float32": 1e-3, "bfloat16": 0.1, "float16": 0.02}
"""By how much logits may differ, as a share of the largest: rounding, and no more."""
_FULL = "full_attention"
_ATTENDING = {_FULL, "sliding_attention", "chunked_attention"}
"""Kinds of layers that remember a prompt token by token."""


class Answering:
    """Answers rows of prompts with one model.

    `fault` says why prompts cannot share their beginnings with this architecture, or is None.
    Whether they can is tested on the first prompts, with and without pictures, against a plain
    forward pass; two prompts with different pictures are read together for it where there are.
    """

    def __init__(self, loaded: Loaded, sizes: Sizes) -> None:
        self._loaded = loaded
        self._sizes = sizes
        self._sharing = Sharing(loaded.model, _budget(loaded.device), sizes.replies.size)
        suppressed = loaded.model.generation_config.suppress_tokens or ()
        self._decoding = Decoding(self._sharing, loaded.tokenizer, loaded.ends, suppressed)
        self._seen: set[Hashable] = set()
        self._window = _window(loaded.model)
        self.fault: str | None = _unsharable(loaded)

    def reaches(self, request: Generate | Rank, rows: Sequence[Row]) -> bool:
        """Whether words follow the pictures, and a sliding window of attention sees all of these
        prompts. Prompts in a batch may be filled up in front of and behind what was kept, and the
        window counts that."""
        if any(row.head >= len(row.ids) - row.scored for row in rows):
            return False
        new = request.settings.max_new_tokens if isinstance(request, Generate) else 0
        longest = 2 * max((len(row.ids) for row in rows), default=0) + new
        return self._window is None or longest <= self._window

    def trusted(self, rows: Sequence[Row]) -> bool:
        """Whether these rows may be answered here, tested where their like has not been yet. Where
        memory is too short for the test they may not, and the next are tested again."""
        for pair in _unlike(rows):
            kind = (bool(pair[0].pictures), len(pair))
            if self.fault is None and not {kind, (kind[0], 2)} & self._seen:
                try:
                    self.fault = self._differing(pair)
                except MemoryError:
                    return False
                self._seen.add(kind)
        return self.fault is None

    def generate(
        self, asked: Sequence[tuple[Generate, Row]], settings: Generation
    ) -> list[Generated | Failure]:
        """Replies to requests that share their settings."""

        def longest(batch: Sequence[tuple[Generate, Row]]) -> int:
            return max(len(row.ids) for _, row in batch) + settings.max_new_tokens

        def work(batch: Sequence[tuple[Generate, Row]]) -> list[Generated]:
            rows = [row for _, row in batch]
            lots = None
            if settings.temperature > 0:
                lots = Lots(settings, [request for request, _ in batch], self._loaded)
            task = Work(len(rows), longest(batch))
            with self._sizes.replies.measured(task):
                begun = self._begun(rows, task)
                first = begun.logits[:, -1]
                replies = self._decoding.words(begun, settings, lots)
                task.has_said(sum(map(len, replies)))
            return [
                reply_of(self._loaded, reply, len(row.ids), settings, scores)
                for reply, row, scores in zip(replies, rows, first, strict=True)
            ]

        done: list[Generated | Failure] = []
        while len(done) < len(asked):
            room = self._sizes.replies.room(longest(asked[len(done) :]))
            batch = asked[len(done) : len(done) + room]
            done += halving(batch, self._tidy(work, self._sizes.replies))
        return done

    def rank(self, asked: Sequence[tuple[Rank, Sequence[Row]]]) -> list[Output]:
        """Likelihoods of the candidates of each request, read together where they fit."""

        def longest(batch: Sequence[Row]) -> int:
            return max(len(row.ids) for row in batch)

        def work(batch: Sequence[Row]) -> list[float]:
            keep = max(row.scored for row in batch) + 1
            task = Work(len(batch), longest(batch))
            with self._sizes.candidates.measured(task):
                logits = self._begun(batch, task, keep).logits
                return _likelihoods(logits, batch)

        rows = [row for _, of_request in asked for row in of_request]
        found: list[float | Failure] = []
        while len(found) < len(rows):
            room = self._sizes.candidates.room(longest(rows[len(found) :]))
            batch = rows[len(found) : len(found) + room]
            found += halving(batch, self._tidy(work, self._sizes.candidates))
        outputs, at = [], 0
        for request, of_request in asked:
            outputs.append(_ranked(request, of_request, found[at : at + len(of_request)]))
            at += len(of_request)
        return outputs

    def _begun(self, rows: Sequence[Row], task: Work, keep: int = 1) -> Begun:
        import torch

        before = self._sharing.read
        begun = self._sharing.begin(rows, keep)
        if self._loaded.device.startswith("cuda"):
            # The words are waited for right afterwards anyway.
            torch.cuda.synchronize(self._loaded.device)
        task.has_read(self._sharing.read - before)
        return begun

    def _tidy(
        self, work: Callable[[Sequence[Any]], list[Any]], size: Sizing
    ) -> Callable[[Sequence[Any]], Any]:
        """The work; where it fails what was kept is let go, and where memory was short, later
        batches are smaller."""

        def tidy(batch: Sequence[Any]) -> list[Any]:
            try:
                return work(batch)
            except MODEL_ERRORS as error:
                self._sharing.forget()
                if failure_of(error).kind == "out_of_memory":
                    size.short(len(batch))
                raise

        return tidy

    def _differing(self, rows: Sequence[Row]) -> str | None:
        """What goes wrong when these rows are read with shared beginnings, or None. Raises
        MemoryError where there is not enough to find out."""
        try:
            plain = [self._sharing.plainly(row).float() for row in rows]
            # Twice where prompts are kept: computed, and from what was kept.
            for _ in range(2 if self._sharing.keeps_prompts else 1):
                together = self._sharing.begin(rows).logits[:, -1]
                for apart, shared in zip(plain, together, strict=True):
                    off = float((apart - shared.float()).abs().max() / apart.abs().max())
                    limit = _TOLERANCE.get(str(self._loaded.model.dtype).split(".")[-1], 0.1)
                    if not off <= limit:
                        return f"its logits differ by {off:.1%} of the largest"
        except MODEL_ERRORS as error:
            self._sharing.forget()
            if isinstance(error, Unsharable):
                return str(error)
            if failure_of(error).kind == "out_of_memory":
                raise MemoryError from None
            said = " ".join(str(error).split())[:200] or type(error).__name__
            return f"reading the rest of a prompt by itself fails: {said}"
        return None


def _unsharable(loaded: Loaded) -> str | None:
    """Why no prompt's beginning can be kept, where the architecture says so."""
    if loaded.encodes:
        return "it is an encoder-decoder model"
    config = loaded.model.config.get_text_config()
    if getattr(config, "cross_attention_layers", None):
        return "it looks at pictures by cross-attention"
    kinds = set(getattr(config, "layer_types", None) or ())
    if not kinds <= _ATTENDING:
        return "some of its layers keep a state in place of keys and values"
    return None


def _window(model: Any) -> int | None:
    """Tokens that the narrowest attention layer looks back; None: all."""
    config = model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if kinds is not None and set(kinds) <= {_FULL}:
        return None
    found = [getattr(config, name, None) for name in ("sliding_window", "attention_chunk_size")]
    return min((size for size in found if isinstance(size, int)), default=None)


def _unlike(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows to test on: with and without pictures, two with different heads where there are."""
    found: dict[bool, list[Row]] = defaultdict(list)
    for row in rows:
        chosen = found[bool(row.pictures)]
        if len(chosen) < 2 and all(row.head_key() != one.head_key() for one in chosen):
            chosen.append(row)
    return list(found.values())


def _likelihoods(logits: Tensor, rows: Sequence[Row]) -> list[float]:
    """Sums of the log-probabilities of each row's scored tokens, in float32; `logits` (rows,
    kept, words) end with those about the token behind the row."""
    import torch

    # One list of words goes to the device, and one of sums comes back.
    words = torch.tensor([word for row in rows for word in row.ids[len(row.ids) - row.scored :]])
    targets = words.long().to(logits.device).split([row.scored for row in rows])
    sums = []
    for scores, row, target in zip(logits, rows, targets, strict=True):
        steps = scores[scores.shape[0] - row.scored - 1 : -1].float().log_softmax(-1)
        sums.append(steps.gather(1, target[:, None]).sum())
    found: list[float] = torch.stack(sums).tolist()
    return found


def _ranked(request: Rank, rows: Sequence[Row], found: Sequence[float | Failure]) -> Output:
    scores = []
    for row, likelihood in zip(rows, found, strict=True):
        if isinstance(likelihood, Failure):
            return likelihood
        scores.append(CandidateScore(likelihood, row.scored))
    return ranked(request, scores, len(rows[0].ids) - rows[0].scored)


def _budget(device: str) -> int:
    if not device.startswith("cuda"):
        return _ON_CPU
    import torch

    return int(_OF_GPU * torch.cuda.get_device_properties(device).total_memory)
