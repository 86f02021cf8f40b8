"""A model for the kill tests: notes every request it is sent, then takes its time."""

import asyncio
import os
from pathlib import Path

from snellen import Generate, Generated


class Slow:
    identity = "slow"
    concurrency = 4

    async def answer(self, request: Generate) -> Generated:
        log = Path(os.environ["SLOW_MODEL_LOG"])
        with log.open("a") as file:
            file.write(f"{request.ref.sample}/{request.ref.turn}\n")
        await asyncio.sleep(float(os.environ.get("SLOW_MODEL_SECONDS", "0.01")))
        return Generated(request.choices[0])


slow = Slow()
