"""A worker: takes jobs one after the other, and renews the lease of the one it works on."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from snellen.core.errors import StorageError
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.jobs.queue import (
    LEASE,
    LeasedJob,
    LeaseLost,
    renew_lease,
    take_job,
)
from snellen.leaderboard_hub.jobs.scoring import fail_submission, score_submission

Notify = Callable[[str], object]
_PAUSE = 1.0
"""Seconds between two looks at an empty queue."""


class Worker:
    """Works until it is stopped; a stop ends it after the job at hand."""

    def __init__(self, hub: Hub, notify: Notify, lease: timedelta = LEASE) -> None:
        self._hub = hub
        self._notify = notify
        self._lease = lease
        self._stopped = threading.Event()
        self.name = f"{socket.gethostname()}-{os.getpid()}"

    def stop(self) -> None:
        self._stopped.set()

    def work(self, *, until_empty: bool = False) -> int:
        """Do jobs until stopped, or until none is left; returns their number."""
        done = 0
        while not self._stopped.is_set():
            job = take_job(self._hub.database, self.name, self._lease)
            if job is not None:
                done += self._run_job(job)
            elif until_empty:
                break
            else:
                self._stopped.wait(_PAUSE)
        return done

    def _run_job(self, job: LeasedJob) -> bool:
        """Score one submission while another thread renews the lease; returns whether this
        worker did the job. Raises StorageError."""
        ended = threading.Event()
        renewing = threading.Thread(target=self._renew, args=(job, ended), daemon=True)
        renewing.start()
        try:
            score_submission(self._hub, job)
        except LeaseLost as lost:
            self._notify(f"{lost}: its result is not written twice")
            return False
        except StorageError:
            raise
        except Exception as error:  # noqa: BLE001 - recorded with the job
            # A mistake of ours: the job fails with it, and the worker goes on with the next one.
            with suppress(LeaseLost):
                problem = f"{type(error).__name__}: {error}"
                fail_submission(self._hub, job, problem, may_retry=True)
            self._notify(f"job {job.id} failed: {type(error).__name__}: {error}")
            return False
        finally:
            ended.set()
            renewing.join()
        self._notify(f"job {job.id}: submission {job.submission_id} done")
        return True

    def _renew(self, job: LeasedJob, ended: threading.Event) -> None:
        while not ended.wait(self._lease.total_seconds() / 3):
            try:
                renew_lease(self._hub.database, job, self._lease)
            except LeaseLost:
                return
            except StorageError:
                continue
