"""Verified e-mail addresses: a link is sent to one, and whoever follows it reads its letters.

An address has one account. Those with a + are not taken: a mailbox has any number of them.
"""

from __future__ import annotations

import re
import smtplib
import ssl
from datetime import timedelta
from email.message import EmailMessage

from sqlalchemy import delete, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen.settings import read_secret
from snellen_hub.accounts.access import AccessDenied, deletion_mark
from snellen_hub.accounts.attempts import AttemptLimit, count_attempt
from snellen_hub.accounts.changes import confirm_account
from snellen_hub.accounts.random_secrets import add_link, find_link
from snellen_hub.config import SMTP_VARIABLE, HubConfig, MailServer
from snellen_hub.database.tables import Account, EmailLink
from snellen_hub.errors import TooMany

LIFETIME = timedelta(hours=24)
LETTERS_PER_DAY = 5
"""To one address, and for one account."""
_ADDRESS = re.compile(r"[A-Za-z0-9._%'-]{1,64}@([A-Za-z0-9.-]+\.[A-Za-z]{2,})")
_SECONDS = 20


class TooManyLetters(TooMany):
    """An address or account was sent as many letters as a day allows."""


class MailNotSent(UsageError):
    """The SMTP server did not take a letter."""


def parse_address(text: str, server: MailServer) -> str:
    """An address in lower case. Raises UsageError."""
    match = _ADDRESS.fullmatch(text) if len(text) <= 254 else None
    if match is None:
        raise UsageError("expected an e-mail address, without a + and what follows it")
    domain = match[1].lower()
    if server.domains and domain not in {each.lower() for each in server.domains}:
        raise UsageError(f"this hub takes no addresses at {domain}")
    return text.lower()


def create_email_link(session: Session, account: Account, email: str) -> str:
    """Add a link for an address; returns its secret, to be sent once. Raises TooManyLetters."""
    day = timedelta(days=1)
    limits = [AttemptLimit(f"letter {each}", LETTERS_PER_DAY, day) for each in (email, account.id)]
    if count_attempt(session, *limits) is None:
        raise TooManyLetters("too many letters were sent; try again tomorrow")
    return add_link(session, EmailLink, LIFETIME, account_id=account.id, email=email)


def open_email_link(session: Session, secret: str) -> EmailLink:
    """The link, locked until the transaction ends. Raises AccessDenied if it is used, expired or
    unknown."""
    row = find_link(session, EmailLink, secret)
    if row is None or row.account.disabled is not None:
        raise AccessDenied("this link is unknown, used or expired; ask for a new one on the page of your account")
    return row


def verify_email(session: Session, secret: str) -> Account:
    """Give the account of a link its address, and confirm it. Raises AccessDenied also if another
    account has the address, or had it and was deleted."""
    row = open_email_link(session, secret)
    account = row.account
    if session.scalar(select(Account.id).where(Account.email == deletion_mark(row.email))) is not None:
        raise AccessDenied(
            "an account with this address was deleted, and an address confirms one account; ask an "
            "owner of this hub to confirm yours"
        )
    account.email = row.email
    confirm_account(account)
    try:
        session.execute(delete(EmailLink).where(EmailLink.account_id == account.id))
    except IntegrityError as error:
        # Of the address, which is written before anything is deleted.
        raise AccessDenied("another account has this address already") from error
    return account


def send_email_link(config: HubConfig, account: str, email: str, secret: str) -> None:
    """Send a link to an address. Raises MailNotSent."""
    server = config.smtp
    assert server is not None
    letter = EmailMessage()
    letter["From"], letter["To"] = server.sender, email
    letter["Subject"] = f"{config.title}: your e-mail address"
    letter.set_content(
        f"The account {account} at {config.url} was given this e-mail address. To show that it is "
        f"yours, follow this link within 24 hours:\n\n{config.url}/emails/{secret}\n\n"
        "If you made no such account, do nothing.\n"
    )
    try:
        _deliver(server, letter)
    except (OSError, smtplib.SMTPException) as error:
        raise MailNotSent("the letter could not be sent; try again later") from error


def _deliver(server: MailServer, letter: EmailMessage) -> None:
    tls = ssl.create_default_context()
    if server.encryption == "tls":
        connection: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=_SECONDS, context=tls)
    else:
        connection = smtplib.SMTP(server.host, server.port, timeout=_SECONDS)
    with connection:
        if server.encryption == "starttls":
            connection.starttls(context=tls)
        password = read_secret([SMTP_VARIABLE])
        if server.user and password is not None:
            connection.login(server.user, password.reveal())
        connection.send_message(letter)
