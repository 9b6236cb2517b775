"""The calls of the API, and the rules that take several: waiting for a run, its events, the pages of a list."""

from __future__ import annotations

import json
import re
import ssl
import time
import urllib.parse
import uuid
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union, cast

from .http1 import Answer, BadAnswer
from .rules import (Api, Call, Emit, Json, Open, Patience, Pause, Refused, Rules, T, Unavailable, answer_to, ask,
                    more_bytes, retry_after)
from .shapes import Difference, Event, Explanation, Goal, RunState

_ENDED = ("done", "failed", "aborted")
_WAIT_MS = 25_000
_STREAM_PULSE = 60.0  # seconds; the server says something more often
_LINE_BYTES_MAX = 64 * 1024 * 1024
_PAGE_ROWS = 500
_BUSY = (408, 429, 503)
_STATUS_OF_CODE = {"not_found": 404, "conflict": 409, "limit": 409, "closed": 409}  # of a start among many; else 400

Where = Union[str, int, None]


# --- bodies and answers ---------------------------------------------------------------------------------------------


def _body(**fields: Json) -> bytes:
    """The fields that are given. Raises ValueError and TypeError for what is no JSON."""
    return json.dumps({name: value for name, value in fields.items() if value is not None},
                      allow_nan=False).encode()


def _query(fields: Mapping[str, Json]) -> str:
    given = {name: value for name, value in fields.items() if value is not None}
    return "?" + urllib.parse.urlencode(given, doseq=True) if given else ""


def _run_path(run: str, part: str = "") -> str:
    return "/runs/" + urllib.parse.quote(run, safe="") + part


def _object_with(*names: str) -> Callable[[Answer, Json], Any]:
    def read(_: Answer, value: Json) -> Any:
        if not isinstance(value, dict) or any(name not in value for name in names):
            raise ValueError
        return value

    return read


def _rows(_: Answer, value: Json) -> Any:
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        raise ValueError
    return value


def _id(_: Answer, value: Json) -> str:
    return str(value["run"])


def _nothing(_: Answer, value: Json) -> None:
    if not isinstance(value, dict):
        raise ValueError


# --- calls ----------------------------------------------------------------------------------------------------------


def start(graph: str, input: Optional[Mapping[str, Json]], key: Optional[str], tags: Optional[Mapping[str, str]],
          options: Optional[Mapping[str, Json]], continues: Optional[str]) -> Call[str]:
    """A start has always a key, as its request may have to go twice."""
    body = _body(graph=graph, input=dict(input or {}), key=key or str(uuid.uuid4()), tags=dict(tags) if tags else None,
                 options=dict(options) if options else None, continues=continues)
    return Call("POST", "/runs", _id, body)


def start_many(graph: str, runs: Iterable[Mapping[str, Json]], tags: Optional[Mapping[str, str]],
               options: Optional[Mapping[str, Json]]) -> Call[List[Union[str, Refused]]]:
    keyed: List[Dict[str, Json]] = [{"input": {}, **run, "key": run.get("key") or str(uuid.uuid4())} for run in runs]
    body = _body(graph=graph, runs=keyed, tags=dict(tags) if tags else None, options=dict(options) if options else None)
    return Call("POST", "/runs", lambda _, value: [_started(one) for one in value["runs"]], body)


def _started(one: Json) -> Union[str, Refused]:
    if "error" not in one:
        return str(one["run"])
    refused = one["error"]
    return Refused(_STATUS_OF_CODE.get(refused["code"], 400), refused["code"], refused["message"])


def add_graph(graph: Mapping[str, Json]) -> Call[str]:
    return Call("POST", "/graphs", lambda _, value: str(value["version"]), json.dumps(dict(graph)).encode())


def state(run: str, at: Where = None, wait_ms: Optional[int] = None) -> Call[RunState]:
    path = _run_path(run, _query({"at": at, "wait_ms": wait_ms}))
    return Call("GET", path, _object_with("status", "seq"), timeout=30.0 + (wait_ms or 0) / 1000)


def explain(run: str) -> Call[Explanation]:
    return Call("GET", _run_path(run, "/explain"), _object_with("reasons"))


def diff(run: str, other: str) -> Call[Difference]:
    return Call("GET", _run_path(run, "/diff" + _query({"with": other})), _object_with("same", "first"))


def signal(run: str, name: str, value: Json, id: Optional[str]) -> Call[None]:
    """A signal has always an id, so that one that goes twice counts once."""
    body = json.dumps({"name": name, "value": value, "id": id or str(uuid.uuid4())}, allow_nan=False).encode()
    return Call("POST", _run_path(run, "/signals"), _nothing, body, done_code="conflict")


