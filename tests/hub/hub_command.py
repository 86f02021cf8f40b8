"""`snellen` in processes that know one hub, and keep what they fetch in one place."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Command:
    """`snellen` with a hub and a home for its cache."""

    endpoint: str
    home: Path

    def __call__(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        own = {
            "HF_ENDPOINT": self.endpoint,
            "HF_HOME": str(self.home / "hf"),
            "SNELLEN_CACHE": str(self.home / "cache"),
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
        return subprocess.run(
            [sys.executable, "-m", "snellen", *words],
            env=kept | own | environment,
            cwd=self.home,
            text=True,
            capture_output=True,
            timeout=120,
        )
