"""Errors of servers: which typed error, or refusal of the model, a status and body stand for."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from snellen.core.errors import ModelError
from snellen.core.output import FailureKind, StopReason
from snellen.core.secret import hide
from snellen.models.remote.json_reply import parse_json, quote

_MAX_SEARCHED = 10_000
"""Characters of an error that are searched for a refusal."""
HTML_PAGE = "a web page"
"""Begin of the description of an HTML page."""


class HtmlReply(ModelError):
    """A web page in place of a reply.

    On the first request the address is wrong; later the page comes from a gateway whose server is
    down, so that a retry may help (kind `server`).
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, "server")


class WrongServer(ModelError):
    """The server takes no request: it refuses the key, or has no such model or path."""


TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _-]?(length|window|size)|max_model_len"
    r"|maximum model length|too many (input )?tokens|prompt is too long|input is too long"
    r"|input length|longer than the (model|maximum)|range of input length"
    r"|exceeds? the (model'?s )?(max(imum)?|limit) .*tokens|reduce the length"
    r"|input token count|total message token length",
    re.IGNORECASE,
)
"""Messages and codes of OpenAI, Azure, Anthropic, Google, Mistral, DashScope, Zhipu, Moonshot,
llama.cpp, vLLM, SGLang and LMDeploy for a prompt that is too long."""

CONTENT_FILTER = re.compile(
    r"content_filter|content_policy|content management policy|responsibleaipolicy"
    r"|data_?inspection_?failed|inappropriate content|content exists risk|considered high risk"
    r"|sensitivecontent|sensitive content|content_moderation|moderation_blocked|safety system"
    r"|usage guidelines|flagged|new_sensitive|^1301\b|敏感内容|unsafe content|prohibited_content",
    re.IGNORECASE,
)
"""Messages and codes of content filters (HTTP 400 and 403). The number is matched only among the
codes, which come first: in a message it may count tokens or pixels."""

NO_FUNDS = re.compile(
    r"insufficient[_ ](user_)?(quota|balance|funds|credits?)|arrearage|out of credits"
    r"|payment required|account.*(suspended|overdue)|exceeded_current_quota"
    r"|(balance|credits?) (is|are) (too low|insufficient)|used all available credits"
    r"|欠费|余额不足|^1113\b",
    re.IGNORECASE,
)
"""Messages and codes of accounts without funds, for which a retry does not help. Not OpenAI's
message, which is Google's for a limit per minute, but its code, and that of Zhipu (1113)."""


NO_IMAGES = re.compile(r"image input is not supported", re.IGNORECASE)
"""llama.cpp's message (HTTP 500) of a model without its vision part."""
TRUNCATED = re.compile(r"could not finish the message because max_tokens", re.IGNORECASE)
"""OpenAI's message (HTTP 400) for a reply whose reasoning used up all tokens."""


class ReplyBlocked(Exception):
    """A content filter or the token limit left no answer: an empty reply, not an error."""

    def __init__(self, message: str, stop_reason: StopReason = "refusal") -> None:
        super().__init__(hide(message))
        self.stop_reason = stop_reason


class ErrorDetails(NamedTuple):
    """Details of an error, as a server reports it."""

    message: str
    """In one short line, without keys."""
    codes: str = ""
    """Its codes, separated by spaces."""
    delay: float | None = None
    """Seconds to wait, by Google's `retryDelay`."""


def error_from_status(status: int, headers: Mapping[str, str], body: bytes) -> ModelError | ReplyBlocked:
    """The error that an HTTP status of 400 or more stands for."""
    return _error_of(status, headers, error_details(body))


def _error_of(status: int, headers: Mapping[str, str], details: ErrorDetails) -> ModelError | ReplyBlocked:
    message = details.message
    detail = message.removeprefix(str(status)).lstrip(" :-")
    sentence = f"the server answers {status}" + (f": {detail}" if detail else "")
    if status == 400 and TRUNCATED.search(message):
        return ReplyBlocked(message, "length")
    kind = _failure_kind(status, f"{details.codes} {message}")
    if kind is None:
        return ReplyBlocked(message)
    if kind not in ("rate_limit", "server"):
        return (WrongServer if kind == "authentication" or status == 404 else ModelError)(sentence, kind)
    is_rate_limit = kind == "rate_limit"
    return ModelError(sentence, kind, retry_after(headers, details.delay, is_rate_limit=is_rate_limit))


def _failure_kind(status: int, text: str) -> FailureKind | None:
    """The kind of failure, or None if a content filter blocked the reply."""
    if status in (402, 429, 403, 400) and NO_FUNDS.search(text):
        return "authentication"
    if status == 429:
        return "rate_limit"
    if status == 408:
        return "timeout"
    if status == 409:
        return "server"  # a lock that was not free in time: the clients of OpenAI, Anthropic and Groq retry
    if status >= 500 and NO_IMAGES.search(text):
        return "unsupported"
    if status >= 500:
        return "too_long" if status == 500 and "context_length_exceeded" in text else "server"
    if status in (400, 403, 413, 422, 451):
        if TOO_LONG.search(text):
            return "too_long"
        if CONTENT_FILTER.search(text):
            return None
    if status in (401, 402, 403) or (status == 400 and _mentions_key(text)):
        return "authentication"
    return "request"


