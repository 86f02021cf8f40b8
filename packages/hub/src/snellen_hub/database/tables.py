"""Tables of a hub.

Times are in UTC. JSON columns hold what is shown and never queried. Secrets (passwords, tokens,
sessions, invitations) are stored as hashes only.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from sqlalchemy import (
    JSON,
    BigInteger,
    DateTime,
    Dialect,
    ForeignKey,
    Index,
    LargeBinary,
    String,
    Text,
    TypeDecorator,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship

from snellen_hub.moment_text import now

Created = Annotated[datetime, mapped_column(default=lambda: now())]
"""When the row was added, unless it says otherwise."""


class UtcDateTime(TypeDecorator[datetime]):
    """A time in UTC. SQLite has no time zones, so they are taken off there and put back."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        if value is None:
            return None
        return value.astimezone(UTC).replace(tzinfo=None if dialect.name == "sqlite" else UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=UTC)


class HubTable(DeclarativeBase):
    """Base of all tables."""

    type_annotation_map = {  # noqa: RUF012 - as SQLAlchemy reads it
        datetime: UtcDateTime,
        dict[str, Any]: JSON,
        list[Any]: JSON,
        str: Text,
    }


class Account(HubTable):
    """A person or a program. Deleted accounts keep their row, without name and password."""

    __tablename__ = "accounts"
    __table_args__ = (Index("ix_accounts_email", "email", unique=True),)

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    role: Mapped[str] = mapped_column(String(16))
    """`owner`, `submitter` or `viewer`."""
    password_hash: Mapped[str | None]
    """Argon2id; None for accounts that sign in by OpenID Connect only."""
    subject: Mapped[str | None] = mapped_column(String(512), unique=True)
    """`issuer subject` of OpenID Connect."""
    created: Mapped[Created]
    disabled: Mapped[datetime | None]
    deleted: Mapped[datetime | None]
    confirmed: Mapped[datetime | None]
    """When an owner vouched for it, by making or inviting it or later, or its e-mail address was
    verified. None: it signed up."""
    email: Mapped[str | None] = mapped_column(String(254))
    """A verified e-mail address in lower case; one account has it."""


class AccessToken(HubTable):
    """A token for programs, of limited scope."""

    __tablename__ = "tokens"

    id: Mapped[int] = mapped_column(primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    label: Mapped[str] = mapped_column(String(128))
    digest: Mapped[bytes] = mapped_column(LargeBinary(32), unique=True)
    scopes: Mapped[list[Any]]
    """Of `read`, `submit`, `admin`."""
    created: Mapped[Created]
    expires: Mapped[datetime]
    used: Mapped[datetime | None]
    revoked: Mapped[datetime | None]

    account: Mapped[Account] = relationship()


class SignIn(HubTable):
    """A browser that is signed in."""

    __tablename__ = "sign_ins"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    csrf: Mapped[str] = mapped_column(String(64))
    created: Mapped[Created]
    expires: Mapped[datetime]
    address: Mapped[str] = mapped_column(String(64), server_default="")
    agent: Mapped[str] = mapped_column(String(200), server_default="")
    """What the browser calls itself, so that a person knows one from another."""

    account: Mapped[Account] = relationship()


class Invitation(HubTable):
    """A link by which one person makes an account with a role."""

    __tablename__ = "invitations"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    role: Mapped[str] = mapped_column(String(16))
    invited_by: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    created: Mapped[Created]
    expires: Mapped[datetime]
    used_by: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"))
    note: Mapped[str] = mapped_column(String(200), server_default="")
    """Whom it is for, as the owner wrote."""


class PasswordReset(HubTable):
    """A link by which a person chooses a new password, once."""

    __tablename__ = "password_resets"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    made_by: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    created: Mapped[Created]
    expires: Mapped[datetime]
    used: Mapped[datetime | None]

    account: Mapped[Account] = relationship(foreign_keys=[account_id])


class EmailLink(HubTable):
    """A link in an e-mail, by which an account shows that it reads what is sent to an address."""

    __tablename__ = "email_links"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), index=True)
    email: Mapped[str] = mapped_column(String(254))
    expires: Mapped[datetime]

    account: Mapped[Account] = relationship()


