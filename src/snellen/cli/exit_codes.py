"""Exit codes of the command line."""

from __future__ import annotations

COMPLETE = 0
INCOMPLETE = 1
"""Samples failed or are missing, or something was found that a check looks for."""
MISTAKE = 2
"""The user's mistake: one sentence on standard error."""
INTERRUPTED = 130
"""Ctrl-C, as of a process that SIGINT ended."""
