"""Showing a submission on its board, and taking it off."""

from __future__ import annotations

from sqlalchemy.orm import Session

from snellen_hub.boards.changes import note_change
from snellen_hub.database.tables import Submission
from snellen_hub.errors import WrongState
from snellen_hub.moment_text import now


class PublicationRefused(WrongState):
    """The submission is not in a state in which it can be published or withdrawn."""


def publish_submission(session: Session, submission: Submission) -> None:
    """Show a scored submission on the board. Raises PublicationRefused."""
    name = submission.public_id
    if submission.visibility == "withdrawn":
        raise PublicationRefused(f"submission {name} was withdrawn; submit it again")
    if submission.visibility == "published":
        return
    if submission.status != "scored":
        raise PublicationRefused(f"submission {name} is {submission.status}; it can be published once it is scored")
    submission.visibility, submission.published = "published", now()
    note_change(session, submission, "published")


def withdraw_submission(session: Session, submission: Submission) -> None:
    """Take a submission off the board for good. Its history is kept. Raises PublicationRefused."""
    if submission.visibility == "withdrawn":
        raise PublicationRefused(f"submission {submission.public_id} was withdrawn already")
    was_published = submission.visibility == "published"
    submission.visibility = "withdrawn"
    if was_published:
        note_change(session, submission, "withdrawn")
