"""Configuration of a hub: `hub.toml` in its folder, and variables of the environment."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.settings import first_nonblank

CONFIG_FILE = "hub.toml"
PUBLIC_SHARE = 0.3
"""Of the questions of a hidden split, how many are public unless its owner says otherwise."""
DATABASE_VARIABLE = "SNELLEN_HUB_DATABASE"
PROXIES_VARIABLE = "SNELLEN_HUB_TRUSTED_PROXIES"
URL_VARIABLE = "SNELLEN_HUB_URL"
SMTP_VARIABLE = "SNELLEN_HUB_SMTP_PASSWORD"
STORAGE_VARIABLE = "SNELLEN_HUB_STORAGE"
_DATABASE_FILE = "hub.sqlite"
_STORAGE_FOLDER = "storage"
_URLS = ("database", "storage")
_URL_LINE = re.compile(r"\s*(database|storage)\s*=")

Positive = Annotated[int, Meta(ge=1)]
Days = Annotated[float, Meta(gt=0)]
Minutes = Annotated[float, Meta(gt=0)]


class SubmissionLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What one account may submit."""

    per_day: Positive = 5
    """Submissions of an account to one benchmark in 24 hours, withdrawn ones included."""
    megabytes: Positive = 200
    """Size of an uploaded file, and of what it unpacks to."""
    rows: Positive = 1_000_000


class HiddenSplits(Struct, frozen=True, forbid_unknown_fields=True):
    """Who may submit where answers are hidden."""

    confirmed_only: bool = True
    """Whether only accounts that an owner invited, made or confirmed may submit: every account that
    one person signs up is another look at the answers."""


class SessionLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """How long people and programs stay signed in."""

    session_days: Days = 14
    token_days: Days = 365
    invitation_days: Days = 14


class OpenIdProvider(Struct, frozen=True, forbid_unknown_fields=True):
    """A lab's sign-in by OpenID Connect. Its secret is in `SNELLEN_HUB_OIDC_SECRET`."""

    issuer: Annotated[str, Meta(max_length=250)]
    """As the provider writes itself, such as `https://login.example/realms/lab`."""
    client_id: str
    label: str = "Sign in with your organisation"
    role: Literal["submitter", "viewer"] = "submitter"
    """Role of those who sign in for the first time; owners are made by owners."""
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    """What is asked for."""
    email_domains: tuple[str, ...] = ()
    """Domains of verified e-mail addresses; empty: of any, or none."""
    groups: tuple[str, ...] = ()
    """Groups of which a person must be in one; empty: any."""
    groups_claim: str = "groups"
    """What the provider calls the groups of a person."""


class MailServer(Struct, frozen=True, forbid_unknown_fields=True):
    """The SMTP server by which e-mail addresses are verified. Its password is in
    `SNELLEN_HUB_SMTP_PASSWORD`."""

    host: str
    sender: str
    """The address that letters are from."""
    port: Annotated[int, Meta(ge=1, le=65_535)] = 587
    user: str = ""
    """Empty: nobody signs in to it."""
    encryption: Literal["starttls", "tls", "none"] = "starttls"
    domains: tuple[str, ...] = ()
    """Of addresses that are taken; empty: any."""


class ScoringLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """What scoring one submission may take: a file that needs more fails, and no worker with it."""

    memory_mb: Positive = 4_000
    """Memory beyond what Snellen itself takes, in megabytes (Linux)."""
    minutes: Minutes = 30


class HubConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """Content of `hub.toml`; every field has a default."""

    title: str = "Leaderboards"
    url: str = "http://127.0.0.1:8440"
    """The address that people use, for links and for the check of origins."""
    database: str = ""
    """URL of the database as SQLAlchemy takes it; empty: a SQLite file in the folder.
    `SNELLEN_HUB_DATABASE` overrides it, so that a password need not stand in a file."""
    storage: str = ""
    """URL of the file storage as fsspec takes it, such as s3://bucket/prefix; empty: a folder.
    `SNELLEN_HUB_STORAGE` overrides it."""
    sign_up: bool = False
    """Whether anyone may make an account; else only who was invited."""
    submissions: SubmissionLimits = SubmissionLimits()
    hidden: HiddenSplits = HiddenSplits()
    sessions: SessionLimits = SessionLimits()
    scoring: ScoringLimits = ScoringLimits()
    openid: OpenIdProvider | None = None
    smtp: MailServer | None = None
    """None: addresses are not asked for, and owners confirm who signs up."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses of reverse proxies whose `X-Forwarded-For` is believed."""


def read_config(folder: Path) -> HubConfig:
    """The configuration of the hub in a folder, with what the environment overrides.

    Raises UsageError if the folder holds no hub, or its file cannot be read.
    """
    path = folder / CONFIG_FILE
    if not path.is_file():
        raise UsageError(f"{folder} holds no hub: it has no {CONFIG_FILE}; make one with: snellen hub init {folder}")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error
    return parse_config(text, folder)


def parse_config(text: str, folder: Path) -> HubConfig:
    """The configuration that the text of a `hub.toml` is for the hub of a folder. Raises
    UsageError."""
    try:
        config = msgspec.convert(tomllib.loads(text), type=HubConfig)
    except (msgspec.ValidationError, tomllib.TOMLDecodeError) as error:
        is_unknown = "unknown field" in str(error)
        advice = "; take that line out, or name it as docs/hub-operate.md does under Settings"
        raise UsageError(f"{folder / CONFIG_FILE}: {error}{advice if is_unknown else ''}") from error
    return with_defaults(config, folder)


def check_overrides(folder: Path) -> None:
    """Raises UsageError if the environment names another database than the hub of a folder has:
    the one that was named on the command line would silently be another."""
    given = first_nonblank([DATABASE_VARIABLE])
    own = folder.resolve() / _DATABASE_FILE
    if given is None or not own.exists() or given == f"sqlite:///{own}":
        return
    raise UsageError(
        f"{folder} has a database of its own, {_DATABASE_FILE}, and {DATABASE_VARIABLE} names "
        f"another one; unset it, or move {_DATABASE_FILE} away if the hub has left it"
    )


def with_defaults(config: HubConfig, folder: Path) -> HubConfig:
    """The configuration with the URLs of database and storage filled in."""
    folder = folder.resolve()
    database = first_nonblank([DATABASE_VARIABLE]) or config.database
    storage = first_nonblank([STORAGE_VARIABLE]) or config.storage
    named = (first_nonblank([PROXIES_VARIABLE]) or "").split(",")
    proxies = tuple(filter(None, map(str.strip, named)))
    return replace(
        config,
        database=database or f"sqlite:///{folder / _DATABASE_FILE}",
        storage=storage or str(folder / _STORAGE_FOLDER),
        url=(first_nonblank([URL_VARIABLE]) or config.url).rstrip("/"),
        trusted_proxies=proxies or config.trusted_proxies,
    )


def without_urls(text: str) -> str:
    """The text of a `hub.toml` without the URLs of database and storage, which belong to one place
    and may hold passwords. Raises UsageError if they stand there in an unusual way."""
    lines = text.splitlines(keepends=True)
    first_table = next((n for n, line in enumerate(lines) if line.lstrip().startswith("[")), None)
    head = [line for line in lines[:first_table] if not _URL_LINE.match(line)]
    rest = [] if first_table is None else lines[first_table:]
    shorter = "".join([*head, *rest])
    expected = {name: value for name, value in tomllib.loads(text).items() if name not in _URLS}
    try:
        is_right = tomllib.loads(shorter) == expected
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise UsageError(
            f"the settings {' and '.join(_URLS)} in {CONFIG_FILE} must stand in a line each, such "
            'as: database = "postgresql://..."'
        )
    return shorter
