"""Limits of a request's body: its size, and the pace at which it must arrive."""

from __future__ import annotations

import asyncio
import time

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PATIENCE = 20.0
"""Seconds without a byte of a body after which it is refused."""
_SLOWEST = 2_000.0
"""Bytes per second that a body must reach on average, once the patience has passed."""


class BodyLimit:
    """Refuses requests whose body is longer than a limit, declared or not, and those whose body
    arrives so slowly that they only hold a place."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a body whose declared length is too long, and stop reading one that grows too long
        or too slowly."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
        if not declared.isdigit() or int(declared) > self._limit:
            refusal = JSONResponse({"detail": self._too_long()}, 413)
            await refusal(scope, receive, send)
            return
        received, is_complete, started = 0, False, time.monotonic()

        async def receive_within_limits() -> Message:
            nonlocal received, is_complete
            if is_complete:
                # What comes now says that the client has gone; it may take for ever.
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), _PATIENCE)
            except TimeoutError:
                raise HTTPException(408, _TOO_SLOW) from None
            received += len(message.get("body", b""))
            is_complete = not message.get("more_body", False)
            if received > self._limit:
                raise HTTPException(413, self._too_long())
            seconds = time.monotonic() - started
            if not is_complete and seconds > _PATIENCE and received < _SLOWEST * seconds:
                raise HTTPException(408, _TOO_SLOW)
            return message

        await self._app(scope, receive_within_limits, send)

    def _too_long(self) -> str:
        return f"the body of the request is too long; expected at most {self._limit:,} bytes"


_TOO_SLOW = "the body of the request arrives too slowly; send it again over a better connection"
