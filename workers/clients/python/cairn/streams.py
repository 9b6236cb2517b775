"""Performs rules with asyncio's streams: kept connections that the tasks of one event loop share.

No thread below: one that waits for a run or follows its events holds a connection and nothing else, and is cancelled at
once, however many there are.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from typing import Any, AsyncIterator, Awaitable, Dict, List, Optional, TypeVar

from .http1 import Address, Answer, AnswerReader, BadAnswer, NotSent
from .rules import ANSWER_BYTES_MAX, STREAM_BYTES_MAX, Effect, Emit, Exchange, Open, Pause, Result, Rules

T = TypeVar("T")

_PIECE = 256 * 1024
_KEPT_MAX = 16


class AsyncTransport:
    """Used from the tasks of one event loop at a time; connections of another loop are forgotten."""

    def __init__(self) -> None:
        self._contexts: Dict[Address, Optional[ssl.SSLContext]] = {}
        self._kept: List[_Connection] = []
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    async def run(self, rules: Rules[T]) -> T:
        """The result of rules that emit nothing."""
        try:
            effect = next(rules)
            while True:
                try:
                    result = await self._perform(effect)
                except (OSError, BadAnswer) as fault:
                    effect = rules.throw(fault)
                else:
                    effect = rules.send(result)
        except StopIteration as end:
            found: T = end.value
            return found

    async def each(self, rules: Rules[None]) -> AsyncIterator[Any]:
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
                    result = await self._perform(effect, stream)
                except (OSError, BadAnswer) as fault:
                    effect = rules.throw(fault)
                else:
                    effect = rules.send(result)

    def close(self) -> None:
        """Closes the kept connections."""
        for connection in self._kept:
            connection.close()
        self._kept.clear()

    async def _perform(self, effect: Effect, stream: Optional[_Stream] = None) -> Result:
        if isinstance(effect, Exchange):
            return await self._exchange(effect)
        if isinstance(effect, Pause):
            await asyncio.sleep(effect.seconds)
            return None
        assert stream is not None and not isinstance(effect, Emit)
        until = time.monotonic() + effect.timeout
        if isinstance(effect, Open):
            return await stream.open(await self._connect(effect.address, until), effect.request, until)
        return await stream.more(until)

    async def _exchange(self, effect: Exchange) -> Answer:
        until = time.monotonic() + effect.timeout
        kept = None if effect.is_fresh else self._take()
        if kept is not None:
            try:
                return await self._exchange_over(kept, effect, until)
            except _Unanswered:
                self.close()  # the server has closed it, and so the others
        return await self._exchange_over(await self._connect(effect.address, until), effect, until)

    async def _exchange_over(self, connection: _Connection, effect: Exchange, until: float) -> Answer:
        keeps = False
        try:
            reader = AnswerReader(effect.body_bytes_max)
            body = [reader.feed(await connection.first(effect.request, until))]
            while not reader.is_complete:
                body.append(reader.feed(await connection.receive(until)))
            keeps = reader.keeps_alive and not effect.is_fresh and len(self._kept) < _KEPT_MAX
        finally:
            if keeps:
                self._kept.append(connection)
            else:
                connection.close()
        return Answer(reader.status, reader.headers, b"".join(body))

    def _take(self) -> Optional[_Connection]:
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._kept.clear()
            self._loop = loop
        while self._kept:
            connection = self._kept.pop()
            if connection.is_open:
                return connection
            connection.close()
        return None

    async def _connect(self, address: Address, until: float) -> _Connection:
        if address not in self._contexts:
            self._contexts[address] = address.context()
        context = self._contexts[address]
        try:
            opened = asyncio.open_connection(address.host, address.port, ssl=context)
            reader, writer = await _within(opened, until)
        except ssl.SSLCertVerificationError:
            raise
        except OSError as fault:
            raise NotSent(fault) from fault
        return _Connection(reader, writer)


async def _within(work: Awaitable[T], until: float) -> T:
    try:
        return await asyncio.wait_for(work, max(until - time.monotonic(), 0.001))
    except asyncio.TimeoutError:
        raise TimeoutError("timed out") from None


class _Unanswered(ConnectionError):
    """The connection has ended, and no byte of an answer came."""


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_open(self) -> bool:
        return not (self._reader.at_eof() or self._writer.is_closing())

    async def first(self, request: bytes, until: float) -> bytes:
        """The first bytes of the answer. Raises _Unanswered if the connection ends before."""
        try:
            await self.send(request, until)
            data = await self.receive(until)
        except TimeoutError:
            raise
        except OSError as fault:
            raise _Unanswered(*fault.args) from fault
        if not data:
            raise _Unanswered("the connection ended within the answer")
        return data

    async def send(self, data: bytes, until: float) -> None:
        self._writer.write(data)
        await _within(self._writer.drain(), until)

    async def receive(self, until: float) -> bytes:
        return await _within(self._reader.read(_PIECE), until)

    def close(self) -> None:
        self._writer.close()


class _Stream:
    """An answer that is read piece by piece; none before it is opened."""

    def __init__(self) -> None:
        self._connection: Optional[_Connection] = None
        self._reader = AnswerReader(0)
        self._read = b""

    async def open(self, connection: _Connection, request: bytes, until: float) -> Answer:
        """With the body, if the answer is no stream."""
        self.close()
        self._connection = connection
        self._reader = AnswerReader(STREAM_BYTES_MAX)
        self._read = b""
        await connection.send(request, until)
        while not self._reader.has_head:
            self._read += self._reader.feed(await connection.receive(until))
        body = b""
        while self._reader.status != 200 and len(body) <= ANSWER_BYTES_MAX:
            piece = await self.more(until)
            if not piece:
                break
            body += piece
        return Answer(self._reader.status, self._reader.headers, body)

    async def more(self, until: float) -> bytes:
        assert self._connection is not None
        while not self._read and not self._reader.is_complete:
            self._read = self._reader.feed(await self._connection.receive(until))
        data, self._read = self._read, b""
        return data

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
