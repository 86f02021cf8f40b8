"""How Alembic runs the migrations: on the connection that `Database.upgrade` opened."""

from __future__ import annotations

from alembic import context

from snellen.leaderboard_hub.database.tables import HubTable

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=HubTable.metadata,
    render_as_batch=True,
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
