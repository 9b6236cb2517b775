"""Requests to the API, one connection for each thread, tried again while the server is away."""

from __future__ import annotations

import http.client
import json
import os
import random
import threading
import time
import urllib.parse
from typing import Any, Callable, Iterator, Mapping, Optional

Json = Any
Headers = Mapping[str, str]


class CairnError(Exception):
    """What the API refuses, or that it cannot be reached."""


class Refused(CairnError):
    """The API's refusal: its status, its code and its sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Unavailable(CairnError):
    """No answer within the patience."""


def _refusal(status: int, body: bytes) -> Refused:
    try:
        error = json.loads(body)["error"]
        return Refused(status, str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return Refused(status, "invalid", body[:200].decode("utf-8", "replace"))


class Transport:
    """Safe from any thread. `patience`: seconds for which a server that is away or busy is asked again."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, patience: float = 30.0) -> None:
        address = url or os.environ.get("CAIRN_URL") or "http://127.0.0.1:8080"
        parts = urllib.parse.urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"Expected an http or https URL, but found {address!r}.")
        self._parts = parts
        self._token = token if token is not None else os.environ.get("CAIRN_TOKEN")
        self._patience = patience
        self._local = threading.local()

    def ask(self, method: str, path: str, body: Json = None, *, timeout: float = 30.0, text: Optional[bytes] = None,
            gives_up: Callable[[], bool] = lambda: False) -> Json:
        """The answer's JSON. A request that may have arrived goes again: all that it is used for is idempotent."""
        data = text if text is not None else None if body is None else json.dumps(body).encode()
        until = time.monotonic() + self._patience
        pause = 0.05
        while True:
            wait = pause
            try:
                status, headers, answer = self._once(method, path, data, timeout)
                if status < 400:
                    return json.loads(answer) if answer else None
                refusal = _refusal(status, answer)
                if status not in (429, 502, 503, 504):
                    raise refusal
                fault: Exception = refusal
                wait = max(wait, float(headers.get("Retry-After", "0") or 0))
            except (OSError, http.client.HTTPException) as gone:
                fault = gone
                self._drop()
            if gives_up() or time.monotonic() + wait > until:
                raise Unavailable(f"Expected an answer of {self._parts.geturl()}, but: {fault}") from fault
            time.sleep(wait * (0.5 + random.random()))
            pause = min(pause * 2, 5.0)

    def lines(self, path: str, headers: Headers) -> Iterator[str]:
        """The lines of a stream, on a connection of its own."""
        connection = self._connect(None)
        try:
            connection.request("GET", self._target(path), headers={**self._headers(), **headers})
            response = connection.getresponse()
            if response.status >= 400:
                raise _refusal(response.status, response.read())
            for line in response:
                yield line.decode().rstrip("\r\n")
        finally:
            connection.close()

    def _once(self, method: str, path: str, data: Optional[bytes], timeout: float) -> tuple[int, Headers, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._connect(timeout)
        elif connection.sock is not None:
            connection.sock.settimeout(timeout)
        headers = dict(self._headers())
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, self._target(path), body=data, headers=headers)
        response = connection.getresponse()
        answer = response.read()
        if response.will_close:
            self._drop()
        return response.status, dict(response.getheaders()), answer

    def _connect(self, timeout: Optional[float]) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
        assert self._parts.hostname is not None
        return kind(self._parts.hostname, self._parts.port, timeout=timeout)

    def _drop(self) -> None:
        connection = getattr(self._local, "connection", None)
        self._local.connection = None
        if connection is not None:
            connection.close()

    def _target(self, path: str) -> str:
        return self._parts.path.rstrip("/") + "/api/v1" + path

    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self._token}"} if self._token else {}
