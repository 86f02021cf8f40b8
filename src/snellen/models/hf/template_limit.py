"""A time limit for the chat templates of checkpoints, which are programs of strangers.

A template in jinja2's sandbox can do no harm but take for ever, and neither a thread nor a signal
stops it everywhere: it may be in the midst of one long operation. So the first prompts are rendered
in a process of their own before they are rendered here, one process for all templates.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from snellen.core.errors import UsageError
from snellen.core.limits import raising_advice

_TRIALS_PER_TEMPLATE = 3
"""Prompts of a template that are tried; what it does may depend on the words of a prompt."""


class TemplateTrial:
    """Tries templates in one process, which is started when the first is tried."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        """The process that started it: a fork of that one starts its own."""
        self._trial_counts: Counter[str] = Counter()

    def check(
        self, template: str, values: Mapping[str, Any], seconds: int, model_name: str
    ) -> None:
        """Raises UsageError where the template takes longer than `seconds`, or more memory than
        there is. `values` are what a prompt hands to it, and can be written as JSON."""
        with self._lock:
            if self._trial_counts[template] >= _TRIALS_PER_TEMPLATE:
                return
            self._trial_counts[template] += 1
            if not self._finishes(json.dumps({"template": template, "values": values}), seconds):
                self._trial_counts.pop(template)
                raise UsageError(
                    f"the chat template of {model_name} is not rendered within {seconds} s and "
                    "4 GB of memory; such a template is broken or hostile, so the model is not "
                    "asked; "
                    f"{raising_advice('template_s')}"
                )

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if (
            self._owner != os.getpid()
            or process is None
            or process.stdin is None
            or process.stdout is None
        ):
            return
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def _finishes(self, line: str, seconds: int) -> bool:
        process = self._running_process()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(seconds, process.kill)
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(line + "\n")
            process.stdin.flush()
            done = process.stdout.readline().strip() == "done"
        except OSError:
            done = False
        finally:
            timer.cancel()
        if not done:
            self.close()
        return done

    def _running_process(self) -> subprocess.Popen[str]:
        if self._owner != os.getpid():
            self._process = None
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._owner = os.getpid()
            script = Path(__file__).with_name("template_trial.py")
            # -P: the script's folder holds modules that are called as Python's own.
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(script)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                encoding="utf-8",
            )
        return self._process


TRIAL = TemplateTrial()
atexit.register(TRIAL.close)
