"""The first page: what the hub holds."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from sqlalchemy import select

from snellen.leaderboard_hub.database.tables import HostedBenchmark
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.web.access import hub_of
from snellen.leaderboard_hub.web.pages.frame import render

router = APIRouter(include_in_schema=False)


@router.get("/")
def home(request: Request, hub: Annotated[Hub, Depends(hub_of)]) -> Response:
    """Every benchmark of the hub."""
    with hub.database.reading() as session:
        rows = session.scalars(select(HostedBenchmark).order_by(HostedBenchmark.name)).all()
    return render(request, "home.html", benchmarks=rows)