def answer(run: str, value: Json, question: Optional[str], by: Optional[str]) -> Call[None]:
    fields = {"value": value, **({"question": question} if question else {}), **({"by": by} if by else {})}
    body = json.dumps(fields, allow_nan=False).encode()
    return Call("POST", _run_path(run, "/answers"), _nothing, body, is_repeatable=False)


def control(run: str, command: str, **fields: Json) -> Call[None]:
    return Call("POST", _run_path(run, "/" + command), _nothing, _body(**fields), is_repeatable=False)


def going_on(run: str, command: str, **fields: Json) -> Call[str]:
    """A command that answers with the run that goes on."""
    return Call("POST", _run_path(run, "/" + command), _id, _body(**fields), is_repeatable=False)


def fork(run: str, at: int, set: Optional[Mapping[str, Json]], answer: Optional[Mapping[str, Json]], graph: Json,
         tags: Optional[Mapping[str, str]], recorded: bool, reason: str) -> Call[str]:
    return going_on(run, "fork", at=at, set=dict(set) if set else None, answer=dict(answer) if answer else None,
                    graph=graph, tags=dict(tags) if tags else None, recorded=recorded or None,
                    reason=reason or None)


# --- waiting --------------------------------------------------------------------------------------------------------


def end_of(api: Api, run: str, timeout: Optional[float], patience: Patience) -> Rules[RunState]:
    """The state once the run has ended. A server that cannot wait for it is asked again and again."""
    return _end_of(api, run, timeout, _until(timeout), patience)


def end_of_start(api: Api, begin: Call[str], timeout: Optional[float], patience: Patience) -> Rules[RunState]:
    """The state once the run that the call starts has ended: by that request alone, if it ends soon."""
    until = _until(timeout)
    wait_ms = _wait_ms(api, _left(until)) or 0
    path = begin.path + _query({"wait_ms": wait_ms or None})
    call: Call[Dict[str, Json]] = Call("POST", path, _object_with("run"), begin.body, timeout=30.0 + wait_ms / 1000)
    found = yield from ask(api, call, patience)
    if found.get("status") in _ENDED:
        return cast(RunState, found)
    return (yield from _end_of(api, found["run"], timeout, until, patience))


def _until(timeout: Optional[float]) -> Optional[float]:
    return None if timeout is None else time.monotonic() + timeout


def _left(until: Optional[float]) -> float:
    return 3600.0 if until is None else max(until - time.monotonic(), 0.0)


def _end_of(api: Api, run: str, timeout: Optional[float], until: Optional[float],
            patience: Patience) -> Rules[RunState]:
    pause = 0.02
    while True:
        left = _left(until)
        wait_ms = _wait_ms(api, left)
        try:
            found = yield from ask(api, state(run, wait_ms=wait_ms), patience)
        except Refused as refusal:
            if wait_ms is None or refusal.status != 400 or "wait_ms" not in str(refusal):
                raise
            api.can_wait = False
            continue
        if found["status"] in _ENDED:
            return found
        if until is not None and time.monotonic() >= until:
            raise Unavailable(f"Expected run {run} to end within {timeout} s, but it is {found['status']}.")
        if wait_ms is None:
            yield Pause(min(pause, left))
            pause = min(pause * 1.5, 1.0)


def _wait_ms(api: Api, left: float) -> Optional[int]:
    return max(min(int(left * 1000), _WAIT_MS), 1) if api.can_wait else None


# --- events ---------------------------------------------------------------------------------------------------------


