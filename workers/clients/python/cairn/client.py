"""Starts runs, follows them, answers their questions."""

from __future__ import annotations

import json
import time
import urllib.parse
from typing import Iterator, Mapping, Optional

from .http import Json, Transport, Unavailable

_ENDED = ("done", "failed", "aborted")


def _query(parameters: Mapping[str, Json]) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    return "?" + urllib.parse.urlencode(given) if given else ""


class Run:
    """One run, by its id. Each call asks the server."""

    def __init__(self, transport: Transport, id: str) -> None:
        self._transport = transport
        self.id = id

    def state(self, at: Optional[int] = None) -> Json:
        """The folded state: now, or as of event `at`."""
        return self._transport.ask("GET", f"/runs/{self.id}{_query({'at': at})}")

    def explain(self) -> Json:
        return self._transport.ask("GET", f"/runs/{self.id}/explain")

    def events(self, after: int = 0) -> Iterator[Json]:
        """The events as they come, until the run has ended; goes on where it was when the connection breaks."""
        while True:
            try:
                for line in self._transport.lines(f"/runs/{self.id}/events",
                                                  {"Accept": "text/event-stream", "Last-Event-ID": str(after)}):
                    if not line.startswith("data: "):
                        continue
                    event = json.loads(line[len("data: "):])
                    after = event["seq"]
                    yield event
                if self.state()["status"] in _ENDED:
                    return
            except OSError:
                time.sleep(0.5)

    def wait(self, timeout: Optional[float] = None) -> Json:
        """The state once the run has ended."""
        until = None if timeout is None else time.monotonic() + timeout
        pause = 0.02
        while True:
            state = self.state()
            if state["status"] in _ENDED:
                return state
            if until is not None and time.monotonic() > until:
                raise Unavailable(f"Expected run {self.id} to end within {timeout} s, but it is {state['status']}.")
            time.sleep(pause)
            pause = min(pause * 1.5, 1.0)

    def answer(self, value: Json, question: str = "") -> None:
        body = {"value": value, **({"question": question} if question else {})}
        self._transport.ask("POST", f"/runs/{self.id}/answers", body)

    def signal(self, name: str, value: Json = None, id: str = "") -> None:
        body = {"name": name, "value": value, **({"id": id} if id else {})}
        self._transport.ask("POST", f"/runs/{self.id}/signals", body)

    def cancel(self, reason: str = "") -> None:
        self._transport.ask("POST", f"/runs/{self.id}/cancel", {"reason": reason} if reason else {})

    def fork(self, at: int, edit: Optional[Json] = None) -> Run:
        """A new run from where this one stood after event `at`."""
        answer = self._transport.ask("POST", f"/runs/{self.id}/fork", {"at": at, **({"edit": edit} if edit else {})})
        return Run(self._transport, answer["run"])


class Client:
    """`url` (CAIRN_URL, http://127.0.0.1:8080) and `token` (CAIRN_TOKEN). Safe from any thread."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None) -> None:
        self._transport = Transport(url, token)

    def start(self, graph: str, input: Optional[Json] = None, *, key: str = "",
              tags: Optional[Mapping[str, str]] = None) -> Run:
        """With a key, the same input again is the same run."""
        body = {"graph": graph, "input": input or {}, **({"key": key} if key else {}),
                **({"tags": dict(tags)} if tags else {})}
        return Run(self._transport, self._transport.ask("POST", "/runs", body)["run"])

    def run(self, id: str) -> Run:
        return Run(self._transport, id)

    def runs(self, **where: str) -> Json:
        """Lists runs: graph, status, tag, limit, after."""
        return self._transport.ask("GET", "/runs" + _query(where))

    def add_graph(self, graph: Json) -> str:
        """Stores it as the current version of its name; returns the version."""
        return str(self._transport.ask("POST", "/graphs", graph)["version"])
