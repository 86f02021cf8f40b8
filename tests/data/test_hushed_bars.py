"""Progress bars of the Hugging Face libraries, for whoever asked for silence."""

from __future__ import annotations

import os
import subprocess
import sys

_ASK = (
    "from snellen.settings import disable_progress_bars; {before} "
    "from datasets.utils import are_progress_bars_disabled as data; "
    "from huggingface_hub.utils import are_progress_bars_disabled as hub; print(data(), hub())"
)


def bars_off(before: str) -> str:
    command = [sys.executable, "-c", _ASK.format(before=before)]
    plain = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=plain)
    return done.stdout.strip()


def test_libraries_that_are_imported_later_show_no_bars() -> None:
    assert bars_off("disable_progress_bars();") == "True True"
    assert bars_off("") == "False False"
