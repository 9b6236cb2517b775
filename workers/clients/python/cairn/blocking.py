"""Performs rules with blocking sockets: one kept connection for each thread."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
import weakref
from typing import Any, Dict, Iterator, Optional, TypeVar

from .http1 import Address, Answer, AnswerReader, BadAnswer, NotSent
from .rules import ANSWER_BYTES_MAX, STREAM_BYTES_MAX, Effect, Emit, Exchange, More, Open, Pause, Result, Rules

T = TypeVar("T")

_PIECE = 256 * 1024
_ANSWER_AFTER_CUT = 1.0  # seconds for what a server has answered that takes no more of the request


class Transport:
    """Safe from any thread."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._contexts: Dict[Address, Optional[ssl.SSLContext]] = {}
        self._all: weakref.WeakSet[_Connection] = weakref.WeakSet()
        self._is_cut = False

    def run(self, rules: Rules[T]) -> T:
        """The result of rules that emit nothing."""
        try:
            effect = next(rules)
            while True:
                try:
                    result = self._perform(effect)
                except (OSError, BadAnswer) as fault:
                    effect = rules.throw(fault)
                else:
                    effect = rules.send(result)
        except StopIteration as end:
            found: T = end.value
            return found

    def each(self, rules: Rules[None]) -> Iterator[Any]:
        """What the rules emit."""
        stream = _Stream()
        with contextlib.closing(stream), contextlib.suppress(StopIteration):
            effect = next(rules)
            while True:
                if isinstance(effect, Emit):
                    yield effect.value
                    effect = next(rules)
                    continue
                try:
                    result = self._perform(effect, stream)
                except (OSError, BadAnswer) as fault:
                    effect = rules.throw(fault)
                else:
                    effect = rules.send(result)

    def cut(self) -> None:
        """Ends what any thread waits for; all requests that follow fail."""
        self._is_cut = True
        for connection in list(self._all):
            connection.cut()

    def close(self) -> None:
        """Closes the kept connections; the transport may be used again."""
        for connection in list(self._all):
            connection.close()

    def _perform(self, effect: Effect, stream: Optional[_Stream] = None) -> Result:
        if isinstance(effect, Exchange):
            return self._exchange(effect)
        if isinstance(effect, Pause):
            (effect.ends or threading.Event()).wait(effect.seconds)
            return None
        assert stream is not None and not isinstance(effect, Emit)
        if isinstance(effect, Open):
            until = time.monotonic() + effect.timeout
            return stream.open(self._connect(effect.address, until), effect.request, until)
        return stream.more(time.monotonic() + effect.timeout)

    def _exchange(self, effect: Exchange) -> Answer:
        until = time.monotonic() + effect.timeout
        kept: Optional[_Connection] = None if effect.is_fresh else getattr(self._local, "connection", None)
        connection = kept if kept and not kept.is_closed else self._connect(effect.address, until)
        self._local.connection = None
        keeps = False
        try:
            reader = AnswerReader(effect.body_bytes_max)
            body = []
            cut = connection.send_all(effect.request, until)
            if cut is not None:  # it may have refused the head
                until = time.monotonic() + _ANSWER_AFTER_CUT
            try:
                while not reader.is_complete:
                    body.append(reader.feed(connection.receive(until)))
            except OSError as fault:
                raise cut or fault
            keeps = reader.keeps_alive and not effect.is_fresh and cut is None
        finally:
            if keeps:
                self._local.connection = connection
            else:
                connection.close()
        return Answer(reader.status, reader.headers, b"".join(body))

    def _connect(self, address: Address, until: float) -> _Connection:
        if address not in self._contexts:
            self._contexts[address] = address.context()
        connection = _Connection(address, self._contexts[address], until)
        self._all.add(connection)
        if self._is_cut:
            connection.cut()
        return connection


class _Connection:
    """A socket, in plain or in TLS. Another thread may cut it."""

    def __init__(self, address: Address, context: Optional[ssl.SSLContext], until: float) -> None:
        self.is_closed = False
        try:
            self._socket = socket.create_connection((address.host, address.port), max(until - time.monotonic(), 0.001))
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=address.host)
        except ssl.SSLCertVerificationError:
            raise
        except OSError as fault:
            raise NotSent(fault) from fault

    def send(self, data: bytes, until: float) -> None:
        self._set_time(until)
        self._socket.sendall(data)

    def send_all(self, data: bytes, until: float) -> Optional[OSError]:
        """None, or why the server has not taken all of it."""
        try:
            self.send(data, until)
        except OSError as fault:
            return fault
        return None

    def receive(self, until: float) -> bytes:
        self._set_time(until)
        return self._socket.recv(_PIECE)

    def _set_time(self, until: float) -> None:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._socket.settimeout(left)

    def cut(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.is_closed = True
        with contextlib.suppress(OSError):
            self._socket.close()


class _Stream:
    """An answer that is read piece by piece; none before it is opened."""

    def __init__(self) -> None:
        self._connection: Optional[_Connection] = None
        self._reader = AnswerReader(0)
        self._read = b""

    def open(self, connection: _Connection, request: bytes, until: float) -> Answer:
        """With the body, if the answer is no stream."""
        self.close()
        self._connection = connection
        self._reader = AnswerReader(STREAM_BYTES_MAX)
        self._read = b""
        connection.send(request, until)
        while not self._reader.has_head:
            self._read += self._reader.feed(connection.receive(until))
        body = b""
        while self._reader.status != 200 and len(body) <= ANSWER_BYTES_MAX:
            piece = self.more(until)
            if not piece:
                break
            body += piece
        return Answer(self._reader.status, self._reader.headers, body)

    def more(self, until: float) -> bytes:
        assert self._connection is not None
        while not self._read and not self._reader.is_complete:
            self._read = self._reader.feed(self._connection.receive(until))
        data, self._read = self._read, b""
        return data

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
