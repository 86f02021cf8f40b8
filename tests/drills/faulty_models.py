"""Models of a user's own that misbehave, each in its way."""

import asyncio
import os
import time
from dataclasses import replace
from pathlib import Path

from snellen import Capabilities, Generate, Generated
from snellen.benchmarks.declaration.data_file import data_file_declaration
from snellen.benchmarks.protocol.ranking import ranked_flow
from snellen.core.output import CandidateScore, Ranked


def _note(request):
    with Path(os.environ["SENT_LOG"]).open("a") as file:
        file.write(f"{request.ref.sample}\n")


def right(request):
    _note(request)
    return "B"


def raises_on_7(request):
    if request.ref.sample == "7":
        raise ValueError("no luck with seven")
    return "B"


def gives_none(request):
    return None


def gives_a_number(request):
    return 42


def hangs(request):
    _note(request)
    time.sleep(600)


def exits(request):
    raise SystemExit("the model wants to leave")


class Patient:
    """Takes its time, four at once."""

    identity = "patient"
    concurrency = 4

    async def answer(self, request: Generate) -> Generated:
        _note(request)
        await asyncio.sleep(float(os.environ.get("PATIENCE", "0.01")))
        return Generated("B")


class HangsAsync:
    identity = "hangs-async"

    async def answer(self, request):
        _note(request)
        await asyncio.sleep(600)


class Sulks:
    """Raises from a batch of which one request displeases it; returns too few otherwise."""

    identity = "sulks"
    batch_size = 4

    def answer_batch(self, requests):
        return [Generated("B") for _ in requests[1:]]


class NotANumber:
    """Log-likelihoods overflow on odd questions, as half-precision models do."""

    identity = "not-a-number"
    capabilities = Capabilities(inputs=frozenset({"text"}), log_likelihood=True)

    def answer(self, request):
        odd = int(request.ref.sample) % 2
        low = CandidateScore(float("nan") if odd else -2.0, 1)
        return Ranked(tuple(CandidateScore(-1.0, 1) if c == "two" else low for c in request.candidates))


def ranked_questions(variant):
    """The drill's questions, answered by ranking the options."""
    return replace(data_file_declaration(os.environ["DATA"])(variant), flow=ranked_flow)


patient, hangs_async, sulks, not_a_number = Patient(), HangsAsync(), Sulks(), NotANumber()