class OpenIdRequest(HubTable):
    """A browser that was sent to the provider of OpenID Connect and has not come back."""

    __tablename__ = "openid_requests"

    digest: Mapped[bytes] = mapped_column(LargeBinary(32), primary_key=True)
    """Of the secret in the browser's cookie, from which state, nonce and verifier are derived."""
    next_path: Mapped[str] = mapped_column(String(500))
    created: Mapped[Created]
    expires: Mapped[datetime]


class Attempt(HubTable):
    """A failed sign-in or another event that is limited per time, by key."""

    __tablename__ = "attempts"
    __table_args__ = (Index("ix_attempts_key_at", "key", "at"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    key: Mapped[str] = mapped_column(String(200))
    at: Mapped[Created]


class AuditEntry(HubTable):
    """Who did what, and when. Rows are only added."""

    __tablename__ = "audit"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[Created] = mapped_column(index=True)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("accounts.id"), index=True)
    address: Mapped[str] = mapped_column(String(64))
    action: Mapped[str] = mapped_column(String(64))
    subject: Mapped[str] = mapped_column(String(200))
    detail: Mapped[dict[str, Any]]


class HostedBenchmark(HubTable):
    """A benchmark that the hub holds."""

    __tablename__ = "benchmarks"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    """In URLs: lower-case letters, digits, - and _."""
    title: Mapped[str]
    description: Mapped[str]
    spec: Mapped[str]
    """How Snellen opens it, such as `mmbench:split=test`; empty: the data file alone."""
    protocol: Mapped[dict[str, Any]]
    """Options of scoring: parsing rule, columns, policy for failures."""
    is_hidden: Mapped[bool]
    """Whether the answers are hidden: then the data are stored encrypted."""
    data: Mapped[str] = mapped_column(String(200), default="")
    """Key of the complete data in the storage; empty: it has none, and only reported numbers."""
    data_name: Mapped[str] = mapped_column(String(200), default="")
    """File name of the data, whose suffix says how they are read."""
    public_data: Mapped[str | None] = mapped_column(String(200))
    """Key of the data without answers, for download; None: not offered."""
    ids: Mapped[str] = mapped_column(String(200), default="")
    """Key of the questions with the ids of the rows that answer them, as JSON
    (`uploaded_replies.QuestionRows`): what a submission must hold."""
    rows: Mapped[int] = mapped_column(default=0)
    version: Mapped[int] = mapped_column(default=1)
    """Counts changes of the data or of the way they are scored."""
    scoring_data: Mapped[str | None] = mapped_column(String(200))
    """Key of the data without pictures and videos, as JSON Lines, which workers score with; None:
    `data` holds none."""
    public_name: Mapped[str] = mapped_column(String(200), server_default="")
    """File name of `public_data`."""
    layout: Mapped[str] = mapped_column(String(16), server_default="")
    """How its board is laid out: `table`, `mme`, `seed` or `mmt`; empty: by `spec`."""
    draw: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Of a hidden split, as `question_parts.PartDraw`."""
    revealed: Mapped[int] = mapped_column(server_default="0")
    """Private parts that were revealed: they count as public."""
    reveals: Mapped[list[Any]] = mapped_column(server_default="[]")
    """Times of the next reveals in UTC, ISO 8601, the earliest first."""
    phases: Mapped[list[Any]] = mapped_column(server_default="[]")
    """As `phases.Phase`, the earliest first; empty: submissions are taken at any time."""
    created: Mapped[Created]

    @property
    def has_data(self) -> bool:
        """Whether predictions can be scored; else its board has reported numbers only."""
        return bool(self.data)

    @property
    def offers_questions(self) -> bool:
        """Whether the questions can be downloaded: without answers, where these are hidden."""
        return self.public_data is not None or (self.has_data and not self.is_hidden)


class BoardHost(HubTable):
    """An account that manages one benchmark, and nothing else of the hub."""

    __tablename__ = "board_hosts"

    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), primary_key=True)
    role: Mapped[str] = mapped_column(String(16))
    """`owner`: sets phases, reveals, names hosts; `host`: sets phases."""
    created: Mapped[Created]

    account: Mapped[Account] = relationship()
    benchmark: Mapped[HostedBenchmark] = relationship()


class Team(HubTable):
    """Accounts that submit to a benchmark as one: they share limits, submissions and final."""

    __tablename__ = "teams"
    __table_args__ = (UniqueConstraint("benchmark_id", "name"), UniqueConstraint("benchmark_id", "founder_id"))

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"))
    name: Mapped[str] = mapped_column(String(64))
    founder_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    """Whose account stands for all of them where one entry is counted."""
    invitation: Mapped[bytes | None] = mapped_column(LargeBinary(32), unique=True)
    """Digest of the link by which the next member joins; None: nobody is invited."""
    expires: Mapped[datetime | None]
    """Of the link."""
    created: Mapped[Created]

    benchmark: Mapped[HostedBenchmark] = relationship()
    members: Mapped[list[TeamMember]] = relationship(
        back_populates="team", cascade="all, delete-orphan", order_by="TeamMember.created"
    )


class TeamMember(HubTable):
    """An account in a team: in one of each benchmark."""

    __tablename__ = "team_members"

    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"), primary_key=True)
    team_id: Mapped[int] = mapped_column(ForeignKey("teams.id"), index=True)
    created: Mapped[Created]

    account: Mapped[Account] = relationship()
    team: Mapped[Team] = relationship(back_populates="members")


class HostedSuite(HubTable):
    """Benchmarks whose scores stand side by side on one board, with their average."""

    __tablename__ = "suites"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(64), unique=True)
    """In URLs: lower-case letters, digits, - and _."""
    title: Mapped[str]
    description: Mapped[str]
    members: Mapped[list[Any]]
    """In the order of the columns: `{"benchmark": NAME, "weight": 1, "scale": 1}`."""
    created: Mapped[Created]


class Submission(HubTable):
    """Predictions of one model for one benchmark."""

    __tablename__ = "submissions"
    __table_args__ = (
        Index("ix_submissions_benchmark_id_visibility", "benchmark_id", "visibility"),
        Index("ix_submissions_account_id_created", "account_id", "created"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    public_id: Mapped[str] = mapped_column(String(32), unique=True)
    """In URLs: random, so that nobody can count or guess submissions."""
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"))
    model: Mapped[str] = mapped_column(String(200))
    team: Mapped[str] = mapped_column(String(64), server_default="")
    """Name of the team that submitted it; empty: the account alone."""
    facts: Mapped[dict[str, Any]]
    """Of the model, as its submitter says: size, weights, date, route, capabilities, link."""
    kind: Mapped[str] = mapped_column(String(16))
    """`verified`: scored here from a run of the hub's owner; `submitted`: scored here from a file;
    `reported`: a number from elsewhere."""
    status: Mapped[str] = mapped_column(String(16), default="queued")
    """`queued`, `scored` or `failed`."""
    visibility: Mapped[str] = mapped_column(String(16), default="private")
    """`private`, `published` or `withdrawn`."""
    problem: Mapped[str] = mapped_column(default="")
    """Why scoring failed: a sentence; empty otherwise."""
    file: Mapped[str | None] = mapped_column(String(200))
    """Key of the predictions in the storage, encrypted if the answers are hidden."""
    file_name: Mapped[str] = mapped_column(String(200), default="")
    digest: Mapped[str] = mapped_column(String(64), default="")
    size: Mapped[int] = mapped_column(BigInteger, default=0)
    run: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """`run.json` of a run folder, if one was submitted."""
    replaces_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id"))
    source: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Where a reported number is from: title, url, table, note."""
    other_protocol: Mapped[str] = mapped_column(server_default="")
    """How a reported number was made, if otherwise than the benchmark's protocol: a sentence."""
    created: Mapped[Created]
    published: Mapped[datetime | None]

    account: Mapped[Account] = relationship()
    benchmark: Mapped[HostedBenchmark] = relationship()
    scores: Mapped[list[SubmissionScore]] = relationship(back_populates="submission")


class SubmissionScore(HubTable):
    """The numbers of a submission on one version of its benchmark. Older ones are kept."""

    __tablename__ = "scores"
    __table_args__ = (UniqueConstraint("submission_id", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"))
    version: Mapped[int]
    """The version of the benchmark."""
    scored_by: Mapped[str] = mapped_column(String(64))
    """The version of Snellen."""
    headline: Mapped[float | None]
    low: Mapped[float | None]
    high: Mapped[float | None]
    samples: Mapped[int]
    records: Mapped[str | None] = mapped_column(String(200))
    """Key of the scores of its samples, in the order of the data."""
    replies: Mapped[str | None] = mapped_column(String(200))
    """Key of the file of its replies, in the order of the items; None for hidden splits."""
    summary: Mapped[dict[str, Any]]
    """Every number; where answers are hidden, of the questions that were public at this version."""
    created: Mapped[Created]

    submission: Mapped[Submission] = relationship(back_populates="scores")


class FinalScore(HubTable):
    """The one submission of an account or a team that a private part is scored for."""

    __tablename__ = "finals"
    __table_args__ = (UniqueConstraint("benchmark_id", "account_id", "part"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"))
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    """Of a team, its founder's."""
    part: Mapped[int]
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"), index=True)
    """Chosen by the account before the reveal, else by the hub at it."""
    summary: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    """Its numbers on the part; empty until it was scored, after the reveal."""
    scored_by: Mapped[str] = mapped_column(String(64), server_default="")
    """The version of Snellen."""
    created: Mapped[Created]

    submission: Mapped[Submission] = relationship()


class ScoringJob(HubTable):
    """Something that workers do once: score a submission."""

    __tablename__ = "jobs"
    __table_args__ = (
        UniqueConstraint("submission_id", "version"),
        Index("ix_jobs_status_leased_until", "status", "leased_until"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("submissions.id"))
    version: Mapped[int]
    """The version of the benchmark that is scored."""
    status: Mapped[str] = mapped_column(String(16), default="queued")
    """`queued`, `leased`, `done` or `failed`."""
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str] = mapped_column(String(128), default="")
    """Who has the lease, or had it last."""
    lease: Mapped[str] = mapped_column(String(32), default="")
    """Random token of the lease: only its holder may finish the job."""
    leased_until: Mapped[datetime | None]
    problem: Mapped[str] = mapped_column(default="")
    created: Mapped[Created]
    finished: Mapped[datetime | None]

    submission: Mapped[Submission] = relationship()


class WorkerHeartbeat(HubTable):
    """A worker that was alive when it was last seen. One that is stopped takes its row away."""

    __tablename__ = "workers"

    name: Mapped[str] = mapped_column(String(128), primary_key=True)
    version: Mapped[str] = mapped_column(String(64))
    """The version of Snellen."""
    started: Mapped[datetime]
    seen: Mapped[datetime]
    jobs: Mapped[int]
    """Jobs done since it started."""
    job_id: Mapped[int | None]
    """What it works on."""


class BoardChange(HubTable):
    """Something that changed what a board shows. Rows are only added."""

    __tablename__ = "board_changes"

    id: Mapped[int] = mapped_column(primary_key=True)
    at: Mapped[Created] = mapped_column(index=True)
    benchmark_id: Mapped[int | None] = mapped_column(ForeignKey("benchmarks.id"), index=True)
    """None for a change of a suite."""
    submission_id: Mapped[int | None] = mapped_column(ForeignKey("submissions.id"))
    """None for a change of the benchmark itself."""
    kind: Mapped[str] = mapped_column(String(16))
    """`published`, `withdrawn`, `scored`, `data-replaced`, `imported`, `reveals`, `phases` or
    `suite`."""
    before: Mapped[dict[str, Any]]
    """What the board showed of the submission; empty if nothing. Never what it may not show."""
    after: Mapped[dict[str, Any]]

    benchmark: Mapped[HostedBenchmark | None] = relationship()
    submission: Mapped[Submission | None] = relationship()


class WrongLabelFlag(HubTable):
    """A reader's note that a public item is wrong; goes into a review queue."""

    __tablename__ = "wrong_label_flags"
    __table_args__ = (
        Index(
            "ix_wrong_label_flags_once",
            "benchmark_id",
            "account_id",
            "item",
            unique=True,
            sqlite_where=text("settled IS NULL"),
            postgresql_where=text("settled IS NULL"),
        ),
        Index("ix_wrong_label_flags_account_id_created", "account_id", "created"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"), index=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("accounts.id"))
    item: Mapped[str] = mapped_column(String(200))
    kind: Mapped[str] = mapped_column(String(16), server_default="wrong-answer")
    """One of `samples.flags.FLAG_KINDS`."""
    reason: Mapped[str]
    version: Mapped[int] = mapped_column(server_default="1")
    """The version of the benchmark that was flagged."""
    created: Mapped[Created]
    settled: Mapped[datetime | None]
    outcome: Mapped[str] = mapped_column(server_default="")
    """What became of the item: a sentence; empty while the flag is open."""

    account: Mapped[Account] = relationship()
    benchmark: Mapped[HostedBenchmark] = relationship()


class BenchmarkVersion(HubTable):
    """Why a benchmark has another version, and what changed with it."""

    __tablename__ = "benchmark_versions"
    __table_args__ = (UniqueConstraint("benchmark_id", "version"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"))
    version: Mapped[int]
    reason: Mapped[str] = mapped_column(String(16))
    """`added`, `data` (or the protocol), `scoring` (the code that scores), or `reveal`."""
    snellen: Mapped[str] = mapped_column(String(64))
    """The version of Snellen that made it."""
    rows: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the data; empty for hidden splits, whose answers could be guessed with it."""
    changes: Mapped[dict[str, Any]]
    """As `samples.versions.VersionChanges`."""
    created: Mapped[Created]

    benchmark: Mapped[HostedBenchmark] = relationship()


class HostedItem(HubTable):
    """A question of a public split, as pages show it. Hidden splits have none."""

    __tablename__ = "items"
    __table_args__ = (
        UniqueConstraint("benchmark_id", "position"),
        UniqueConstraint("benchmark_id", "name"),
        Index("ix_items_benchmark_id_category", "benchmark_id", "category", "position"),
    )

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"))
    position: Mapped[int]
    """In the data, from 0."""
    name: Mapped[str] = mapped_column(String(200))
    """Its id in the data."""
    category: Mapped[str] = mapped_column(String(200))
    text: Mapped[str]
    """What is searched, in lower case."""
    content: Mapped[dict[str, Any]]
    """As `samples.content.ItemContent`."""


class HostedMedium(HubTable):
    """A picture or video of a benchmark, or a file of subtitles: of a public split, or of the
    public data of a hidden one. Its key in the storage is its digest."""

    __tablename__ = "media"
    __table_args__ = (UniqueConstraint("benchmark_id", "digest"),)

    id: Mapped[int] = mapped_column(primary_key=True)
    benchmark_id: Mapped[int] = mapped_column(ForeignKey("benchmarks.id"))
    digest: Mapped[str] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(8))
    """`image`, `video` or `text`."""
    content_type: Mapped[str] = mapped_column(String(64))
    """By its first bytes; empty if browsers must not show it."""
    size: Mapped[int] = mapped_column(BigInteger)
    paths: Mapped[list[Any]]
    """Where it stands beside the data file; empty if it is inside of that."""
