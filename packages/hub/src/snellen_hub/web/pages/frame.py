"""What all pages share: templates, languages, theme, static files and headers.

Pages read without JavaScript. Templates write every text as `{{ t("English") }}`; the files of
`translations/` hold the Chinese of each.
"""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FunctionLoader, StrictUndefined

from snellen.report import format as fmt
from snellen.report.page.layout import page_file
from snellen_hub.web.access import hub_of
from snellen_hub.web.browser import browser_of, checked_target, local_target
from snellen_hub.web.pages.scales import number_text, range_text
from snellen_hub.web.pages.sentence_patterns import translate_sentence

router = APIRouter(include_in_schema=False)

LANGUAGES = ("en", "zh")
THEMES = ("light", "dark")
_LANGUAGE_COOKIE = "snellen_language"
_THEME_COOKIE = "snellen_theme"
_NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w.])")
_YEAR = 365 * 24 * 3600
_SHARED_STYLES = {"page.css"}
"""Static files that are those of the reports."""
_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
PAGE_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; "
        "media-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    # Not no-referrer: browsers then send forms without their origin, which is checked.
    "Referrer-Policy": "same-origin",
    "Vary": "Cookie, Accept-Language",
    "Cache-Control": "private, no-cache",
}


def render(request: Request, template: str, status: int = 200, **context: Any) -> HTMLResponse:
    """A page: the template with `context`, and with what every template may use.

    That is `hub` (its configuration), `caller` (None if nobody is signed in), `csrf` (for the field
    of forms), `language`, `theme`, `here` (path and query), `t` and `static_url`.
    """
    browser = browser_of(request)
    language = language_of(request)
    page = _environment(language).get_template(template)
    shared: dict[str, Any] = {
        "hub": hub_of(request).config,
        "caller": None if browser is None else browser.caller,
        "csrf": "" if browser is None else browser.csrf,
        "language": language,
        "theme": theme_of(request),
        "here": local_target(request),
    }
    text = page.render(shared | context)
    return HTMLResponse(text, status, PAGE_HEADERS)


def redirect(target: str) -> RedirectResponse:
    """Go to a path of this hub after a form."""
    return RedirectResponse(checked_target(target), 303)


def wants_page(request: Request) -> bool:
    """Whether a request is that of a browser that shows pages."""
    is_api = request.url.path.startswith("/api/")
    return not is_api and "text/html" in request.headers.get("accept", "")


def language_of(request: Request) -> str:
    """The language that the reader chose, or else the first that the browser names and we have."""
    chosen = _choice(request.cookies.get(_LANGUAGE_COOKIE, ""), LANGUAGES)
    if chosen:
        return chosen
    for part in request.headers.get("accept-language", "").split(","):
        named = _choice(part.strip()[:2].lower(), LANGUAGES)
        if named:
            return named
    return LANGUAGES[0]


def theme_of(request: Request) -> str:
    """`light` or `dark` as the reader chose; empty: as the system says."""
    return _choice(request.cookies.get(_THEME_COOKIE, ""), THEMES)


def translate(language: str, english: str, **values: object) -> str:
    """A text in a language, with values for its {names}."""
    text = english if language == "en" else _chinese().get(english)
    if text is None:
        # A sentence may arrive with its values in it; it stays English if nothing is known of it.
        text = english if values else translate_sentence(english) or _translate_numbers(english)
    return text.format(**values) if values else text


def _translate_numbers(english: str) -> str:
    """A sentence of the boards, whose numbers vary: its translation has {} in their place."""
    numbers = [] if "{" in english else _NUMBER.findall(english)
    text = _chinese().get(_NUMBER.sub("{}", english)) if numbers else None
    return english if text is None else text.format(*numbers)


@router.get("/settings")
def change_settings(
    language: Annotated[str, Query(max_length=8)] = "",
    theme: Annotated[str, Query(max_length=8)] = "",
    to: Annotated[str, Query(max_length=2_000, alias="next")] = "/",
) -> Response:
    """Remember language and theme in cookies, and go back."""
    response = redirect(to)
    for cookie, value in ((_LANGUAGE_COOKIE, _choice(language, LANGUAGES)), (_THEME_COOKIE, _choice(theme, THEMES))):
        if value:
            response.set_cookie(cookie, value, max_age=_YEAR, samesite="lax", httponly=True)
    return response


@router.get("/static/{name}")
def static_file(name: str) -> Response:
    """A file of the pages. Its address changes with its content, so that browsers keep it."""
    if name not in _static_names():
        raise HTTPException(404, f"there is no file {name}")
    kind = _TYPES[name.rpartition(".")[2]]
    headers = {"Cache-Control": f"public, max-age={_YEAR}, immutable"}
    return Response(_static_text(name), media_type=kind, headers=headers)


def static_url(name: str) -> str:
    """The address of a static file, with a digest of its content."""
    return f"/static/{name}?v={hashlib.sha256(_static_text(name).encode()).hexdigest()[:12]}"


def _folder(name: str) -> Traversable:
    return resources.files("snellen_hub.web.pages") / name


@cache
def _static_names() -> frozenset[str]:
    own = (each.name for each in _folder("static").iterdir())
    return frozenset(name for name in own if name.rpartition(".")[2] in _TYPES) | _SHARED_STYLES


@cache
def _static_text(name: str) -> str:
    if name in _SHARED_STYLES:
        return page_file(name)
    return (_folder("static") / name).read_text(encoding="utf-8")


@cache
def _chinese() -> dict[str, str]:
    texts: dict[str, str] = {}
    for path in _folder("translations").iterdir():
        if path.name.endswith(".json"):
            texts |= json.loads(path.read_text(encoding="utf-8"))
    return texts


@cache
def _environment(language: str) -> Environment:
    environment = Environment(
        autoescape=True,
        loader=FunctionLoader(lambda name: (_folder("templates") / name).read_text("utf-8")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals |= {
        "t": lambda english, **values: translate(language, english, **values),
        "static_url": static_url,
    }
    environment.filters |= {
        "points": fmt.score_text,
        "number": fmt.count_text,
        "words": fmt.display_name,
        "metric": fmt.metric_label,
        "decimals": number_text,
        "ends": range_text,
        "day": lambda when: when.strftime("%Y-%m-%d"),
        "moment": lambda when: when.strftime("%Y-%m-%d %H:%M"),
    }
    return environment


def _choice(value: str, choices: tuple[str, ...]) -> str:
    return value if value in choices else ""
