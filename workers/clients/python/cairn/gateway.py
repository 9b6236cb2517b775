"""A worker's requests: claims with reports, heartbeats, the end of its session."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .blocking import Transport
from .context import StepContext
from .functions import Function
from .http1 import Answer
from .rules import Api, Call, Json, Patience, Refused, Unavailable, ask

log = logging.getLogger("cairn")

_FOREVER = 1e9
_TROUBLE_PAUSE = 30.0
_BODY_BYTES = 1 << 20  # that the API takes, unless it is configured otherwise
_BREAKS_MAX = 5  # of a larger one: after a refusal that did not arrive, each try would end like this
_BEAT_SECONDS_MIN = 3.0  # for its answer; otherwise as long as the pause between two
_OPENING: Dict[str, Json] = {"wait_ms": 0}


@dataclasses.dataclass(frozen=True)
class Answered:
    """The API's answer to a request for claims; `results` are in the order of the reports."""

    session: str
    heartbeat: float
    results: List[Dict[str, Any]]
    claims: List[Dict[str, Any]]


class Gateway:
    """The worker's session at the API. Safe from any thread.

    Reports go until they are taken, or `closed` is set; requests that only take go until `stopping` is set.
    """

    def __init__(self, api: Api, name: str, queues: Sequence[str], stopping: threading.Event,
                 closed: threading.Event) -> None:
        self.session: Optional[str] = None
        self._replacing = threading.Lock()  # of the session's name, for a moment
        self._opening = threading.Lock()  # while a request opens the session
        self.has_begun = False  # the API has taken a request
        self.heartbeat = 5.0
        self._api = api
        self._head: Dict[str, Json] = {"worker": name, "queues": list(queues)}
        self._waiting = Transport()  # for requests that wait for steps, and are cut when the worker stops
        self._reporting = Transport()
        self._takes = Patience(_FOREVER, stopping, self._note)
        self._reports = Patience(_FOREVER, closed, self._note)
        self._noted = float("-inf")

    def declare(self, handlers: Sequence[Function], tools: Sequence[Function]) -> None:
        self._head["handlers"] = [one.declared for one in handlers]
        self._head["tools"] = [one.declared for one in tools]

    def claims(self, reports: Sequence[bytes], most: int, wait_ms: int = 0, closes: bool = False) -> Answered:
        """Reports what has ended and takes at most so many steps. Raises Refused and Unavailable."""
        head: Dict[str, Json] = {"max": most, "wait_ms": wait_ms}
        if closes:
            head["close"] = True
        session = self.session
        if session is None:
            return self._opened(reports, head)
        try:
            return self._claims(session, reports, head)
        except Refused as refusal:
            if refusal.status != 404 or closes:
                raise
        self._replace(session, None)  # it is gone: what it held is lost
        return self.claims(reports, most, wait_ms)

    def _opened(self, reports: Sequence[bytes], head: Dict[str, Json]) -> Answered:
        """One request opens the session, and waits for no step; the others wait for it: two would open two."""
        ends = self._takes.ends if head["wait_ms"] else self._reports.ends
        while not self._opening.acquire(timeout=0.2):
            if ends is not None and ends.is_set():
                raise Unavailable("Expected a session, but none is open, and the worker stops.")
        try:
            if self.session is None:
                return self._claims(None, reports, head)
        finally:
            self._opening.release()
        return self.claims(reports, head["max"], head["wait_ms"])

    def _claims(self, session: Optional[str], reports: Sequence[bytes], head: Dict[str, Json]) -> Answered:
        wait_ms = head["wait_ms"]
        transport, patience = (self._waiting, self._takes) if wait_ms > 0 else (self._reporting, self._reports)
        said = {**self._head, **head, **(_OPENING if session is None else {"session": session})}
        body = json.dumps(said).encode()[:-1] + b', "finished": [' + b", ".join(reports) + b"]}"
        call = Call("POST", "/claims", _answered, body, timeout=wait_ms / 1000 + 30)
        if len(body) > _BODY_BYTES:
            patience = dataclasses.replace(patience, breaks_max=_BREAKS_MAX)
        answered = transport.run(ask(self._api, call, Patience(0) if "close" in head else patience))
        self._replace(session, answered.session)
        self.has_begun = True
        self.heartbeat = answered.heartbeat
        self._noted = float("-inf")
        return answered

    def _replace(self, session: Optional[str], other: Optional[str]) -> None:
        """Else another request has replaced it, and that one counts."""
        with self._replacing:
            if self.session == session:
                self.session = other

    def fail(self, claim: str, message: str) -> None:
        """Reports that what a step has brought cannot be taken."""
        body = json.dumps({"error": "invalid", "message": message[:1000], "again": False}).encode()
        self._reporting.run(ask(self._api, Call("POST", f"/claims/{claim}/fail", _any, body), self._reports))

    def beat(self, claims: Sequence[str], progress: Mapping[str, str]) -> Optional[List[str]]:
        """Those claims that do not count any more; None: it was not taken, and another one has to go soon.

        A session that is gone is one that the next request replaces. Texts that are refused keep no heartbeat back.
        """
        session = self.session
        if session is None:
            return None
        fields: Dict[str, Json] = {"session": session, "claims": list(claims)}
        if progress:
            fields["progress"] = dict(progress)
        call = Call("POST", "/claims/heartbeat", _lost, json.dumps(fields).encode(),
                    timeout=max(self.heartbeat, _BEAT_SECONDS_MIN))
        try:
            return self._reporting.run(ask(self._api, call, Patience(0)))
        except Refused as refusal:
            log.warning("Expected a heartbeat to be taken, but: %s", refusal)
            if progress and refusal.status in (400, 413):
                return self.beat(claims, {})
            if refusal.status == 404:
                self._replace(session, None)
        except Unavailable:
            pass  # the next one may come through
        return None

    def cut(self) -> None:
        """Ends the requests that wait for steps. Those that are on their way are offered to others."""
        self._waiting.cut()

    def close(self) -> None:
        self._waiting.close()
        self._reporting.close()

    def _note(self, fault: Exception) -> None:
        if time.monotonic() - self._noted > _TROUBLE_PAUSE:
            self._noted = time.monotonic()
            log.warning("Expected an answer of Cairn at %s, but: %s; asking again.", self._api.address.url, fault)


def _answered(_: Answer, value: Json) -> Answered:
    read = Answered(str(value["session"]), value["heartbeat_ms"] / 1000, value["results"], value["claims"])
    for one in [*read.results, *read.claims]:
        if not isinstance(one["claim"], str):
            raise ValueError
    return read


def _lost(_: Answer, value: Json) -> List[str]:
    return [str(claim) for claim in value["cancel"] + value["stale"]]


def _any(_: Answer, value: Json) -> None:
    pass
