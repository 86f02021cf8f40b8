"""The page of limits: every setting on it exists, and every limit is on it with its value."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest
from tests.fuzz import pieces, test_readers

from snellen.benchmarks.documents import tablevqabench
from snellen.core.limits import DEFAULT_LIMITS, RATIO_FROM, Limits, limit_variable
from snellen.core.media import FORMATS
from snellen.data import modelscope
from snellen.data.media import frames
from snellen.data.tables import unpack
from snellen.extract import verdicts
from snellen.models.hf import template_limit, template_trial
from snellen.models.remote import http, media, options, probe
from snellen.scoring import mathematics, terms
from snellen.settings import Settings
from snellen.view import local_server

TEXT = (Path(__file__).parents[2] / "docs" / "limits.md").read_text(encoding="utf-8")
ROWS = [line for line in TEXT.splitlines() if line.startswith("|")]
MB, GB = 1 << 20, 1 << 30
DEFAULTS = {option.name: option.meaning for option in options.OPTIONS}


@pytest.mark.parametrize("name", [one.name for one in fields(Limits)])
def test_a_limit_is_on_the_page_with_its_setting(name: str) -> None:
    [row] = [row for row in ROWS if f"`{limit_variable(name)}`" in row]
    value = getattr(DEFAULT_LIMITS, name)
    assert f" {value:,} " in row or f" {value // 1_000_000} million " in row or f" {value};" in row


def test_a_setting_on_the_page_exists_and_is_read() -> None:
    known = {limit_variable(one.name): one.name for one in fields(Limits)}
    named = set(re.findall(r"SNELLEN_MAX_[A-Z_]+", TEXT))
    assert named == set(known)
    for variable, name in known.items():
        read = Settings.from_environment({"SNELLEN_CACHE": "/x", variable: "7"})
        assert getattr(read.limits, name) == 7
        assert read.limits != DEFAULT_LIMITS
    read = Settings.from_environment({"SNELLEN_CACHE": "/x", "SNELLEN_MEDIA_FOLDERS": "/a:/b"})
    assert read.media_folders == (Path("/a"), Path("/b"))
    assert "SNELLEN_MEDIA_FOLDERS" in TEXT


def test_an_option_on_the_page_exists() -> None:
    named = set(re.findall(r"option `(\w+)=", TEXT))
    assert named == {"max_reply_mb", "timeout", "first_timeout", "picture_host"}
    assert named <= set(DEFAULTS)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (http._CONNECT_TIMEOUT, "| time for a connection | 20 s |"),
        (http._MAX_ERROR_BYTES / MB, "the first 1 MB is read"),
        (probe._MAX_PAGES, "list of models | 20 |"),
        (modelscope._MAX_LISTING / MB, "ModelScope | 64 MB a page"),
        (http._MAX_REDIRECTS, "redirects of a drawn picture | 3,"),
        (frames.CACHE_LIMIT / GB, "cache folder | 20 GB;"),
        (media.LIMIT / MB, "for servers | 64 MB |"),
        (RATIO_FROM / MB, "from 256 MB on"),
        (unpack.FREE_SPACE / 1e9, "less than\n0.3 GB is left"),
        (local_server.IDLE_SECONDS, "silent for 10 s"),
        (template_trial._MEMORY / GB, "4 GB of memory"),
        (template_limit._TRIALS_PER_TEMPLATE, "the first three prompts"),
        (mathematics._MAX_LENGTH, "| 160 characters, brackets"),
        (mathematics._MAX_DEPTH, "6 deep |"),
        (mathematics._MAX_DIGITS, "| 300 digits |"),
        (terms._MAX_EXPONENT, "exponents up to 1000;"),
        (tablevqabench._MAX_LENGTH, "| 1000 characters |"),
        (verdicts._MAX_DECODED / 1e6, "about 1 million characters"),
        (test_readers.SECONDS / 2, "less than 0.5 s"),
        (pieces.LENGTH // 1000, "for 100,000 characters"),
    ],
)
def test_a_fixed_limit_is_on_the_page(value: float, words: str) -> None:
    assert words in TEXT
    said = re.search(r"[\d.]+", words)
    assert round(value, 1) == (float(said[0]) if said else {"three": 3}["three"])


def test_the_default_of_an_option_is_on_the_page() -> None:
    for name, row in (("max_reply_mb", "| one reply"), ("timeout", "| time for one reply")):
        default = re.search(r"default (\d+)", DEFAULTS[name])
        assert default is not None
        assert any(line.startswith(row) and f" {default[1]} " in line for line in ROWS)


def test_the_formats_of_pictures_are_on_the_page() -> None:
    said = TEXT.lower().replace("jpeg 2000", "jpeg2000")
    assert all(name.lower() in said for name in FORMATS)
