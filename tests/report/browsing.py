"""A real browser, where there is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest
from playwright import sync_api

# A busy machine draws slowly; what never comes still fails.
sync_api.expect.set_options(timeout=20_000)

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def launched() -> Iterator[sync_api.Browser]:
    """The browser of this machine, closed afterwards; skips the test where none is installed."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser: none of {', '.join(NAMES)} is installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()
