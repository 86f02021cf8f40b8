"""Suites, changes of boards, reported numbers."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from snellen.leaderboard_hub.database.tables import UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "openid_requests",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("next_path", sa.String(length=500), nullable=False),
        sa.Column("created", UtcDateTime(timezone=True), nullable=False),
        sa.Column("expires", UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_openid_requests")),
    )
    op.create_table(
        "suites",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("members", sa.JSON(), nullable=False),
        sa.Column("created", UtcDateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_suites")),
        sa.UniqueConstraint("name", name=op.f("uq_suites_name")),
    )
    op.create_table(
        "workers",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("started", UtcDateTime(timezone=True), nullable=False),
        sa.Column("seen", UtcDateTime(timezone=True), nullable=False),
        sa.Column("jobs", sa.Integer(), nullable=False),
        sa.Column("job_id", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_workers")),
    )
    op.create_table(
        "benchmark_versions",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("reason", sa.String(length=16), nullable=False),
        sa.Column("snellen", sa.String(length=64), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("created", UtcDateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_benchmark_versions_benchmark_id_benchmarks"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_benchmark_versions")),
        sa.UniqueConstraint(
            "benchmark_id", "version", name=op.f("uq_benchmark_versions_benchmark_id_version")
        ),
    )
    op.create_table(
        "items",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(length=200), nullable=False),
        sa.Column("category", sa.String(length=200), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_id"], ["benchmarks.id"], name=op.f("fk_items_benchmark_id_benchmarks")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_items")),
        sa.UniqueConstraint("benchmark_id", "name", name=op.f("uq_items_benchmark_id_name")),
        sa.UniqueConstraint(
            "benchmark_id", "position", name=op.f("uq_items_benchmark_id_position")
        ),
    )
    with op.batch_alter_table("items", schema=None) as batch_op:
        batch_op.create_index(
            "ix_items_benchmark_id_category", ["benchmark_id", "category", "position"], unique=False
        )

    op.create_table(
        "media",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("content_type", sa.String(length=64), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("paths", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_id"], ["benchmarks.id"], name=op.f("fk_media_benchmark_id_benchmarks")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_media")),
        sa.UniqueConstraint("benchmark_id", "digest", name=op.f("uq_media_benchmark_id_digest")),
    )
    op.create_table(
        "password_resets",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("account_id", sa.Integer(), nullable=False),
        sa.Column("made_by", sa.Integer(), nullable=False),
        sa.Column("created", UtcDateTime(timezone=True), nullable=False),
        sa.Column("expires", UtcDateTime(timezone=True), nullable=False),
        sa.Column("used", UtcDateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["account_id"], ["accounts.id"], name=op.f("fk_password_resets_account_id_accounts")
        ),
        sa.ForeignKeyConstraint(
            ["made_by"], ["accounts.id"], name=op.f("fk_password_resets_made_by_accounts")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_password_resets")),
    )
    with op.batch_alter_table("password_resets", schema=None) as batch_op:
        batch_op.create_index(
            batch_op.f("ix_password_resets_account_id"), ["account_id"], unique=False
        )

    op.create_table(
        "board_changes",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", UtcDateTime(timezone=True), nullable=False),
        sa.Column("benchmark_id", sa.Integer(), nullable=True),
        sa.Column("submission_id", sa.Integer(), nullable=True),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("before", sa.JSON(), nullable=False),
        sa.Column("after", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(
            ["benchmark_id"],
            ["benchmarks.id"],
            name=op.f("fk_board_changes_benchmark_id_benchmarks"),
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"],
            ["submissions.id"],
            name=op.f("fk_board_changes_submission_id_submissions"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_board_changes")),
    )
    with op.batch_alter_table("board_changes", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_board_changes_at"), ["at"], unique=False)
        batch_op.create_index(
            batch_op.f("ix_board_changes_benchmark_id"), ["benchmark_id"], unique=False
        )

    with op.batch_alter_table("accounts", schema=None) as batch_op:
        batch_op.add_column(sa.Column("deleted", UtcDateTime(timezone=True), nullable=True))

    with op.batch_alter_table("benchmarks", schema=None) as batch_op:
        batch_op.add_column(sa.Column("scoring_data", sa.String(length=200), nullable=True))
        batch_op.add_column(
            sa.Column("public_name", sa.String(length=200), server_default="", nullable=False)
        )
        batch_op.add_column(
            sa.Column("layout", sa.String(length=16), server_default="", nullable=False)
        )

    with op.batch_alter_table("invitations", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("note", sa.String(length=200), server_default="", nullable=False)
        )

    with op.batch_alter_table("scores", schema=None) as batch_op:
        batch_op.add_column(sa.Column("replies", sa.String(length=200), nullable=True))

    with op.batch_alter_table("sign_ins", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("address", sa.String(length=64), server_default="", nullable=False)
        )
        batch_op.add_column(
            sa.Column("agent", sa.String(length=200), server_default="", nullable=False)
        )

    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("source", sa.JSON(), server_default="{}", nullable=False))
        batch_op.add_column(
            sa.Column("other_protocol", sa.Text(), server_default="", nullable=False)
        )

    with op.batch_alter_table("wrong_label_flags", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("kind", sa.String(length=16), server_default="wrong-answer", nullable=False)
        )
        batch_op.add_column(sa.Column("version", sa.Integer(), server_default="1", nullable=False))
        batch_op.add_column(sa.Column("outcome", sa.Text(), server_default="", nullable=False))
        batch_op.create_index(
            "ix_wrong_label_flags_account_id_created", ["account_id", "created"], unique=False
        )
        batch_op.create_index(
            "ix_wrong_label_flags_once",
            ["benchmark_id", "account_id", "item"],
            unique=True,
            sqlite_where=sa.text("settled IS NULL"),
            postgresql_where=sa.text("settled IS NULL"),
        )
