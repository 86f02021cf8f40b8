"""The pages by which an account shows that an e-mail address is its own."""

from __future__ import annotations

from fastapi import APIRouter, Depends, HTTPException, Request, Response

from snellen_hub.accounts.email_links import (
    MailNotSent,
    create_email_link,
    open_email_link,
    parse_address,
    send_email_link,
    verify_email,
)
from snellen_hub.database.tables import Account
from snellen_hub.hub import Hub
from snellen_hub.web.access import note_request
from snellen_hub.web.browser import browser_of, require_visitor_form
from snellen_hub.web.logs import log_error
from snellen_hub.web.pages.forms import PostedForm, render_form
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import HubOf, ReaderForm

router = APIRouter(include_in_schema=False)


@router.post("/account/email")
def send_link(request: Request, hub: HubOf, browser: ReaderForm, form: PostedForm) -> Response:
    """Send a link to the address that was typed."""
    if hub.config.smtp is None:
        raise HTTPException(404, "this hub sends no e-mail; an owner of it confirms accounts")
    email = parse_address(form.value("email"), hub.config.smtp)
    with hub.database.writing() as session:
        account = session.get_one(Account, browser.account_id)
        secret = create_email_link(session, account, email)
        note_request(session, request, "e-mail link", account.id)
    return redirect(f"/account?done={deliver(hub, account.name, email, secret)}")


@router.get("/emails/{secret}")
def email_page(request: Request, hub: HubOf, secret: str) -> Response:
    """What a link verifies. Programs that follow links in letters change nothing by it."""
    with hub.database.reading() as session:
        row = open_email_link(session, secret)
        name, email = row.account.name, row.email
    return render_form(request, "email.html", title="Your e-mail address", name=name, email=email, secret=secret)


@router.post("/emails/{secret}", dependencies=[Depends(require_visitor_form)])
def send_verification(request: Request, hub: HubOf, secret: str) -> Response:
    """Verify the address of a link, which confirms the account."""
    with hub.database.writing() as session:
        account = verify_email(session, secret)
        note_request(session, request, "e-mail verified", account.id, account.name)
    return redirect("/account?done=email" if browser_of(request) is not None else "/sign-in")


def deliver(hub: Hub, account: str, email: str, secret: str) -> str:
    """Send a link; returns what the page of the account says of it."""
    try:
        send_email_link(hub.config, account, email, secret)
    except MailNotSent as error:
        log_error("mail", why=str(error.__cause__)[:200])
        return "not-sent"
    return "sent"
