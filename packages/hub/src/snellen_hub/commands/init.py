"""`snellen hub init`."""

from __future__ import annotations

import secrets
import shlex
from dataclasses import dataclass

from snellen.api.flags import option
from snellen.cli.output import print_line
from snellen.core.errors import COMPLETE
from snellen_hub.commands import OWNER, hub_folder
from snellen_hub.commands.account import read_password


@dataclass(frozen=True, kw_only=True)
class Options:
    """What `snellen hub init` takes."""

    folder: str = hub_folder()
    owner: str = option("owner", "--owner", OWNER, metavar="NAME")


def main(options: Options) -> int:
    """Make a hub and its owner; the password is asked for, or read from standard input."""
    from snellen.settings import read_secret
    from snellen_hub.hub import create_hub
    from snellen_hub.storage import KEY_VARIABLE

    hub = create_hub(options.folder, options.owner, read_password())
    hub.close()
    print_line(f"{hub.folder}: a hub, owned by {options.owner}")
    folder = shlex.quote(str(options.folder))
    print_line("next:")
    if read_secret([KEY_VARIABLE]) is None:
        key = secrets.token_urlsafe(32)
        print_line(f"  export {KEY_VARIABLE}={key}  # encrypts hidden answers: keep it elsewhere")
    for action in ("benchmark", "account", "serve", "worker"):
        more = {"benchmark": " NAME --data FILE", "account": " NAME"}.get(action, "")
        print_line(f"  snellen hub {action} {folder}{more}")
    return COMPLETE
