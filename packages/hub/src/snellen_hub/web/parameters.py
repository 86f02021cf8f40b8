"""Parameters that many endpoints and pages have."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query
from fastapi import Path as PathParameter

from snellen_hub.accounts.roles import Caller
from snellen_hub.hub import Hub
from snellen_hub.web.access import hub_of, identify, require
from snellen_hub.web.browser import Browser, require_browser, require_form

HubOf = Annotated[Hub, Depends(hub_of)]
BoardName = Annotated[str, PathParameter(pattern=r"^[a-z0-9][a-z0-9_-]{0,62}$")]
"""Of a benchmark or a suite."""
PublicId = Annotated[str, PathParameter(pattern=r"^[0-9a-f]{16}$")]
"""Of a submission."""

Done = Annotated[str, Query(max_length=20)]
"""What was done, of which the page then says a sentence."""

AnyToken = Annotated[Caller | None, Depends(identify)]
"""The owner of the request's token; None without one."""
ReadToken = Annotated[Caller, Depends(require("read"))]
SubmitToken = Annotated[Caller, Depends(require("submit"))]

ReaderBrowser = Annotated[Browser, Depends(require_browser("read"))]
"""A browser that is signed in; the others below also with the role."""
ReaderForm = Annotated[Browser, Depends(require_form("read"))]
"""A browser that is signed in and sends a form of ours; the others below also with the role."""
SubmitterBrowser = Annotated[Browser, Depends(require_browser("submit"))]
SubmitterForm = Annotated[Browser, Depends(require_form("submit"))]
OwnerBrowser = Annotated[Browser, Depends(require_browser("admin"))]
OwnerForm = Annotated[Browser, Depends(require_form("admin"))]
