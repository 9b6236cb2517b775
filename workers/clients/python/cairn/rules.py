"""The rules of asking, without I/O: when a request goes again, how a run is waited for and its events are resumed.

A rule is a generator. It yields effects (`Exchange`, `Pause` ...), which a transport performs, and gets their results;
there is one transport for threads and one for asyncio. It returns a result, or yields each one as an `Emit`.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import ssl
import threading
import time
from typing import Any, Callable, Generator, Generic, Mapping, Optional, TypeVar, Union

from .http1 import Address, Answer, BadAnswer, NotSent, parse_address, request_bytes

Json = Any  # a JSON value: its type is for the graph to say

ANSWER_BYTES_MAX = 64 * 1024 * 1024
STREAM_BYTES_MAX = 1 << 60
_NOT_WHOLE = 408  # the time was over before all of the request was there
_BUSY = (_NOT_WHOLE, 429, 503)
_FOUND_NO_SERVER = (502, 504)

T = TypeVar("T")


class CairnError(Exception):
    """The API refuses something, or it cannot be reached."""


class Refused(CairnError):
    """The API's refusal: its status, its code and its sentence."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class Unavailable(CairnError):
    """No answer in time, or one that is not the API's."""


class Broken(Unavailable):
    """The connections break off, again and again, while a request is on its way."""


# --- effects --------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Exchange:
    """A request; the result is its Answer. A kept connection is used unless it `is_fresh`."""

    address: Address
    request: bytes
    timeout: float
    body_bytes_max: int = ANSWER_BYTES_MAX
    is_fresh: bool = False


@dataclasses.dataclass(frozen=True)
class Open:
    """A request whose answer is a stream: the result has a body only if it is none of 200."""

    address: Address
    request: bytes
    timeout: float


@dataclasses.dataclass(frozen=True)
class More:
    """The next bytes of the stream, empty at its end."""

    timeout: float


@dataclasses.dataclass(frozen=True)
class Pause:
    """Waits, at most until `ends` is set."""

    seconds: float
    ends: Optional[threading.Event] = None


@dataclasses.dataclass(frozen=True)
class Emit:
    """A result of a rule that has many."""

    value: Json


Effect = Union[Exchange, Open, More, Pause, Emit]
Result = Union[Answer, bytes, None]
Rules = Generator[Effect, Result, T]


def answer_to(effect: Union[Exchange, Open]) -> Rules[Answer]:
    result = yield effect
    assert isinstance(result, Answer)
    return result


def more_bytes(timeout: float) -> Rules[bytes]:
    result = yield More(timeout)
    assert isinstance(result, bytes)
    return result


# --- asking ---------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Call(Generic[T]):
    """A call of the API. `read` makes the result of the answer's JSON; what it raises says that it is another API's.

    One that is not `is_repeatable` has another effect the second time: it goes again only if it has not arrived.
    `done_code` is the code of the refusal that says it has had its effect before.
    """

    method: str
    path: str
    read: Callable[[Answer, Json], T]
    body: Optional[bytes] = None
    is_repeatable: bool = True
    timeout: float = 30.0
    done_code: str = ""


def _no_trouble(fault: Exception) -> None:
    pass


@dataclasses.dataclass
class Patience:
    """For how many seconds from the first failure a server that is away or busy is asked again, unless `ends` is set.

    After `breaks_max` connections that broke off within the request or its answer the call raises Broken.
    """

    seconds: float = 30.0
    ends: Optional[threading.Event] = None
    on_trouble: Callable[[Exception], None] = _no_trouble
    breaks_max: Optional[int] = None


def _token_of(token: Optional[str]) -> str:
    found = token if token is not None else os.environ.get("CAIRN_TOKEN", "")
    if not (found.isascii() and found.isprintable()) or " " in found:
        raise ValueError("Expected a token of visible characters, but it has others.")
    return found


