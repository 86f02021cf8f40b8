"""Forms of the pages: what was typed, and what is wrong with it, field by field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from fastapi import Depends, Request, Response

from snellen.core.errors import UsageError
from snellen_hub.web.browser import browser_of, keep_visitor, visitor_csrf
from snellen_hub.web.pages.frame import render

_LONGEST = 20_000
"""Characters of a field that are read."""


class Sentence(NamedTuple):
    """A text of a page, which the template translates."""

    english: str
    values: Mapping[str, object]


def sentence(english: str, **values: object) -> Sentence:
    """A text with values for its {names}; its Chinese is in `translations/`."""
    return Sentence(english, values)


class FormState:
    """What a form holds. Each mistake belongs to a field, or to the whole form (the field ``)."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self.values = dict(values or {})
        self.problems: dict[str, Sentence] = {}

    def value(self, field: str) -> str:
        """What was typed, without blanks around it."""
        return self.values.get(field, "").strip()

    def raw(self, field: str) -> str:
        """What was typed, as it is: a password."""
        return self.values.get(field, "")

    def refuse(self, field: str, problem: Sentence | UsageError) -> None:
        """Note a mistake; the first of a field stays."""
        if isinstance(problem, UsageError):
            problem = Sentence(str(problem), {})
        self.problems.setdefault(field, problem)


async def read_form(request: Request) -> FormState:
    """A dependency: the texts of a form that was sent."""
    form = await request.form()
    return FormState({name: text[:_LONGEST] for name, text in form.items() if isinstance(text, str)})


PostedForm = Annotated[FormState, Depends(read_form)]


def render_form(
    request: Request, template: str, form: FormState | None = None, status: int = 200, **context: Any
) -> Response:
    """A page with a form, which no cache keeps; 422 if the form has mistakes."""
    form = form or FormState()
    if form.problems and status == 200:
        status = 422
    signed_in = browser_of(request)
    csrf = {} if signed_in is not None else {"csrf": visitor_csrf(request)}
    page = render(request, template, status, form=form, **({"done": None, "link": "", "secret": ""} | csrf | context))
    page.headers["Cache-Control"] = "no-store"
    if signed_in is None:
        keep_visitor(request, page)
    return page