class _EventLines:
    """The events in the bytes of a stream of server-sent events."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, data: bytes) -> List[Event]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _LINE_BYTES_MAX:
            raise BadAnswer(f"Expected events of at most {_LINE_BYTES_MAX} bytes, but found more")
        try:
            events = [json.loads(line[len(b"data:"):]) for line in lines if line.startswith(b"data:")]
        except (ValueError, RecursionError):
            raise BadAnswer("Expected events as JSON, but found others") from None
        if not all(isinstance(event, dict) and isinstance(event.get("seq"), int) for event in events):
            raise BadAnswer("Expected events of a run, but found others")
        return events


class _Following:
    """The events of a run from one on: where they are, and until when a server that is away is waited for."""

    def __init__(self, api: Api, run: str, after: int, patience: Patience) -> None:
        self.api = api
        self.run = run
        self.after = after
        self.patience = patience
        self.until: Optional[float] = None

    def rules(self) -> Rules[None]:
        while True:
            wait = 0.5
            try:
                answer = yield from self._open()
                wait = max(wait, retry_after(answer))
                fault: Exception = Unavailable(f"status {answer.status}")
                if answer.status not in _BUSY:
                    yield from self._read(answer)
                    found = yield from ask(self.api, state(self.run), self.patience)
                    if found["status"] in _ENDED and found["seq"] <= self.after:
                        return
                    self.until = None
                    yield Pause(wait)
                    continue
            except Refused as refusal:
                if refusal.status != 404 or self.after > 0:
                    raise
                yield from ask(self.api, state(self.run), self.patience)  # refused, unless its start still waits
                yield Pause(wait)
                continue
            except (BadAnswer, ssl.SSLCertVerificationError) as wrong:
                raise self.api.away(wrong) from None
            except OSError as gone:
                fault = gone
            self.until = self.until or time.monotonic() + self.patience.seconds
            if time.monotonic() > self.until:
                raise self.api.away(fault)
            yield Pause(wait)

    def _open(self) -> Rules[Answer]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.after)}
        request = self.api.request("GET", _run_path(self.run, "/events"), headers=headers)
        return (yield from answer_to(Open(self.api.address, request, 30.0)))

    def _read(self, answer: Answer) -> Rules[None]:
        self.api.check_status(answer)
        if not answer.headers.get("content-type", "").startswith("text/event-stream"):
            raise BadAnswer("Expected a stream of events, but found another answer")
        lines = _EventLines()
        while True:
            data = yield from more_bytes(_STREAM_PULSE)
            if not data:
                return
            self.until = None
            for event in lines.take(data):
                if event["seq"] > self.after:
                    self.after = event["seq"]
                    yield Emit(event)


def events(api: Api, run: str, after: int, patience: Patience) -> Rules[None]:
    """The events after `after` as they come, until the run has ended; goes on where it was when the stream breaks."""
    return _Following(api, run, after, patience).rules()


# --- lists ----------------------------------------------------------------------------------------------------------


def rows(api: Api, path: str, where: Mapping[str, Json], limit: Optional[int], patience: Patience) -> Rules[None]:
    """The rows of a list, page by page, at most `limit`."""
    left = limit
    query = _query({**where, "limit": _PAGE_ROWS if limit is None else max(min(limit, _PAGE_ROWS), 1)})
    while left is None or left > 0:
        call: Call[Tuple[List[Dict[str, Json]], str]] = Call("GET", path + query, _page)
        found, following = yield from ask(api, call, patience)
        for row in found[:left]:
            yield Emit(row)
        left = None if left is None else left - len(found)
        if not following or following == query:
            return
        query = following


def plan(api: Api, run: str, at: Where, patience: Patience) -> Rules[List[Goal]]:
    """The sub-goals, in one answer if they fit; else page by page, all as of the moment of the first.

    A server that has no pages refuses the first as invalid: then the refusal of the whole is the cause."""
    path = _run_path(run, "/plan")
    whole: Call[List[Goal]] = Call("GET", path + _query({"at": at}), _rows)
    try:
        return (yield from ask(api, whole, patience))
    except Refused as refusal:
        if refusal.code != "limit":
            raise
        too_large = refusal
    goals: List[Goal] = []
    query = first = _query({"at": at, "limit": _PAGE_ROWS})
    while query:
        call: Call[Tuple[List[Goal], str]] = Call("GET", path + query, _page)
        try:
            found, following = yield from ask(api, call, patience)
        except Refused as refusal:
            if query == first and refusal.code == "invalid":
                raise too_large from None
            raise
        goals += found
        query = following
    return goals


def _page(answer: Answer, value: Json) -> Tuple[List[Any], str]:
    return _rows(answer, value), _next_query(answer.headers.get("link", ""))


def _next_query(link: str) -> str:
    """The query of the next page; the path is that of this one, whatever the header says."""
    for found in re.finditer(r"<([^>]*)>([^<]*)", link):
        query: str = urllib.parse.urlsplit(found.group(1)).query
        if re.search(r';\s*rel="?next"?', found.group(2)) and query:
            return "?" + query
    return ""


def filters(tags: Optional[Mapping[str, str]], where: Mapping[str, Where]) -> Dict[str, Json]:
    """The filters of a list as its query has them."""
    found: Dict[str, Json] = dict(where)
    if tags:
        found["tag"] = [f"{name}={value}" for name, value in tags.items()]
    return found