class Api:
    """The API's address and token. Never changes but for what is learned of the server."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None) -> None:
        given = url or os.environ.get("CAIRN_URL") or "http://127.0.0.1:8080"
        self.address = parse_address(given, "Cairn's API")
        self.can_wait = True  # it knows `wait_ms` of a run
        found = _token_of(token)
        self._headers = {"Authorization": f"Bearer {found}"} if found else {}

    def request(self, method: str, path: str, body: Optional[bytes] = None,
                headers: Mapping[str, str] = {}) -> bytes:
        return request_bytes(method, self.address, "/api/v1" + path, {**self._headers, **headers}, body)

    def read(self, call: Call[T], answer: Answer) -> T:
        try:
            self.check_status(answer)
        except Refused as refusal:
            if refusal.code != call.done_code:
                raise
        try:
            return call.read(answer, json.loads(answer.body) if answer.body else None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self.not_ours(answer) from None

    def check_status(self, answer: Answer) -> None:
        """Raises the refusal that the answer is."""
        if answer.status >= 400:
            raise _refusal(answer)
        if answer.status >= 300:
            raise Unavailable(f"Expected an answer of Cairn at {self.address.url}, but it leads to "
                              f"{answer.headers.get('location', '')[:200]!r}.")

    def not_ours(self, answer: Answer) -> Unavailable:
        return Unavailable(f"Expected an answer of Cairn at {self.address.url}, but found {answer.body[:60]!r}.")

    def away(self, fault: Exception) -> Unavailable:
        return Unavailable(f"Expected an answer of Cairn at {self.address.url}, but: {str(fault).rstrip('.')}.")


def _refusal(answer: Answer) -> Refused:
    try:
        error = json.loads(answer.body)["error"]
        return Refused(answer.status, str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError, RecursionError):
        shown = answer.body[:200].decode("utf-8", "replace")
        return Refused(answer.status, "invalid",
                       f"Expected an answer of Cairn, but found status {answer.status} and {shown!r}.")


def retry_after(answer: Answer) -> float:
    """Seconds; 0 if it says none. A date is no number, and counts as none."""
    given = answer.headers.get("retry-after", "")
    return min(float(given), 86_400.0) if given.isascii() and given.isdigit() else 0.0


def ask(api: Api, call: Call[T], patience: Patience) -> Rules[T]:
    """The call's result. Raises Refused and Unavailable."""
    request = api.request(call.method, call.path, call.body)
    exchange = Exchange(api.address, request, call.timeout, is_fresh=not call.is_repeatable)
    until: Optional[float] = None
    breaks = 0
    pause = 0.05
    while True:
        wait = pause * (0.5 + random.random())
        try:
            answer = yield from answer_to(exchange)
            goes_again = answer.status in _BUSY or (answer.status in _FOUND_NO_SERVER and call.is_repeatable)
            if not goes_again:
                return api.read(call, answer)
            fault: Exception = _refusal(answer)
            wait = max(wait, retry_after(answer))
            breaks += answer.status == _NOT_WHOLE
        except BadAnswer as wrong:
            raise api.away(wrong) from None
        except ssl.SSLCertVerificationError as wrong:
            raise api.away(wrong) from None
        except OSError as gone:
            if not call.is_repeatable and not isinstance(gone, NotSent):
                raise Unavailable(f"Expected an answer of Cairn at {api.address.url}, but: {gone}; "
                                  f"the request may have arrived.") from None
            breaks += not isinstance(gone, NotSent)
            fault = gone
        if breaks and breaks == patience.breaks_max:
            raise Broken(f"Expected to send {len(request)} bytes to {api.address.url}, but {breaks} connections "
                         f"broke off: {str(fault).rstrip('.')}.") from None
        until = until or time.monotonic() + patience.seconds
        if (patience.ends and patience.ends.is_set()) or time.monotonic() + wait > until:
            raise api.away(fault) from fault
        patience.on_trouble(fault)
        yield Pause(wait, patience.ends)
        pause = min(pause * 2, 5.0)
