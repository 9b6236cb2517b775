"""HTTP/1.1 without I/O: the bytes of a request, and a reader for the bytes of its answer, bounded in each part."""

from __future__ import annotations

import dataclasses
import os
import ssl
import urllib.parse
from typing import Dict, Generator, List, Mapping, Optional

HEAD_BYTES_MAX = 64 * 1024


class BadAnswer(Exception):
    """Bytes that are no answer of HTTP/1.1, or more of them than were asked for."""


class TooLarge(BadAnswer):
    """An answer that is longer than what is taken."""


class NotSent(OSError):
    """No connection: the request cannot have arrived."""

    def __init__(self, fault: OSError) -> None:
        known = fault.errno if isinstance(fault, ConnectionError) else None
        super().__init__(os.strerror(known) if known else str(fault))


@dataclasses.dataclass(frozen=True)
class Address:
    """A server and the path below which its API is."""

    url: str
    is_secure: bool
    host: str
    port: int
    authority: str
    path: str

    def context(self) -> Optional[ssl.SSLContext]:
        """Certificates are verified; SSL_CERT_FILE names an authority of your own."""
        return ssl.create_default_context() if self.is_secure else None


def parse_address(url: str, name: str = "a server") -> Address:
    """Raises ValueError with a sentence that calls the URL `name`."""
    if "@" in url:
        raise ValueError(f"Expected the address of {name} without a user and a password, but it has them.")
    wrong = ValueError(f"Expected the address of {name} as http://HOST or https://HOST, but found {url[:200]!r}.")
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    is_plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in ("http", "https") or not parts.hostname or not is_plain:
        raise wrong
    if parts.query or parts.fragment:
        raise wrong
    is_secure = parts.scheme == "https"
    return Address(url, is_secure, parts.hostname, port or (443 if is_secure else 80), parts.netloc,
                   parts.path.rstrip("/"))


def request_bytes(method: str, address: Address, path: str, headers: Mapping[str, str],
                  body: Optional[bytes] = None) -> bytes:
    """The path begins with a slash and is already quoted."""
    lines = [f"{method} {address.path}{path} HTTP/1.1", f"Host: {address.authority}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    elif method != "GET":
        lines.append("Content-Length: 0")
    return "\r\n".join([*lines, "", ""]).encode("ascii") + (body or b"")


@dataclasses.dataclass(frozen=True)
class Answer:
    """Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class AnswerReader:
    """Reads one answer from the bytes of a connection, whose end is an empty piece."""

    def __init__(self, body_bytes_max: int) -> None:
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.has_head = False
        self.is_complete = False
        self.keeps_alive = False
        self._head_left = HEAD_BYTES_MAX
        self._body_bytes_max = body_bytes_max
        self._body_left = body_bytes_max
        self._buffer = bytearray()
        self._has_ended = False
        self._body: List[bytes] = []
        self._reading = self._read()
        next(self._reading)

    def feed(self, data: bytes) -> bytes:
        """Returns what it completes of the body. Raises BadAnswer, and ConnectionError where the answer is cut."""
        self._has_ended = not data
        self._buffer += data
        try:
            next(self._reading)
        except StopIteration:
            self.is_complete = True
            self.keeps_alive = self.keeps_alive and not self._buffer
        pieces = b"".join(self._body)
        self._body.clear()
        return pieces

    def _read(self) -> Generator[None, None, None]:
        yield
        while self.status < 200:
            yield from self._read_head()
        self.has_head = True
        length = self.headers.get("content-length")
        if self.status in (204, 304):
            return
        if "transfer-encoding" in self.headers:
            yield from self._read_chunks()
        elif length is not None:
            yield from self._take(self._number(length, 10))
        else:
            self.keeps_alive = False
            yield from self._take_rest()

    def _read_head(self) -> Generator[None, None, None]:
        words = (yield from self._line()).split(" ", 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not (words[1].isdigit() and len(words[1]) == 3):
            raise BadAnswer(f"Expected HTTP/1.1, but found {' '.join(words)[:60]!r}")
        self.status = int(words[1])
        self.headers = {}
        while True:
            line = yield from self._line()
            if not line:
                break
            name, colon, value = line.partition(":")
            name, value = name.lower(), value.strip()
            if not colon or not name or self.headers.get(name, value) != value and name == "content-length":
                raise BadAnswer(f"Expected a header, but found {line[:60]!r}")
            self.headers[name] = value
        self.keeps_alive = words[0] == "HTTP/1.1" and self.headers.get("connection", "").lower() != "close"

    def _read_chunks(self) -> Generator[None, None, None]:
        if self.headers["transfer-encoding"].lower() != "chunked":
            raise BadAnswer(f"Expected chunks, but found {self.headers['transfer-encoding'][:60]!r}")
        while True:
            self._head_left = 1024
            size = self._number((yield from self._line()).partition(";")[0].strip(), 16)
            if size == 0:
                break
            yield from self._take(size)
            if (yield from self._line()):
                raise BadAnswer("Expected the end of a chunk, but found more of it")
        self._head_left = HEAD_BYTES_MAX
        while (yield from self._line()):
            pass

    def _line(self) -> Generator[None, None, str]:
        while True:
            end = self._buffer.find(b"\n")
            if max(end, len(self._buffer) if end < 0 else 0) > self._head_left:
                raise BadAnswer(f"Expected a head of at most {HEAD_BYTES_MAX} bytes, but found more")
            if end >= 0:
                break
            yield from self._more()
        line = self._buffer[:end].decode("latin-1").rstrip("\r")
        del self._buffer[:end + 1]
        self._head_left -= end + 1
        return line

    def _take(self, size: int) -> Generator[None, None, None]:
        if size > self._body_left:
            raise TooLarge(f"Expected an answer of at most {self._body_bytes_max} bytes, but found more")
        self._body_left -= size
        while size > 0:
            while not self._buffer:
                yield from self._more()
            piece = bytes(self._buffer[:size])
            del self._buffer[:size]
            self._body.append(piece)
            size -= len(piece)

    def _take_rest(self) -> Generator[None, None, None]:
        while True:
            yield from self._take(len(self._buffer))
            if self._has_ended:
                return
            yield

    def _more(self) -> Generator[None, None, None]:
        if self._has_ended:
            raise ConnectionError("the connection ended within the answer")
        yield

    @staticmethod
    def _number(text: str, base: int) -> int:
        digits = "0123456789abcdef"[:base]
        if not text or len(text) > 16 or any(one not in digits for one in text.lower()):
            raise BadAnswer(f"Expected a length, but found {text[:60]!r}")
        return int(text, base)
