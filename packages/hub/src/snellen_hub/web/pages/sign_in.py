"""Signing in and out, and making an account by sign-up or invitation."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import (
    AccessDenied,
    accept_invitation,
    create_account,
    is_account_name,
    network_of,
    open_invitation,
    sign_in,
    sign_out,
)
from snellen_hub.accounts.attempts import AttemptLimit, count_attempt
from snellen_hub.accounts.changes import open_reset, set_password
from snellen_hub.accounts.email_links import TooManyLetters, create_email_link, parse_address
from snellen_hub.accounts.passwords import LONGEST, SHORTEST
from snellen_hub.database.tables import Account
from snellen_hub.hub import Hub
from snellen_hub.web.access import client_address, hub_of, note_request
from snellen_hub.web.browser import browser_of, require_visitor_form, sign_in_browser, sign_out_browser, start_browser
from snellen_hub.web.pages.email import deliver
from snellen_hub.web.pages.forms import FormState, PostedForm, Sentence, render_form, sentence
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.parameters import HubOf, ReaderForm

router = APIRouter(include_in_schema=False)

_VISITOR = [Depends(require_visitor_form)]
_SIGN_UPS = 5
"""New accounts from one address in 24 hours."""
_DAY = timedelta(hours=24)
_TAKEN = sentence("this name is taken; choose another one")
_SIGN_UP = sentence("An account submits predictions to the benchmarks of this hub.")
_INVITED = {
    "owner": sentence("You are invited as an owner, who manages benchmarks and accounts."),
    "submitter": sentence("You are invited as a submitter, who submits predictions."),
    "viewer": sentence("You are invited as a viewer, who reads this hub."),
}


@router.get("/sign-in")
def sign_in_page(request: Request, to: Annotated[str, Query(max_length=2_000, alias="next")] = "/account") -> Response:
    """The form to sign in; whoever is signed in goes on."""
    if browser_of(request) is not None:
        return redirect(to)
    return render_form(request, "sign_in.html", FormState({"next": to}), title="Sign in")


@router.post("/sign-in", dependencies=_VISITOR)
def send_sign_in(request: Request, hub: HubOf, form: PostedForm) -> Response:
    """Sign in with name and password. An unknown name and a wrong password look alike."""
    name, address = form.value("name"), client_address(request)
    for field, problem in (("name", sentence("type your name")), ("password", sentence("type your password"))):
        if not form.raw(field).strip():
            form.refuse(field, problem)
    if form.problems:
        return _sign_in_again(request, form)
    try:
        agent = request.headers.get("user-agent", "")
        done = sign_in(hub.database, name, form.raw("password"), address, hub.config.sessions, agent)
    except AccessDenied as error:
        form.refuse("", error)
        return _sign_in_again(request, form, 429)
    with hub.database.writing() as session:
        note_request(session, request, "sign-in" if done else "sign-in failed", done[0].id if done else None)
        end_replaced_sign_in(session, request)
    if done is None:
        form.refuse("", sentence("name or password is wrong"))
        return _sign_in_again(request, form)
    response = redirect(form.value("next") or "/account")
    sign_in_browser(request, response, done[1])
    return response


@router.post("/sign-out")
def send_sign_out(request: Request, hub: HubOf, browser: ReaderForm) -> Response:
    """End the sign-in of this browser."""
    with hub.database.writing() as session:
        sign_out(session, browser.secret)
        note_request(session, request, "sign-out", browser.account_id)
    response = redirect("/")
    sign_out_browser(request, response)
    return response


@router.get("/sign-up")
def sign_up_page(request: Request, hub: HubOf) -> Response:
    """The form to make an account, where the hub lets anyone do so."""
    _check_sign_up(hub)
    return _sign_up_form(request, FormState())


@router.post("/sign-up", dependencies=_VISITOR)
def send_sign_up(request: Request, hub: HubOf, form: PostedForm) -> Response:
    """Make an account as submitter and sign it in."""
    _check_sign_up(hub)
    _check_name(form)
    check_new_password(form)
    email, secret = "", ""
    if hub.config.smtp is not None:
        try:
            email = parse_address(form.value("email"), hub.config.smtp)
        except UsageError as error:
            form.refuse("email", error)
    if form.problems:
        return _sign_up_form(request, form)
    address = client_address(request)
    limit = AttemptLimit(f"sign-up from {network_of(address)}", _SIGN_UPS, _DAY)
    try:
        with hub.database.writing() as session:
            if count_attempt(session, limit) is None:
                form.refuse("", sentence("too many accounts were made from your address; try again tomorrow"))
                return _sign_up_form(request, form, 429)
            account = create_account(session, form.value("name"), "submitter", form.raw("password"), is_confirmed=False)
            note_request(session, request, "sign-up", account.id, account.name)
            if email:
                secret = create_email_link(session, account, email)
            response = _go_to_account(request, hub, session, account)
    except TooManyLetters as error:
        form.refuse("email", error)
        return _sign_up_form(request, form, 429)
    except UsageError:
        form.refuse("name", _TAKEN)
        return _sign_up_form(request, form)
    if secret:
        done = deliver(hub, account.name, email, secret)
        response.headers["Location"] = f"/account?done={done}"
    return response


@router.get("/invitations/{secret}")
def invitation_page(request: Request, hub: HubOf, secret: str) -> Response:
    """The form to make the account of an invitation."""
    with hub.database.reading() as session:
        role = open_invitation(session, secret).role
    return _account_form(request, FormState(), _INVITED[role])


@router.post("/invitations/{secret}", dependencies=_VISITOR)
def send_invitation(request: Request, hub: HubOf, secret: str, form: PostedForm) -> Response:
    """Make the account of an invitation and sign it in."""
    _check_name(form)
    check_new_password(form)
    role = ""
    try:
        with hub.database.writing() as session:
            role = open_invitation(session, secret).role
            if form.problems:
                return _account_form(request, form, _INVITED[role])
            account = accept_invitation(session, secret, form.value("name"), form.raw("password"))
            note_request(session, request, "invitation accepted", account.id, account.name, role=role)
            return _go_to_account(request, hub, session, account)
    except AccessDenied:
        raise
    except UsageError:
        form.refuse("name", _TAKEN)
        return _account_form(request, form, _INVITED[role])


@router.get("/password-resets/{secret}")
def reset_page(request: Request, hub: HubOf, secret: str) -> Response:
    """The form for a new password, by a link of an owner."""
    with hub.database.reading() as session:
        name = open_reset(session, secret).account.name
    return _reset_form(request, FormState(), secret, name)


@router.post("/password-resets/{secret}", dependencies=_VISITOR)
def send_reset(request: Request, hub: HubOf, secret: str, form: PostedForm) -> Response:
    """Set the new password; the person signs in with it."""
    check_new_password(form)
    with hub.database.writing() as session:
        account = open_reset(session, secret).account
        if form.problems:
            return _reset_form(request, form, secret, account.name)
        set_password(session, account, form.raw("password"))
        note_request(session, request, "password reset used", account.id, account.name)
    response = redirect("/sign-in")
    sign_out_browser(request, response)
    return response


def check_new_password(form: FormState) -> None:
    """Note what is wrong with a new password that was typed twice."""
    password = form.raw("password")
    if not SHORTEST <= len(password) <= LONGEST:
        form.refuse(
            "password",
            sentence(
                "a password has {least} to {most} characters; this one has {n}",
                least=SHORTEST,
                most=LONGEST,
                n=len(password),
            ),
        )
    elif password.lower() == form.value("name").lower():
        form.refuse("password", sentence("the password is the name; choose another one"))
    elif password != form.raw("again"):
        form.refuse("again", sentence("the two passwords differ"))


def end_replaced_sign_in(session: Session, request: Request) -> None:
    """End the sign-in whose cookie this browser is about to lose."""
    earlier = browser_of(request)
    if earlier is not None:
        sign_out(session, earlier.secret)


def _check_name(form: FormState) -> None:
    if not is_account_name(form.value("name")):
        form.refuse("name", sentence("a name has 2 to 63 letters, digits and . _ - and begins with a letter or digit"))


def _go_to_account(request: Request, hub: Hub, session: Session, account: Account) -> Response:
    """Sign a new account in and show it."""
    end_replaced_sign_in(session, request)
    created = start_browser(session, request, account)
    response = redirect("/account")
    sign_in_browser(request, response, created)
    return response


def _check_sign_up(hub: Hub) -> None:
    if not hub.config.sign_up:
        raise HTTPException(404, "accounts of this hub are by invitation; ask an owner of it")


def _sign_in_again(request: Request, form: FormState, status: int = 200) -> Response:
    return render_form(request, "sign_in.html", form, status, title="Sign in")


def _account_form(
    request: Request, form: FormState, lead: Sentence, status: int = 200, *, asks_email: bool = False
) -> Response:
    """The form of a new account; it is sent to the address of its page."""
    return render_form(
        request,
        "new_account.html",
        form,
        status,
        title="Make an account",
        lead=lead,
        action=request.url.path,
        asks_email=asks_email,
    )


def _sign_up_form(request: Request, form: FormState, status: int = 200) -> Response:
    asks_email = hub_of(request).config.smtp is not None
    return _account_form(request, form, _SIGN_UP, status, asks_email=asks_email)


def _reset_form(request: Request, form: FormState, secret: str, name: str) -> Response:
    return render_form(
        request, "new_password.html", form, title="A new password", name=name, action=f"/password-resets/{secret}"
    )
