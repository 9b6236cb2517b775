"""A worker: functions that execute steps.

Its threads: one that waits for steps while there are free slots, one that reports what has ended and takes as many
steps with it, one for heartbeats, one for coroutines, and those of the plain functions. A step may run more than once
(at least once delivery); `Context.key` is the same each time. A report counts once.
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import logging
import queue
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable, Optional, Sequence

from .http import Json, Refused, Transport, Unavailable

log = logging.getLogger("cairn")

_WAIT_MS = 20_000
_REPORTS_MAX = 500
_STALE = ("stale", "closed", "conflict")


class Again(Exception):
    """The attempt has failed, and another one may succeed: in `retry_ms` at the earliest."""

    def __init__(self, message: str, *, error: str = "error", retry_ms: int = 0) -> None:
        super().__init__(message)
        self.error = error
        self.retry_ms = retry_ms


class Final(Exception):
    """The attempt has failed, and no other one would succeed."""

    def __init__(self, message: str, *, error: str = "error") -> None:
        super().__init__(message)
        self.error = error


class Context:
    """What a function may know of its step."""

    def __init__(self, claim: Json) -> None:
        self.claim: str = claim["claim"]
        self.run: str = claim["run"]
        self.graph: str = claim["graph"]
        self.node: str = claim["node"]
        self.step: int = claim["step"]
        self.attempt: int = claim["attempt"]
        self.key: str = claim["key"]  # the idempotency key of the step's effects
        self.input: Json = claim["input"]
        self.data: Json = claim.get("data", {})
        self.given: Json = claim.get("given")
        self.plan: Json = claim.get("plan", [])
        self.failed: Json = claim.get("failed")  # why the attempt before this one failed
        self.tags: dict[str, str] = claim.get("tags", {})
        self.deadline = time.monotonic() + claim["deadline_ms"] / 1000
        self._cancelled = threading.Event()
        self._progress: Optional[str] = None
        self._facts: list[Json] = []

    @property
    def cancelled(self) -> bool:
        """The step was cancelled, its hold was lost, or its time is over: what it still brings does not count."""
        return self._cancelled.is_set() or time.monotonic() > self.deadline

    def progress(self, text: str) -> None:
        """Shown to those who watch the run, until the step ends."""
        self._progress = text

    def record(self, type: str, **fields: Json) -> None:
        """Puts a fact (model_called, tool_called, decision_proposed ...) on record with the outcome."""
        self._facts.append({"type": type, **fields})


@dataclasses.dataclass
class Label:
    """An outcome that leaves by another label than the handler's only one."""

    label: str
    patch: Json = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class _Function:
    call: Callable[..., Any]
    declared: Json
    takes_context: bool

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.call)


def _takes_context(function: Callable[..., Any]) -> bool:
    return len(inspect.signature(function).parameters) >= 2


