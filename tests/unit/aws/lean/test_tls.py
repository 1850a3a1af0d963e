"""Over TLS nobody is believed who cannot prove his name to the authorities that are trusted."""

from __future__ import annotations

import datetime
import ipaddress
import select
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from botocore.exceptions import SSLError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from hourhand.aws.lean._lines import Answer, Connection, Endpoint, _trusting
from hourhand.aws.lean._round import MOST_LINES, Lines

NAMES = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """Return a file with a key and a certificate of 127.0.0.1 that signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.UTC)
    day = datetime.timedelta(days=1)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder()
        .subject_name(NAMES)
        .issuer_name(NAMES)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    told = key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ) + made.public_bytes(pem)
    path = tmp_path / "certificate.pem"
    path.write_bytes(told)
    return path


@pytest.fixture
def url(certificate: Path) -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def line(url: str, certificates: Path | None) -> Connection:
    trusted = str(certificates) if certificates else None
    return Connection(Endpoint(url=url, connect_timeout=5, read_timeout=5, certificates=trusted))


def asked(line: Connection) -> Answer:
    line.send({"host": "loopback"}, b"{}")
    while (answer := line.take()) is None:
        select.select([line], [], [], 5)
    return answer


def test_who_is_trusted_is_spoken_to(url: str, certificate: Path) -> None:
    trusting = line(url, certificate)
    assert asked(trusting).body == b"{}"
    trusting.close()


def test_many_large_answers_are_each_their_own(url: str, certificate: Path) -> None:
    """Each is several records of TLS, which no selector sees once they were taken."""
    trusted = Endpoint(url=url, connect_timeout=5, read_timeout=5, certificates=str(certificate))
    lines = Lines(trusted)
    bodies = [b"%d" % number * 50_000 for number in range(2 * MOST_LINES)]
    made = []
    for _ in range(2):
        told = lines.post_many(len(bodies), lambda number: ({"host": "x"}, bodies[number]))
        assert [each.body for each in told if isinstance(each, Answer)] == bodies
        made.append({line._connection for line in lines._free})
    assert made[0] == made[1]
    lines.close()


def test_who_is_not_trusted_is_sent_nothing(url: str) -> None:
    with pytest.raises(SSLError):
        asked(line(url, None))


def test_another_name_is_not_believed(url: str, certificate: Path) -> None:
    with pytest.raises(SSLError):
        asked(line(url.replace("127.0.0.1", "localhost"), certificate))


def test_a_client_that_calls_nobody_reads_no_authorities(url: str, certificate: Path) -> None:
    read_before = _trusting.cache_info().currsize
    line(url, certificate)
    assert _trusting.cache_info().currsize == read_before


def test_old_versions_of_tls_are_not_spoken(certificate: Path) -> None:
    assert _trusting(str(certificate)).minimum_version is ssl.TLSVersion.TLSv1_2
