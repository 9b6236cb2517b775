"""A server on a free loopback port that answers with scripted bytes, and both clients asking it."""

from __future__ import annotations

import asyncio
import inspect
import json
import socket
import threading
from typing import Any, Callable, List, Optional, Tuple, Type, Union

from cairn import AsyncClient, Client

AnyClient = Union[Client, AsyncClient]
BOTH: Tuple[Type[AnyClient], ...] = (Client, AsyncClient)


class Stays:
    """An answer after which the connection stays open."""

    def __init__(self, data: bytes) -> None:
        self.data = data


def answer(body: Any = None, status: int = 200, **headers: str) -> bytes:
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} X", f"Content-Length: {len(text)}", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + text


class ScriptedServer:
    """Answers one connection after the other with the next script, the last one again and again."""

    def __init__(self, *scripts: Union[bytes, Stays]) -> None:
        self._scripts = list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: List[bytes] = []
        self._open: List[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(self, *thrown: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # also ends what accepts
        self._listener.close()
        for connection in self._open:
            connection.close()

    def paths(self) -> List[str]:
        return [request.split(b" ")[1].decode() for request in self.requests]

    def body(self, at: int) -> Any:
        return json.loads(self.requests[at].partition(b"\r\n\r\n")[2])

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            request = _request(connection)
            if not request:  # the client has left without asking
                connection.close()
                continue
            self.requests.append(request)
            script = self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0]
            try:
                connection.sendall(script.data if isinstance(script, Stays) else script)
            except OSError:
                pass  # the client has read enough
            if isinstance(script, Stays):
                self._open.append(connection)
            else:
                connection.close()


def _request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        data += piece
        if not piece or data.startswith(b"\x16"):  # the first byte of TLS
            return data
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
    while lengths and len(body) < lengths[0]:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def asked(kind: Type[AnyClient], url: str, call: Callable[[Any], Any], patience: float = 5.0,
          token: Optional[str] = None) -> Any:
    """The result of a call of either client; a list of what it iterates over."""
    client = kind(url, token, patience=patience)

    async def wait(result: Any) -> Any:
        return [one async for one in result] if inspect.isasyncgen(result) else await result

    async def run() -> Any:
        return await wait(call(client))

    if kind is AsyncClient:
        return asyncio.run(run())
    result = call(client)
    return list(result) if inspect.isgenerator(result) else result
