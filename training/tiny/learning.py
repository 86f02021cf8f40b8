"""What all stages share: optimisers, the loss of a batch, running accuracy, gates."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import LlavaForConditionalGeneration

from training.tiny.packing import Batch
from training.tiny.prompts import LETTERS, Exchange

log = logging.getLogger("training.tiny")
CONSTANT_SHARE = 0.4
LAST_RATE = 0.03


class GateError(RuntimeError):
    """A stage ended below the accuracy that the next one needs."""


def check_gates(stage: str, found: dict[str, float], floors: dict[str, float]) -> None:
    """Stop the run when an accuracy is below its floor."""
    low = {name: found.get(name, 0.0) for name in floors if found.get(name, 0.0) < floors[name]}
    if low:
        told = ", ".join(f"{name} {value:.2f} < {floors[name]}" for name, value in low.items())
        raise GateError(f"stage {stage} failed its gate: {told}")
    log.info("stage %s passed its gates: %s", stage, floors)


@dataclass(frozen=True)
class Rates:
    """Learning rates of the two optimisers."""

    muon: float
    adamw: float


class Learner:
    """Muon for the matrices inside the layers, AdamW for everything else, one schedule."""

    def __init__(self, parts: Iterable[tuple[nn.Module, Rates]], steps: int, constant: float = CONSTANT_SHARE) -> None:
        matrices: list[dict[str, Any]] = []
        rest: list[dict[str, Any]] = []
        for module, rates in parts:
            inner, outer = _split(module)
            matrices.append({"params": inner, "lr": rates.muon})
            rest.append({"params": outer, "lr": rates.adamw})
        self.parameters = [p for group in matrices + rest for p in group["params"]]
        self.optimisers: list[torch.optim.Optimizer] = [
            torch.optim.Muon(matrices, lr=0.01, momentum=0.95, weight_decay=0.01, adjust_lr_fn="original"),
            torch.optim.AdamW(rest, lr=0.001, betas=(0.9, 0.98), weight_decay=0.0, fused=True),
        ]
        self.schedules = [
            torch.optim.lr_scheduler.LambdaLR(o, lambda step: rate_at(step, steps, constant)) for o in self.optimisers
        ]

    def step(self, loss: torch.Tensor) -> None:
        """One update from a loss."""
        loss.backward()
        nn.utils.clip_grad_norm_(self.parameters, 1.0)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad(set_to_none=True)
        for schedule in self.schedules:
            schedule.step()


def rate_at(step: int, steps: int, constant: float) -> float:
    """Constant for a share of the steps, then linear down to a small rest."""
    if constant == 1:
        return 1.0
    late = max(0.0, step / steps - constant) / (1 - constant)
    return 1 - (1 - LAST_RATE) * late


@dataclass
class Tally:
    """Share of replies that were right in every token, by ability and format, since `clear`."""

    right: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    seen: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def add(self, batch: Batch, picked: torch.Tensor) -> None:
        """Count a batch; `picked` are the most likely pieces at every position."""
        wrong = (picked != batch.targets) & (batch.weights == 1.0)
        for row, exchanges in enumerate(batch.exchanges):
            missed = set(batch.owner[row][wrong[row]].tolist())
            for branch, exchange in enumerate(exchanges, start=1):
                name = f"{exchange.ability}/{form(exchange)}"
                self.seen[name] += 1
                self.right[name] += branch not in missed

    def shares(self) -> dict[str, float]:
        """Accuracy by ability and format."""
        return {name: self.right[name] / n for name, n in sorted(self.seen.items())}

    def clear(self) -> None:
        """Forget what was counted."""
        self.right.clear()
        self.seen.clear()


def form(exchange: Exchange) -> str:
    """The format of a reply: mcq, yes_no or open."""
    if exchange.reply in LETTERS:
        return "mcq"
    return "yes_no" if exchange.reply in ("Yes", "No") else "open"


def answer(model: LlavaForConditionalGeneration, batch: Batch, tally: Tally) -> torch.Tensor:
    """The loss of a batch; what the model would have said is counted."""
    with torch.autocast("cpu", torch.bfloat16):
        hidden = model.model(
            input_ids=batch.ids, pixel_values=batch.pixels, attention_mask=batch.mask, position_ids=batch.positions
        ).last_hidden_state
        asked = batch.targets >= 0
        logits = model.lm_head(hidden[asked]).float()
    picked = torch.full_like(batch.targets, -1)
    picked[asked] = logits.argmax(-1)
    tally.add(batch, picked)
    losses = functional.cross_entropy(logits, batch.targets[asked], reduction="none")
    weights = batch.weights[asked]
    return (losses * weights).sum() / weights.sum()


def _split(module: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Weights of linear layers, and all other parameters."""
    inner = [m.weight for m in module.modules() if isinstance(m, nn.Linear)]
    known = {id(p) for p in inner}
    return inner, [p for p in module.parameters() if id(p) not in known]
