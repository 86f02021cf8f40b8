"""An SMTP server for tests: it takes letters after STARTTLS and a password, and keeps them."""

from __future__ import annotations

import base64
import email
import email.policy
import socketserver
import ssl
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path
from typing import cast

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass
class MailBox:
    """What a server has taken."""

    port: int
    certificate: Path
    letters: list[EmailMessage] = field(default_factory=list)
    was_encrypted: bool = False


@contextmanager
def serve_mail(user: str, password: str) -> Iterator[MailBox]:
    """Serve on a free port of this machine."""
    with tempfile.TemporaryDirectory(prefix="snellen-mail-") as folder:
        certificate = _write_certificate(Path(folder))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
        right = base64.b64encode(f"\0{user}\0{password}".encode())

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                self._say("220 localhost")
                has_signed_in = False
                while words := self.rfile.readline().strip():
                    verb = words[:4].upper()
                    if verb == b"EHLO":
                        self._say("250-localhost")
                        self._say("250-STARTTLS" if not box.was_encrypted else "250-AUTH PLAIN")
                        self._say("250 OK")
                    elif verb == b"STAR":
                        self._say("220 go on")
                        self.request = tls.wrap_socket(self.request, server_side=True)
                        self.rfile = self.request.makefile("rb")
                        self.wfile = self.request.makefile("wb", buffering=0)
                        box.was_encrypted = True
                    elif verb == b"AUTH":
                        has_signed_in = words.split()[-1] == right
                        self._say("235 OK" if has_signed_in else "535 wrong")
                    elif verb == b"DATA" and has_signed_in:
                        self._say("354 go on")
                        lines = list(iter(self.rfile.readline, b".\r\n"))
                        letter = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
                        box.letters.append(cast("EmailMessage", letter))
                        self._say("250 OK")
                    elif verb == b"QUIT":
                        self._say("221 bye")
                        break
                    else:
                        self._say("250 OK" if has_signed_in else "530 sign in first")
                # The next connection begins anew.
                self.request.close()

            def setup(self) -> None:
                super().setup()
                box.was_encrypted = False

            def _say(self, line: str) -> None:
                self.wfile.write(f"{line}\r\n".encode())

        with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
            box = MailBox(server.server_address[1], certificate)
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield box
            finally:
                server.shutdown()
                thread.join()


def _write_certificate(folder: Path) -> Path:
    """Key and certificate of localhost, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begin = datetime.now(UTC) - timedelta(days=1)
    names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=3))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "localhost.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file