def _mentions_key(text: str) -> bool:
    return (
        re.search(
            r"api[ _]key (is )?(not valid|invalid|expired)"
            r"|(invalid|incorrect).{0,9}api[ _-]?key"
            # LiteLLM's proxy without a database, of any key but its own.
            r"|no_db_connection|no connected db",
            text,
            re.IGNORECASE,
        )
        is not None
    )


_MINIMAX = {
    1002: 429,
    1004: 401,
    1008: 402,
    1026: 400,
    1027: 400,
    1039: 429,
    1041: 429,
    1042: 400,
    2013: 400,
    2045: 429,
    2049: 401,
    2056: 429,
}
"""MiniMax's own codes as HTTP statuses; the others are errors of the server
(platform.minimax.io, API reference, Error Codes)."""


def error_in_body(reply: Mapping[str, Any]) -> ModelError | ReplyBlocked | None:
    """The error in a reply of status 200, if any."""
    error = reply.get("error")
    base = reply.get("base_resp")
    if isinstance(base, Mapping) and base.get("status_code"):
        code = base["status_code"]
        status_code = _MINIMAX.get(code, 500) if isinstance(code, int) else 500
        sign = "new_sensitive" if status_code == 400 and code in (1026, 1027) else ""
        return _error_of(status_code, {}, ErrorDetails(quote(base.get("status_msg", "")), sign))
    if not error:
        return None
    code = error.get("code") if isinstance(error, Mapping) else None
    status: int = code if isinstance(code, int) and 400 <= code < 600 else 500
    if status == 500 and CONTENT_FILTER.search(quote(error, _MAX_SEARCHED)):
        status = 400
    return _error_of(status, {}, _parse_details({"error": error}))


def error_details(body: bytes) -> ErrorDetails:
    """Parse the body of an error, JSON or not."""
    try:
        value = parse_json(body)
    except ValueError:
        return ErrorDetails(_page_title(body.decode("utf-8", "replace").strip()))
    return _parse_details(value)


def _parse_details(value: Any) -> ErrorDetails:
    if isinstance(value, list) and value:
        value = value[0]
    if not isinstance(value, Mapping):
        return ErrorDetails(quote(value))
    inner = value.get("error") or value.get("detail") or value
    if not isinstance(inner, Mapping):
        return ErrorDetails(quote(inner), "", _google_delay(value))
    message = inner.get("message") or inner.get("msg") or inner.get("detail") or dict(inner)
    codes = (inner.get(name) for name in ("code", "type", "status", "innererror", "param"))
    code_text = " ".join(quote(code) for code in codes if code)
    return ErrorDetails(quote(message), code_text, _google_delay(inner))


def _google_delay(inner: Mapping[str, Any]) -> float | None:
    details = inner.get("details")
    for detail in details if isinstance(details, list) else []:
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str):
            return _non_negative(delay.removesuffix("s"))
    return None


def _page_title(text: str) -> str:
    """The title of an HTML page; other text as it is."""
    title = re.search(r"<title[^>]*>(.*?)</title>", text, re.IGNORECASE | re.DOTALL)
    if title:
        return f"{HTML_PAGE}, {quote(title[1])}"
    return HTML_PAGE if re.match(r"<(!doctype|html)", text, re.IGNORECASE) else quote(text)


def retry_after(headers: Mapping[str, str], delay: float | None = None, *, is_rate_limit: bool = True) -> float | None:
    """Seconds to wait before a retry; None if unknown.

    By `Retry-After` (a number or an HTTP date), else the `delay` in the body, else, if a rate limit
    was exceeded, the reset times of the limits.
    """
    milliseconds = _non_negative(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    header = headers.get("Retry-After")
    if header is not None:
        seconds = _non_negative(header)
        return seconds if seconds is not None else _seconds_until_date(header)
    if delay is not None:
        return delay
    if not is_rate_limit:
        return None
    resets = [
        wait
        for name, value in headers.items()
        if "ratelimit" in name.lower() and "reset" in name.lower()
        if _is_exhausted(headers, name) and (wait := _seconds_until(value)) is not None
    ]
    return max(resets, default=None)


def _is_exhausted(headers: Mapping[str, str], reset: str) -> bool:
    """Whether the limit of a reset header is exhausted, or does not say how much remains."""
    remaining = headers.get(re.sub("reset", "remaining", reset, flags=re.IGNORECASE))
    return remaining is None or _non_negative(remaining) in (None, 0.0)


def _non_negative(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < float("inf") else None


def _seconds_until_date(text: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None


_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}


def _seconds_until(text: str) -> float | None:
    """Seconds from `12`, `6m0s`, `20ms`, a Unix time in s or ms, or an ISO 8601 date."""
    number = _non_negative(text)
    if number is not None:
        if number > 1e11:
            number /= 1000
        return max(0.0, number - time.time()) if number > 1e8 else number
    spans = _SPAN.findall(text)
    if spans and _SPAN.sub("", text).strip() == "":
        return sum(float(value) * _UNIT[unit] for value, unit in spans)
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None
