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

    with op.batch_alter_table("benchmarks", schema=None) as batch_op:
        batch_op.add_column(
            sa.Column("layout", sa.String(length=16), server_default="", nullable=False)
        )

    with op.batch_alter_table("submissions", schema=None) as batch_op:
        batch_op.add_column(sa.Column("source", sa.JSON(), server_default="{}", nullable=False))
        batch_op.add_column(
            sa.Column("other_protocol", sa.Text(), server_default="", nullable=False)
        )
