"""The pages of one's own account: sign-ins, password, tokens, deletion."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen.core.literals import parse_finite
from snellen_hub.accounts.access import create_token, sign_out_everywhere
from snellen_hub.accounts.attempts import MAX_FAILURES, AttemptLimit, count_attempt
from snellen_hub.accounts.changes import delete_account, set_password
from snellen_hub.accounts.passwords import verify_password
from snellen_hub.accounts.random_secrets import secret_digest
from snellen_hub.accounts.roles import SCOPES, scopes_of
from snellen_hub.database.tables import AccessToken, Account, SignIn
from snellen_hub.hosts import hosted_benchmarks
from snellen_hub.hub import Hub
from snellen_hub.moment_text import now
from snellen_hub.web.access import note_request
from snellen_hub.web.browser import Browser, sign_in_browser, sign_out_browser, start_browser
from snellen_hub.web.pages.forms import FormState, PostedForm, render_form, sentence
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.pages.sign_in import check_new_password
from snellen_hub.web.parameters import Done, HubOf, ReaderBrowser, ReaderForm
from snellen_hub.web.token_api import TokenNumber, find_token

router = APIRouter(include_in_schema=False)


def own_account(hub: HubOf, browser: ReaderBrowser) -> Account:
    """A dependency: the account that is signed in."""
    with hub.database.reading() as session:
        return session.get_one(Account, browser.account_id)


OwnAccount = Annotated[Account, Depends(own_account)]
_DONE = {
    "sent": "The link is sent: look for the letter, and follow it within 24 hours.",
    "not-sent": "The letter could not be sent; try again later.",
    "email": "The address is verified, and the account is confirmed.",
    "password": "The password is changed, and every other browser is signed out.",
    "signed-out": "That browser is signed out.",
    "revoked": "The token is revoked: no program can use it any more.",
}
_TOKENS = 50
"""Tokens of an account that are not revoked."""


@router.get("/account")
def account_page(request: Request, hub: HubOf, browser: ReaderBrowser, done: Done = "") -> Response:
    """Who one is, and every browser that is signed in."""
    with hub.database.reading() as session:
        account = session.get_one(Account, browser.account_id)
        query = select(SignIn).where(SignIn.account_id == account.id, SignIn.expires > now())
        rows = session.scalars(query.order_by(SignIn.created.desc())).all()
        hosted = hosted_benchmarks(session, account.id)
    return render_form(
        request,
        "account.html",
        title="Account",
        account=account,
        sign_ins=rows,
        this_browser=secret_digest(browser.secret),
        hosted=hosted,
        done=_DONE.get(done),
    )


@router.post("/account/sign-ins/{handle}/end")
def end_sign_in(request: Request, hub: HubOf, browser: ReaderForm, handle: str) -> Response:
    """Sign one browser of the account out."""
    with hub.database.writing() as session:
        rows = session.scalars(select(SignIn).where(SignIn.account_id == browser.account_id)).all()
        row = next((row for row in rows if row.digest.hex()[:16] == handle), None)
        if row is None:
            raise HTTPException(404, "this browser is signed out already")
        is_here = row.digest == secret_digest(browser.secret)
        session.delete(row)
        note_request(session, request, "sign-out", browser.account_id, how="from the account page")
    response = redirect("/sign-in" if is_here else "/account?done=signed-out")
    if is_here:
        sign_out_browser(request, response)
    return response


@router.post("/account/sign-out-everywhere")
def end_all_sign_ins(request: Request, hub: HubOf, browser: ReaderForm) -> Response:
    """Sign every browser of the account out, this one too."""
    with hub.database.writing() as session:
        sign_out_everywhere(session, browser.account_id)
        note_request(session, request, "sign-out everywhere", browser.account_id)
    response = redirect("/sign-in")
    sign_out_browser(request, response)
    return response


@router.get("/account/password")
def password_page(request: Request, account: OwnAccount) -> Response:
    """The form to change the password."""
    return render_form(request, "password.html", title="Change the password", account=account)


@router.post("/account/password")
def change_password(
    request: Request, hub: HubOf, browser: ReaderForm, account: OwnAccount, form: PostedForm
) -> Response:
    """Change the password, which needs the present one; other browsers are signed out."""
    if account.password_hash is None:
        raise HTTPException(409, "this account has no password: you sign in with your organisation")
    check_new_password(form)
    if form.problems or not _is_own_password(hub, account, form):
        return render_form(request, "password.html", form, title="Change the password", account=account)
    with hub.database.writing() as session:
        account = session.get_one(Account, browser.account_id)
        set_password(session, account, form.raw("password"))
        created = start_browser(session, request, account)
        note_request(session, request, "password changed", browser.account_id)
    response = redirect("/account?done=password")
    sign_in_browser(request, response, created)
    return response


@router.get("/account/delete")
def delete_page(request: Request, account: OwnAccount) -> Response:
    """What is deleted with the account and what stays, and the form to do it."""
    return render_form(request, "delete_account.html", title="Delete the account", account=account)


@router.post("/account/delete")
def send_delete(request: Request, hub: HubOf, browser: ReaderForm, account: OwnAccount, form: PostedForm) -> Response:
    """Delete one's own account, which needs the password."""
    if form.value("name") != account.name:
        form.refuse("name", sentence("type the name of your account, {name}", name=account.name))
    if not form.problems and _is_own_password(hub, account, form):
        try:
            with hub.database.writing() as session:
                keys = delete_account(session, session.get_one(Account, browser.account_id))
                note_request(session, request, "account deleted", browser.account_id)
        except UsageError as error:
            form.refuse("", error)
    if form.problems:
        return render_form(request, "delete_account.html", form, title="Delete the account", account=account)
    hub.storage.delete(*keys)
    response = redirect("/")
    sign_out_browser(request, response)
    return response


