"""Trains the bundled model from nothing: `python -m training.tiny.train --out DIR --seed N`.

Writes `log.txt`, the early checkpoint `early/`, the final one `final/` and `training.json` under
DIR, and stops with an error when a stage does not reach the accuracy the next one needs.
"""

from __future__ import annotations

import argparse
import json
import logging
import platform
import time
from dataclasses import asdict
from pathlib import Path

import torch
import transformers

from training.tiny.learning import log
from training.tiny.network import count_parameters, new_network, new_processor, save
from training.tiny.stages import Steps, Trainer, answer_stages
from training.tiny.wordpieces import learn

EARLY = ("C2", 200)
AFTER_B = "after-b.pt"


def train(out: Path, seed: int, steps: Steps, keep_every: int, resume: Path | None) -> None:
    """All stages, start to end.

    `keep_every` also keeps a checkpoint after so many steps; `resume` names the output of another
    run whose stages A and B are taken over.
    """
    started = time.monotonic()
    torch.manual_seed(seed)
    tokenizer = learn(seed)
    model = new_network(tokenizer)
    model.set_attn_implementation("eager")  # a fifth faster than SDPA with these masks on a CPU
    processor = new_processor(tokenizer)
    log.info("%d parameters, %d pieces", count_parameters(model), len(tokenizer))
    trainer = Trainer(model, tokenizer, seed)

    def keep(stage: str, step: int) -> None:
        if (stage, step) == EARLY:
            save(model, processor, out / "early")
        if keep_every and step % keep_every == 0:
            save(model, processor, out / f"{stage}-{step}")

    if resume is None:
        trainer.learn_lists(steps.lists)
        trainer.learn_patches(steps.patches)
        torch.save(model.state_dict(), out / AFTER_B)
    else:
        model.load_state_dict(torch.load(resume / AFTER_B))
        trainer.skip(steps.lists + steps.patches)
    trainer.join()
    for stage in answer_stages(steps):
        trainer.learn_answers(stage, keep)
    save(model, processor, out / "final")
    facts = {
        "seed": seed,
        "steps": asdict(steps),
        "early": EARLY,
        "seconds": round(time.monotonic() - started),
        "parameters": count_parameters(model),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "machine": platform.machine(),
    }
    (out / "training.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-every", type=int, default=0)
    parser.add_argument("--resume", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    handlers: list[logging.Handler] = [logging.StreamHandler(), logging.FileHandler(args.out / "log.txt", "w")]
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.WARNING, handlers=handlers)
    log.setLevel(logging.INFO)
    torch.set_num_threads(args.threads)
    train(args.out, args.seed, Steps(), args.keep_every, args.resume)


if __name__ == "__main__":
    main()
