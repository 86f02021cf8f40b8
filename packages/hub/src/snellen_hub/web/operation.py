"""What operators see of a server: health, metrics for Prometheus, a log of requests."""

from __future__ import annotations

import shutil
import threading
import time
from secrets import token_hex

from fastapi import APIRouter, FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import func, select
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snellen import __version__
from snellen_hub.database.tables import ScoringJob, Submission
from snellen_hub.hub import Hub
from snellen_hub.jobs.heartbeat import is_alive, read_workers
from snellen_hub.moment_text import now
from snellen_hub.storage import PROBE_KEY
from snellen_hub.web.access import client_address
from snellen_hub.web.logs import log_line

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_JOB_STATES = ("queued", "leased", "done", "failed")
_SUBMISSION_STATES = ("queued", "scored", "failed")
_READY_SECONDS = 2.0
"""For how long the answer of `/health` holds: whoever asks more often costs no more."""
_SIZE_SECONDS = 600.0
"""For how long the size of the storage holds."""


class RequestObserver:
    """Counts and logs each request with its status and duration, and adds headers to answers that
    have none of their own."""

    def __init__(self, app: ASGIApp, registry: CollectorRegistry, headers: dict[str, str]) -> None:
        self._app = app
        self._headers = headers
        prefix = "snellen_hub_request"
        labels = ["route", "method", "status"]
        self._requests = Counter(f"{prefix}s", "Requests", labels, registry=registry)
        self._seconds = Histogram(f"{prefix}_seconds", "Seconds of a request", ["route"], registry=registry)
        self._going_on = Gauge(f"{prefix}s_going_on", "Requests that are being answered", registry=registry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, name, status = time.monotonic(), token_hex(8), 500

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for header, value in self._headers.items():
                    headers.setdefault(header, value)
                headers["X-Request-Id"] = name
            await send(message)

        self._going_on.inc()
        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            self._going_on.dec()
            # The pattern of the path, never the path: it may hold an invitation.
            route = getattr(scope.get("route"), "path", "unknown")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            duration = time.monotonic() - started
            self._requests.labels(route, method, status).inc()
            self._seconds.labels(route).observe(duration)
            address = client_address(Request(scope))
            log_line(
                "request",
                request=name,
                method=method,
                route=route,
                status=status,
                ms=round(1000 * duration, 1),
                address=address,
            )


def add_operation(app: FastAPI, hub: Hub, headers: dict[str, str]) -> None:
    """Add `/health`, `/health/live`, `/metrics`, and the log of requests."""
    registry = CollectorRegistry()
    readiness = _Readiness(hub)
    gauges = _HubGauges(hub, registry)
    router = APIRouter(include_in_schema=False)

    @router.get("/health/live")
    def live() -> dict[str, str]:
        """Whether this process answers at all: if it does not, start it again."""
        return {"status": "ok", "version": __version__}

    @router.get("/health")
    @router.get("/health/ready")
    def ready() -> dict[str, str]:
        """Whether database and storage answer: as long as they do not, send no requests."""
        readiness.check()
        return {"status": "ok", "version": __version__}

    @router.get("/metrics")
    def metrics() -> Response:
        """Counts for Prometheus."""
        gauges.read()
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4")

    app.include_router(router)
    app.add_middleware(RequestObserver, registry=registry, headers=headers)


class _Readiness:
    """Whether database and storage answer, asked at most every two seconds."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._until = 0.0

    def check(self) -> None:
        """Raises UsageError and HubUnavailable."""
        with self._lock:
            if time.monotonic() < self._until:
                return
            self._hub.database.check()
            self._hub.storage.describe(PROBE_KEY)
            self._until = time.monotonic() + _READY_SECONDS


class _HubGauges:
    """Numbers of the whole hub, from its database: the same on every server."""

    def __init__(self, hub: Hub, registry: CollectorRegistry) -> None:
        self._hub = hub
        self._lock = threading.Lock()
        self._sized_at: float | None = None

        def gauge(name: str, help: str, *labels: str) -> Gauge:
            return Gauge(f"snellen_hub_{name}", help, labels, registry=registry)

        self._jobs = gauge("jobs", "Jobs by status", "status")
        self._oldest = gauge("oldest_job_seconds", "Age of the oldest job that waits")
        self._workers = gauge("workers", "Workers that live")
        self._submissions = gauge("submissions", "Submissions by status", "status")
        self._uploaded = gauge("uploaded_bytes", "Bytes of all submissions")
        self._stored = gauge("storage_bytes", "Bytes in the storage, counted every ten minutes; of a folder only")
        self._free = gauge("storage_free_bytes", "Bytes free on its disk")

    def read(self) -> None:
        """Set all gauges. Raises HubUnavailable."""
        with self._lock:
            with self._hub.database.reading() as session:
                jobs = select(ScoringJob.status, func.count()).group_by(ScoringJob.status)
                submissions = select(Submission.status, func.count()).group_by(Submission.status)
                by_job = {row[0]: row[1] for row in session.execute(jobs)}
                by_submission = {row[0]: row[1] for row in session.execute(submissions)}
                waits = select(func.min(ScoringJob.created)).where(ScoringJob.status == "queued")
                oldest = session.scalar(waits)
                uploaded = session.scalar(select(func.sum(Submission.size))) or 0
                alive = sum(map(is_alive, read_workers(session)))
            for status in _JOB_STATES:
                self._jobs.labels(status).set(by_job.get(status, 0))
            for status in _SUBMISSION_STATES:
                self._submissions.labels(status).set(by_submission.get(status, 0))
            self._oldest.set(0 if oldest is None else (now() - oldest).total_seconds())
            self._workers.set(alive)
            self._uploaded.set(float(uploaded))
            self._read_sizes()

    def _read_sizes(self) -> None:
        folder = self._hub.storage.folder
        if folder is None or not folder.is_dir():
            return
        self._free.set(shutil.disk_usage(folder).free)
        moment = time.monotonic()
        if self._sized_at is None or moment - self._sized_at > _SIZE_SECONDS:
            self._stored.set(sum(file.size for file in self._hub.storage.list_files()))
            self._sized_at = moment