@router.get("/account/tokens")
def tokens_page(request: Request, hub: HubOf, browser: ReaderBrowser, done: Done = "") -> Response:
    """The account's tokens, and the form for a new one."""
    return _tokens_page(request, hub, browser, FormState(), done=_DONE.get(done))


@router.post("/account/tokens")
def make_token(request: Request, hub: HubOf, browser: ReaderForm, form: PostedForm) -> Response:
    """Make a token and show it, this once."""
    label, days = form.value("label"), parse_finite(form.value("days"))
    scopes = frozenset(scope for scope in SCOPES if form.value(f"scope-{scope}"))
    longest = hub.config.sessions.token_days
    if not label:
        form.refuse("label", sentence("say what the token is for"))
    if not scopes:
        form.refuse("scopes", sentence("choose at least one thing that the token may do"))
    elif not scopes <= browser.caller.scopes:
        form.refuse("scopes", sentence("your role may not do that"))
    if days is None or not 0 < days <= longest:
        form.refuse("days", sentence("a number of days, at most {most}", most=f"{longest:g}"))
    with hub.database.writing() as session:
        account = session.get_one(Account, browser.account_id)
        if len(_live_tokens(session, account.id)) >= _TOKENS:
            form.refuse("", sentence("you have {most} tokens; revoke one first", most=_TOKENS))
        if not form.problems:
            secret = create_token(session, account, label, scopes, hub.config.sessions, days)
            note_request(session, request, "token", browser.account_id, label, scopes=sorted(scopes))
    if form.problems:
        return _tokens_page(request, hub, browser, form)
    return _tokens_page(request, hub, browser, FormState(), secret=secret)


@router.post("/account/tokens/{number}/revoke")
def revoke_token(request: Request, hub: HubOf, browser: ReaderForm, number: TokenNumber) -> Response:
    """End a token of the account."""
    with hub.database.writing() as session:
        row = find_token(session, number, browser.account_id)
        row.revoked = row.revoked or now()
        note_request(session, request, "token revoked", browser.account_id, row.label)
    return redirect("/account/tokens?done=revoked")


def _is_own_password(hub: Hub, account: Account, form: FormState) -> bool:
    """Whether the present password was typed; notes on the form if it was not, or too often. An
    account without a password has nothing to type."""
    if account.password_hash is None:
        return True
    limit = AttemptLimit(f"password of {account.id}", MAX_FAILURES)
    with hub.database.writing() as session:
        if count_attempt(session, limit) is None:
            form.refuse("old", sentence("too many wrong passwords; try again in 15 minutes"))
            return False
    if not verify_password(account.password_hash, form.raw("old")):
        form.refuse("old", sentence("this is not your present password"))
        return False
    return True


def _live_tokens(session: Session, account_id: int) -> list[AccessToken]:
    query = select(AccessToken).where(
        AccessToken.account_id == account_id, AccessToken.revoked.is_(None), AccessToken.expires > now()
    )
    return list(session.scalars(query.order_by(AccessToken.id.desc())))


def _tokens_page(request: Request, hub: Hub, browser: Browser, form: FormState, **context: Any) -> Response:
    with hub.database.reading() as session:
        tokens = _live_tokens(session, browser.account_id)
    if not form.values:
        days = min(90.0, hub.config.sessions.token_days)
        form.values |= {"days": f"{days:g}", "scope-read": "1", "scope-submit": "1"}
    own = scopes_of(browser.caller.role)
    return render_form(
        request,
        "tokens.html",
        form,
        title="Tokens",
        tokens=tokens,
        soon=now() + timedelta(days=14),
        scopes=[scope for scope in SCOPES if scope in own],
        **context,
    )
