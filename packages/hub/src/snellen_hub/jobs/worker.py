"""A worker: takes jobs one after the other, renews the lease of the one it works on, and says that
it lives."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from snellen_hub.accounts.access import delete_expired
from snellen_hub.clear_copies import left_copies
from snellen_hub.errors import HubUnavailable
from snellen_hub.hub import Hub
from snellen_hub.jobs.heartbeat import BEAT, forget_worker, note_worker
from snellen_hub.jobs.queue import LEASE, LeasedJob, LeaseLost, renew_lease, return_job, take_job
from snellen_hub.jobs.scoring import fail_submission, score_submission
from snellen_hub.jobs.scoring_process import ScoringAbandoned, ScoringDied, start_server
from snellen_hub.moment_text import now
from snellen_hub.reveals import reveal_due

Notify = Callable[[str], object]
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.25, 2.0
"""Seconds between two looks at an empty queue: longer and longer until there is a job."""
_OUTAGE_PAUSE = 5.0
"""Seconds between two attempts while database or storage do not answer."""
_RETURNED_FOR = timedelta(seconds=15)
"""How long a job waits that an outage interrupted."""
_STOP_SECONDS = 8.0
"""Time that a stop leaves to the job at hand. Containers are killed after ten seconds."""
_HOUSEKEEPING = timedelta(hours=1)


class Worker:
    """Works until it is stopped; then the job at hand is done or given back."""

    def __init__(self, hub: Hub, notify: Notify, lease: timedelta = LEASE) -> None:
        self._hub = hub
        self._notify = notify
        self._lease = lease
        self._stopped = threading.Event()
        self._stop_by = 0.0
        self._started = now()
        self._done = 0
        self._job: LeasedJob | None = None
        self.name = f"{socket.gethostname()}-{os.getpid()}"

    def stop(self) -> None:
        """End soon: the job at hand has eight seconds left; if this is called again, none."""
        if not self._stopped.is_set():
            self._stop_by = time.monotonic() + _STOP_SECONDS
        else:
            self._stop_by = 0.0
        self._stopped.set()

    def work(self, *, until_empty: bool = False) -> int:
        """Do jobs until stopped, or until none is left; returns their number.

        While database or storage do not answer it waits for them, unless `until_empty`: then it
        raises HubUnavailable.
        """
        for path in left_copies():
            shutil.rmtree(path, ignore_errors=True)
            self._notify(f"deleted {path}: a process that was killed left it, with answers")
        start_server()
        ended = threading.Event()
        beating = threading.Thread(target=self._beat, args=(ended,), daemon=True)
        beating.start()
        pause = _SHORTEST_PAUSE
        try:
            while not self._stopped.is_set():
                try:
                    job = take_job(self._hub.database, self.name, self._lease)
                    if job is not None:
                        self._done += self._run_job(job)
                        pause = _SHORTEST_PAUSE
                        continue
                except HubUnavailable as error:
                    if until_empty:
                        raise
                    self._notify(f"{error}; trying again")
                    self._stopped.wait(_OUTAGE_PAUSE)
                    continue
                if until_empty:
                    break
                self._stopped.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            ended.set()
            beating.join()
            with suppress(HubUnavailable), self._hub.database.writing() as session:
                forget_worker(session, self.name)
        return self._done

    def _run_job(self, job: LeasedJob) -> bool:
        """Score one submission while another thread renews the lease; returns whether this
        worker did the job. Raises HubUnavailable after the job has been given back."""
        ended, lost = threading.Event(), threading.Event()
        renewing = threading.Thread(target=self._renew, args=(job, ended, lost), daemon=True)
        self._job = job
        renewing.start()
        try:
            score_submission(self._hub, job, lambda: lost.is_set() or self._is_late())
        except LeaseLost as error:
            self._notify(f"{error}: its result is not written twice")
            return False
        except ScoringAbandoned:
            self._return(job, timedelta(0))
            return False
        except HubUnavailable as error:
            self._return(job, _RETURNED_FOR, str(error))
            raise
        except Exception as error:  # noqa: BLE001 - recorded with the job
            # A mistake of ours, or the end of the process that scores: the job fails with it, and
            # the worker goes on with the next one.
            name = "" if isinstance(error, ScoringDied) else f"{type(error).__name__}: "
            problem = f"{name}{error}"
            with suppress(LeaseLost):
                fail_submission(self._hub, job, problem, may_retry=True)
            self._notify(f"job {job.id} failed: {problem}")
            return False
        finally:
            self._job = None
            ended.set()
            renewing.join()
        self._notify(f"job {job.id}: submission {job.submission_id} done")
        return True

    def _is_late(self) -> bool:
        return self._stopped.is_set() and time.monotonic() > self._stop_by

    def _return(self, job: LeasedJob, delay: timedelta, problem: str = "") -> None:
        """Give a job back; while the database does not answer, try until the lease has ended."""
        end = time.monotonic() + self._lease.total_seconds()
        while True:
            try:
                return_job(self._hub.database, job, delay, problem)
            except LeaseLost:
                self._notify(f"job {job.id} was done, or taken by another worker")
                return
            except HubUnavailable:
                if self._is_late() or time.monotonic() > end:
                    return
                self._stopped.wait(_SHORTEST_PAUSE)
                continue
            self._notify(f"job {job.id} was given back" + (f": {problem}" if problem else ""))
            return

    def _renew(self, job: LeasedJob, ended: threading.Event, lost: threading.Event) -> None:
        while not ended.wait(self._lease.total_seconds() / 3):
            try:
                renew_lease(self._hub.database, job, self._lease)
            except LeaseLost:
                lost.set()
                return
            except HubUnavailable:
                continue

    def _beat(self, ended: threading.Event) -> None:
        """Say every half minute that this worker lives, reveal what is due, and delete every hour
        what has expired."""
        cleaned = None
        while True:
            try:
                with self._hub.database.writing() as session:
                    job = self._job
                    note_worker(session, self.name, self._started, self._done, None if job is None else job.id)
                    if cleaned is None or now() - cleaned > _HOUSEKEEPING:
                        delete_expired(session)
                        cleaned = now()
                    lines = reveal_due(session)
                for line in lines:
                    self._notify(line)
            except HubUnavailable:
                pass
            if ended.wait(BEAT.total_seconds()):
                return
