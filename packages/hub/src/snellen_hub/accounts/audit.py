"""The audit log: who did what, and when."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from snellen_hub.database.tables import AuditEntry


def note_action(
    session: Session, action: str, *, account_id: int | None = None, address: str = "", subject: str = "", **detail: Any
) -> None:
    """Add an entry, in the transaction of the action itself. `detail` must hold no secret."""
    session.add(
        AuditEntry(account_id=account_id, address=address[:64], action=action, subject=subject[:200], detail=detail)
    )
