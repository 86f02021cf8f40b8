"""A time limit for the chat templates of checkpoints, which are programs from strangers.

A template in jinja2's sandbox can do no harm except run for ever, and neither a thread nor a signal
stops it on every system: it may be inside one long operation. The first prompts are therefore
rendered in a separate process before they are rendered here; one process serves all templates.
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
"""Prompts of a template that are tried; its run time may depend on the text of the prompt."""


class TemplateTrial:
    """Tries templates in a process that is started for the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._owner = 0
        """Id of the process that started it: a fork of this process must start another."""
        self._trial_counts: Counter[str] = Counter()

    def check(self, template: str, values: Mapping[str, Any], seconds: int, model_name: str) -> None:
        """Render a template in the other process; `values` are its variables, which JSON can hold.

        Raises UsageError if that takes longer than `seconds` or too much memory.
        """
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
        """End the other process."""
        process, self._process = self._process, None
        if self._owner != os.getpid() or process is None or process.stdin is None or process.stdout is None:
            return
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def _finishes(self, line: str, seconds: int) -> bool:
        """Send one job, a line of JSON; whether it ends within `seconds`. Kills it otherwise."""
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
        """The other process, started if it is not running."""
        if self._owner != os.getpid():
            self._process = None
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._owner = os.getpid()
            script = Path(__file__).with_name("template_trial.py")
            # -P keeps the script's folder off the path: its modules have names of the standard
            # library's.
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
