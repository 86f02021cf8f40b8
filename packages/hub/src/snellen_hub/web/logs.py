"""The log of a server: a JSON object per line on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

from snellen.core.secret import hide

_log = logging.getLogger("snellen.hub")


def log_line(event: str, **fields: object) -> None:
    """Log an event. `fields` must hold no secret, and no path or query of a request."""
    _log.info(event, extra={"fields": fields})


def log_error(event: str, **fields: object) -> None:
    """Log an event that an operator should look at."""
    _log.error(event, extra={"fields": fields})


def start_log() -> None:
    """Write the log of this process, that of libraries included, to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    _log.setLevel(logging.INFO)


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": hide(record.getMessage()),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = hide(self.formatException(record.exc_info))
        return json.dumps(line)