def _plain(value: Any) -> Json:
    """Dataclasses and pydantic models as JSON."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    dump = getattr(value, "model_dump", None)
    return dump(mode="json") if callable(dump) else value


class Worker:
    """Executes steps of `queues`, at most `concurrency` at once, until stop() or SIGTERM."""

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None, name: Optional[str] = None,
                 queues: Sequence[str] = ("default",), concurrency: int = 16, grace: float = 30.0) -> None:
        self._transport = Transport(url, token, patience=float("inf"))
        self._name = name or f"python@{socket.gethostname()}"
        self._queues = list(queues)
        self._concurrency = concurrency
        self._grace = grace
        self._handlers: dict[str, _Function] = {}
        self._tools: dict[str, _Function] = {}
        self._lock = threading.Condition()
        self._free = concurrency
        self._running: dict[str, Context] = {}
        self._ended: queue.Queue[Optional[bytes]] = queue.Queue()
        self._session: Optional[str] = None
        self._heartbeat = 5.0
        self._stopping = threading.Event()
        self._closed = threading.Event()
        self._pool = ThreadPoolExecutor(concurrency, thread_name_prefix="step")
        self._loop = asyncio.new_event_loop()

    # --- what it has ---

    def handler(self, name: str, *, version: int = 1, labels: Sequence[str] = (), reads: Sequence[str] = (),
                plan: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The function gets the node's settings, and a Context if it takes two; it returns channels to change."""
        declared = {"name": name, "version": version, "labels": list(labels), "reads": list(reads), "plan": plan}
        return self._add(self._handlers, name, declared)

    def tool(self, name: str, *, queue: str = "",
             about: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The function gets a sub-goal's inputs, and a Context if it takes two; it returns outputs."""
        declared = {"name": name, "about": about, **({"queue": queue} if queue else {})}
        return self._add(self._tools, name, declared)

    def _add(self, table: dict[str, _Function], name: str,
             declared: Json) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        def add(function: Callable[..., Any]) -> Callable[..., Any]:
            table[name] = _Function(function, declared, _takes_context(function))
            return function

        return add

    # --- running ---

    def run(self) -> None:
        """Blocks until it has stopped; SIGTERM and SIGINT stop it when this is the main thread."""
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: self.stop())
        reporter, *others = [threading.Thread(target=target, daemon=True)
                             for target in (self._report, self._claim, self._beat, self._loop.run_forever)]
        for thread in (reporter, *others):
            thread.start()
        while not self._stopping.wait(1.0):
            pass
        self._drain()
        reporter.join()
        self._close()
        self._loop.call_soon_threadsafe(self._loop.stop)
        for thread in others:
            thread.join(5.0)
        self._pool.shutdown(wait=False)

    def stop(self) -> None:
        """Takes no more steps; what runs has `grace` seconds to end, then it is given back."""
        self._stopping.set()

    def _claim(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                if not self._lock.wait_for(lambda: self._free > 0, timeout=0.2):
                    continue
                asked, self._free = self._free, 0
            self._ask([], asked, _WAIT_MS)

    def _report(self) -> None:
        while True:
            first = self._ended.get()
            if first is None:
                return
            reports = [first]
            while len(reports) < _REPORTS_MAX:
                try:
                    more = self._ended.get_nowait()
                except queue.Empty:
                    break
                if more is None:
                    self._ask(reports, 0, 0)
                    return
                reports.append(more)
            self._ask(reports, 0 if self._stopping.is_set() else len(reports), 0)

    def _ask(self, reports: list[bytes], asked: int, wait_ms: int) -> None:
        """One request; slots that it brings no step for are free again."""
        taken = 0
        try:
            answer = self._claims(reports, asked, wait_ms)
            for result in answer["results"]:
                if result["status"] in _STALE:
                    log.warning("A report of %s does not count: %s", result["claim"], result.get("says"))
            for claim in answer["claims"]:
                self._begin(claim)
                taken += 1
        except Unavailable:
            pass  # it stops
        except Refused as refusal:
            self._refused(reports, refusal)
        with self._lock:
            self._free += max(asked, len(reports)) - taken
            self._lock.notify_all()

    def _claims(self, reports: list[bytes], asked: int, wait_ms: int) -> Json:
        head = {"worker": self._name, "queues": self._queues, "max": asked, "wait_ms": wait_ms,
                "handlers": [one.declared for one in self._handlers.values()],
                "tools": [one.declared for one in self._tools.values()],
                **({"session": self._session} if self._session else {})}
        text = json.dumps(head).encode()[:-1] + b', "finished": [' + b", ".join(reports) + b"]}"
        gives_up = self._stopping.is_set if not reports else self._closed.is_set
        try:
            answer = self._transport.ask("POST", "/claims", text=text, timeout=wait_ms / 1000 + 30, gives_up=gives_up)
        except Refused as refusal:
            if refusal.status != 404 or not self._session:
                raise
            self._session = None  # it is gone: what it held is lost
            return self._claims(reports, asked, wait_ms)
        self._session = answer["session"]
        self._heartbeat = answer["heartbeat_ms"] / 1000
        return answer

    def _refused(self, reports: list[bytes], refusal: Refused) -> None:
        """One report that the API does not take must not keep the others from being taken."""
        if len(reports) > 1:
            for one in reports:
                try:
                    self._claims([one], 0, 0)
                except (Refused, Unavailable) as alone:
                    self._give_up(one, alone)
        elif reports:
            self._give_up(reports[0], refusal)
        else:
            log.error("Expected steps of %s, but: %s", ", ".join(self._queues), refusal)
            self._stopping.wait(1.0)

    def _give_up(self, report: bytes, refusal: Exception) -> None:
        claim = json.loads(report)["claim"]
        log.error("Expected the API to take the report of %s, but: %s", claim, refusal)
        try:
            self._transport.ask("POST", f"/claims/{claim}/fail", {"error": "invalid", "message": str(refusal)[:1000]},
                                gives_up=self._closed.is_set)
        except (Refused, Unavailable) as late:
            log.warning("It is left to the deadline of the step: %s", late)

    # --- steps ---

    def _begin(self, claim: Json) -> None:
        context = Context(claim)
        function = self._tools.get(claim["tool"]) if "tool" in claim else self._handlers.get(claim["handler"])
        with self._lock:
            self._running[context.claim] = context
        if function is None or self._stopping.is_set():
            self._end(context, {"release": True, "retry_ms": 1000})
        elif function.is_async:
            asyncio.run_coroutine_threadsafe(self._run_async(function, context, "tool" in claim), self._loop)
        else:
            self._pool.submit(self._run_plain, function, context, "tool" in claim)

    def _run_plain(self, function: _Function, context: Context, is_tool: bool) -> None:
        try:
            result = function.call(context.input, context) if function.takes_context else function.call(context.input)
        except BaseException as thrown:  # noqa: B902: whatever it is, the attempt has failed
            self._end(context, self._failure(thrown))
        else:
            self._end(context, self._outcome(result, is_tool))

    async def _run_async(self, function: _Function, context: Context, is_tool: bool) -> None:
        try:
            given = (context.input, context) if function.takes_context else (context.input,)
            result = await asyncio.wait_for(function.call(*given), max(context.deadline - time.monotonic(), 0))
        except BaseException as thrown:  # noqa: B902
            self._end(context, self._failure(thrown))
        else:
            self._end(context, self._outcome(result, is_tool))

    def _outcome(self, result: Any, is_tool: bool) -> Json:
        if isinstance(result, Label):
            return {"label": result.label, "patch": _plain(result.patch)}
        value = {} if result is None else _plain(result)
        return {"outputs": value} if is_tool else {"patch": value}

    def _failure(self, thrown: BaseException) -> Json:
        if isinstance(thrown, asyncio.TimeoutError):
            return {"error": "timeout", "message": "Expected an outcome in time."}
        message = str(thrown) or type(thrown).__name__
        failure: Json = {"error": getattr(thrown, "error", "error"), "message": message,
                         "again": not isinstance(thrown, Final)}
        if isinstance(thrown, Again):
            failure["retry_ms"] = thrown.retry_ms
        elif not isinstance(thrown, Final):
            log.warning("A step failed: %s", message, exc_info=thrown)
        if not isinstance(failure["error"], str):
            failure["error"] = "error"
        return failure

    def _end(self, context: Context, report: Json) -> None:
        with self._lock:
            if self._running.pop(context.claim, None) is None:
                return
        if context._facts and "release" not in report:
            report["facts"] = context._facts
        report["claim"] = context.claim
        try:
            text = json.dumps(report, allow_nan=False)
        except (TypeError, ValueError) as fault:
            text = json.dumps({"claim": context.claim, "error": "invalid", "again": False,
                               "message": f"Expected an outcome that is JSON, but: {fault}"})
        self._ended.put(text.encode())

    # --- heartbeats ---

    def _beat(self) -> None:
        while not self._closed.wait(self._heartbeat):
            session = self._session
            if session is None:
                continue
            with self._lock:
                running = dict(self._running)
            progress = {claim: context._progress for claim, context in running.items() if context._progress is not None}
            body = {"session": session, "claims": list(running), **({"progress": progress} if progress else {})}
            try:
                answer = self._transport.ask("POST", "/claims/heartbeat", body, gives_up=self._closed.is_set)
            except Unavailable:
                continue
            except Refused as refusal:
                if refusal.status == 404 and self._session == session:
                    self._session = None
                continue
            for claim in answer["cancel"] + answer["stale"]:
                if claim in running:
                    running[claim]._cancelled.set()

    # --- the end ---

    def _drain(self) -> None:
        until = time.monotonic() + self._grace
        while time.monotonic() < until:
            with self._lock:
                if not self._running:
                    break
            time.sleep(0.05)
        with self._lock:
            left = list(self._running.values())
        for context in left:
            context._cancelled.set()
            self._end(context, {"release": True})
        self._closed.set()
        self._ended.put(None)

    def _close(self) -> None:
        if self._session is None:
            return
        body = {"worker": self._name, "queues": self._queues, "session": self._session, "max": 0, "close": True}
        try:
            self._transport.ask("POST", "/claims", body, gives_up=lambda: True)
        except (Refused, Unavailable) as fault:
            log.warning("Expected to close the session, but: %s", fault)
