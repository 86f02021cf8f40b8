"""What a request names."""

from __future__ import annotations

from fastapi import HTTPException
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.leaderboard_hub.database.tables import HostedBenchmark


def find_benchmark(session: Session, name: str) -> HostedBenchmark:
    """The benchmark of a name in an address. Raises 404."""
    row = session.scalar(select(HostedBenchmark).where(HostedBenchmark.name == name))
    if row is None:
        raise HTTPException(404, f"this hub has no benchmark {name}")
    return row
