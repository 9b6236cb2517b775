"""A worker: functions that execute steps.

Its threads: one that waits for steps while there are free slots, one that reports what has ended and takes as many
steps with it, one for heartbeats, one for coroutines, and those of the plain functions. A step may run more than once
(at least once delivery); the key of its context is the same each time. A report counts once.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import queue
import signal
import socket
import threading
import time
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypeVar

from .context import AsyncContext, Context, Label, Models, StepContext
from .failures import Again, Final
from .functions import Function, function_of, plain, plain_inner, schema_of
from .gateway import Answered, Gateway
from .rules import Api, Broken, CairnError, Json, Refused, Unavailable
from .threads import Threads

log = logging.getLogger("cairn")

_WAIT_MS = 20_000
_REPORTERS = 2  # the API works on one request while the answer of the other one is read
_REPORTS_MAX = 500
_REPORT_BYTES_MAX = 512 * 1024  # of a batch; the API takes bodies of 1 MiB
_CLAIMS_MAX = 1000
_PROGRESS_BYTES_MAX = 256 * 1024  # of a heartbeat
_BEAT_AGAIN = 1.0  # after one that was not answered
_STALE = ("stale", "closed", "conflict")

F = TypeVar("F", bound=Callable[..., Any])


class _Report(NamedTuple):
    claim: str
    text: bytes


class Worker:
    """Executes steps of `queues`, at most `concurrency` at once, until stop() or SIGTERM.

    `url` is CAIRN_URL or http://127.0.0.1:8080, `token` is CAIRN_TOKEN, `grace` how many seconds steps have to end.
    """

    def __init__(self, url: Optional[str] = None, *, token: Optional[str] = None, name: Optional[str] = None,
                 queues: Sequence[str] = ("default",), concurrency: int = 16, grace: float = 30.0) -> None:
        if isinstance(queues, str) or not queues:
            raise ValueError(f"Expected a list of queues, but found {queues!r}.")
        if concurrency < 1:
            raise ValueError(f"Expected a concurrency of at least 1, but found {concurrency}.")
        self._queues = list(queues)
        self._grace = grace
        self._handlers: Dict[str, Function] = {}
        self._tools: Dict[str, Function] = {}
        self._lock = threading.Condition()
        self._free = concurrency
        self._running: Dict[str, StepContext] = {}
        self._unanswered: Dict[str, None] = {}  # claims that have ended, until their reports are answered
        self._ended: queue.SimpleQueue[Optional[_Report]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._closed = threading.Event()
        self._gateway = Gateway(Api(url, token), name or f"python@{socket.gethostname()}", queues, self._stopping,
                                self._closed)
        self._threads = Threads(concurrency)
        self._models = Models()
        self._fault: Optional[CairnError] = None
        self._is_stopped = False
        self._wake: Optional[socket.socket] = None  # a byte ends run(); safe in a signal's handler

    # --- what it has ---

    def handler(self, name: str, *, version: int = 1, labels: Sequence[str] = (), reads: Sequence[str] = (),
                plan: bool = False, schema: Any = None) -> Callable[[F], F]:
        """The function gets the node's settings, and a context if it takes two; it returns channels to change.

        `reads` names the channels that come as the context's `data` ("*": all), `plan` asks for the plan. `schema` is
        that of the settings, for `graph check`: a JSON Schema, a dataclass or a pydantic model.
        """
        declared = {"name": name, "version": version, "labels": list(labels), "reads": list(reads), "plan": plan}
        return self._adding(self._handlers, {**declared, **_declared_schema(schema)})

    def tool(self, name: str, *, queue: str = "", about: str = "", schema: Any = None) -> Callable[[F], F]:
        """The function gets a sub-goal's inputs, and a context if it takes two; it returns outputs.

        `schema` is that of the inputs, as of a handler's settings.
        """
        declared = {"name": name, "about": about, **({"queue": queue} if queue else {})}
        return self._adding(self._tools, {**declared, **_declared_schema(schema)})

    def _adding(self, table: Dict[str, Function], declared: Dict[str, Json]) -> Callable[[F], F]:
        def add(function: F) -> F:
            if declared["name"] in table:
                raise ValueError(f"Expected one function for each name, but {declared['name']} has two.")
            table[declared["name"]] = function_of(function, declared)
            return function

        return add

    # --- running ---

    def run(self) -> None:
        """Blocks until it has stopped; SIGTERM and SIGINT stop it when this is the main thread. Runs once.

        Raises Refused or Unavailable if the API does not take its first request: a wrong token, address or name.
        """
        self._gateway.declare(list(self._handlers.values()), list(self._tools.values()))
        self._loop = asyncio.new_event_loop()
        wakes, self._wake = socket.socketpair()
        self._wake.setblocking(False)
        if self._is_stopped:
            self.stop()
        handlers = self._catch_signals()
        reporting = [_thread(self._report) for _ in range(_REPORTERS)]
        claiming, *others = [_thread(one) for one in (self._claim, self._beat, self._run_loop)]
        wakes.recv(1)
        for number, former in handlers.items():
            signal.signal(number, former or signal.SIG_DFL)  # a second signal ends it at once
        self._stopping.set()
        self._gateway.cut()
        claiming.join()
        self._drain()
        self._ended.put(None)
        for thread in reporting:
            thread.join()
        self._close()
        for thread in others:
            thread.join(5.0)
        wakes.close()
        self._release()
        if self._fault is not None:
            raise self._fault

    def stop(self) -> None:
        """Takes no more steps; what runs has `grace` seconds to end, then it is given back. Safe from any thread."""
        self._is_stopped = True
        if self._wake is not None:
            with contextlib.suppress(OSError):  # enough of them are there, or it has stopped
                self._wake.send(b"x")

    def _catch_signals(self) -> Dict[signal.Signals, Any]:
        if threading.current_thread() is not threading.main_thread():
            return {}
        return {number: signal.signal(number, lambda *_: self.stop()) for number in (signal.SIGTERM, signal.SIGINT)}

    def _claim(self) -> None:
        while not self._stopping.is_set():
            with self._lock:
                if not self._lock.wait_for(lambda: self._free > 0, timeout=0.2):
                    continue
                asked = min(self._free, _CLAIMS_MAX)
                self._free -= asked
            self._ask([], asked, _WAIT_MS)

    def _report(self) -> None:
        while True:
            reports, is_last = self._batch()
            if reports:
                self._ask(reports, 0 if self._stopping.is_set() else len(reports))
            if is_last:
                self._ended.put(None)  # for the others
                return

    def _batch(self) -> Tuple[List[_Report], bool]:
        """Waits for a report, and takes those that are there."""
        reports: List[_Report] = []
        size = 0
        is_last = False
        try:
            while len(reports) < _REPORTS_MAX and size < _REPORT_BYTES_MAX:
                report = self._ended.get(block=not reports and not is_last)
                if report is None:
                    is_last = True
                else:
                    reports.append(report)
                    size += len(report.text)
        except queue.Empty:
            pass
        return reports, is_last

    def _ask(self, reports: List[_Report], asked: int, wait_ms: int = 0) -> None:
        """One request; slots that it brings no step for are free again."""
        taken = 0
        answered = self._answered(reports, asked, wait_ms)
        if answered is not None:
            self._hear(answered.results)
            for claim in answered.claims:
                taken += self._begin(claim)
        with self._lock:
            for one in reports:
                self._unanswered.pop(one.claim, None)
            self._free += max(asked, len(reports)) - taken
            self._lock.notify_all()

    def _answered(self, reports: List[_Report], asked: int, wait_ms: int) -> Optional[Answered]:
        while True:
            try:
                return self._gateway.claims([one.text for one in reports], asked, wait_ms)
            except (Refused, Broken) as refusal:
                self._refused(reports, refusal)
                return None
            except Unavailable as fault:
                if (self._closed if reports else self._stopping).is_set():
                    return None
                self._trouble(fault)

    def _trouble(self, fault: CairnError) -> None:
        """A first request that fails says that the worker's own address, token or name is wrong."""
        if not self._gateway.has_begun:
            self._fault = fault
            self.stop()
        else:
            log.error("Expected steps of %s, but: %s", ", ".join(self._queues), fault)
        self._stopping.wait(1.0)

    def _refused(self, reports: List[_Report], refusal: CairnError) -> None:
        """One report that the API does not take must not keep the others from being taken."""
        if not reports:
            self._trouble(refusal)
        elif len(reports) == 1:
            self._give_up(reports[0].claim, str(refusal))
        else:
            for one in reports:
                answered = self._answered([one], 0, 0)
                self._hear(answered.results if answered is not None else [])

    def _hear(self, results: Sequence[Dict[str, Any]]) -> None:
        for result in results:
            if result["status"] in _STALE:
                log.warning("A report of %s does not count: %s", result["claim"], result.get("says"))
            if result["status"] == "invalid":
                self._give_up(result["claim"], str(result.get("says")))

    def _give_up(self, claim: str, says: str) -> None:
        log.error("Expected the API to take the report of %s, but: %s", claim, says)
        try:
            self._gateway.fail(claim, says)
        except CairnError as late:
            log.warning("It is left to the deadline of the step: %s", late)

    # --- steps ---

    def _begin(self, claim: Dict[str, Any]) -> int:
        """Begins a step, and returns how many it took."""
        function = self._tools.get(claim["tool"]) if "tool" in claim else self._handlers.get(claim["handler"])
        is_async = function is not None and function.is_async
        context = AsyncContext(claim, self._models) if is_async else Context(claim, self._models)
        with self._lock:
            self._running[context.claim] = context
        if function is None or self._stopping.is_set():
            self._end(context, {"release": True, "retry_ms": 0 if self._stopping.is_set() else 1000})
        elif function.is_async:
            asyncio.run_coroutine_threadsafe(self._run_async(function, context), self._loop)
        else:
            self._threads.submit(self._run_plain, function, context)
        return 1

    def _run_plain(self, function: Function, context: StepContext) -> None:
        try:
            report = _outcome(function.call(*function.arguments(context)), context)
        except BaseException as thrown:  # whatever it is, the attempt has failed
            report = _failure(thrown, context)
        self._end(context, report)

    def _run_loop(self) -> None:
        """Goes on after a SystemExit or KeyboardInterrupt of a coroutine, which leaves the loop and is its task's."""
        while True:
            try:
                return self._loop.run_forever()
            except BaseException as thrown:
                log.warning("A coroutine raised %s.", type(thrown).__name__)

    async def _run_async(self, function: Function, context: StepContext) -> None:
        try:
            left = max(context.deadline - time.monotonic(), 0)
            report = _outcome(await asyncio.wait_for(function.call(*function.arguments(context)), left), context)
        except BaseException as thrown:
            report = _failure(thrown, context)
        self._end(context, report)

    def _end(self, context: StepContext, report: Dict[str, Json]) -> None:
        with self._lock:
            if self._running.pop(context.claim, None) is None:
                return
            self._unanswered[context.claim] = None
            if self._stopping.is_set():
                self._lock.notify_all()
        if context._facts and "release" not in report:
            report["facts"] = context._facts
        report["claim"] = context.claim
        self._ended.put(_Report(context.claim, _report_bytes(report)))

    # --- heartbeats ---

    def _beat(self) -> None:
        pause = self._gateway.heartbeat
        while not self._closed.wait(pause):
            with self._lock:
                running = dict(self._running)
                claims = [*running, *self._unanswered]  # one that is not named counts as lost
            progress = _news(list(running.values()))
            lost = self._gateway.beat(claims, progress)
            pause = self._gateway.heartbeat if lost is not None else min(self._gateway.heartbeat, _BEAT_AGAIN)
            if lost is None:
                continue
            for claim, text in progress.items():
                running[claim]._said, running[claim]._said_at = text, time.monotonic()
            for claim in lost:
                if claim in running:
                    running[claim]._is_cancelled = True

    # --- the end ---

    def _drain(self) -> None:
        with self._lock:
            self._lock.wait_for(lambda: not self._running, timeout=self._grace)
            left = list(self._running.values())
        for context in left:
            context._is_cancelled = True
            self._end(context, {"release": True})
        self._closed.set()

    def _close(self) -> None:
        if self._gateway.session is not None:
            try:
                self._gateway.claims([], 0, closes=True)
            except CairnError as fault:
                log.warning("Expected to close the session, but: %s", fault)
        asyncio.run_coroutine_threadsafe(self._end_tasks(), self._loop)

    def _release(self) -> None:
        """Closes what it has open; threads of functions that hang may go on."""
        self._gateway.close()
        self._models.blocking.close()
        if self._wake is not None:
            self._wake.close()
        if not self._loop.is_running():
            self._loop.close()

    async def _end_tasks(self) -> None:
        """Functions that are not done yet hear that they are cancelled."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.wait(others, timeout=1.0) if others else None
        self._models.streams.close()
        self._loop.stop()


def _declared_schema(schema: Any) -> Dict[str, Json]:
    return {} if schema is None else {"schema": schema_of(schema)}


def _thread(target: Callable[[], None]) -> threading.Thread:
    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread


def _news(running: Sequence[StepContext]) -> Dict[str, str]:
    """The texts that the API has not heard, as many as one heartbeat takes; those that had to wait go first."""
    found: Dict[str, str] = {}
    size = 0
    for one in sorted(running, key=lambda one: one._said_at):
        text = one._progress
        if text is None or text == one._said:
            continue
        size += len(json.dumps(text))
        if found and size > _PROGRESS_BYTES_MAX:
            break
        found[one.claim] = text
    return found


def _outcome(result: Any, context: StepContext) -> Dict[str, Json]:
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise Final(f"Expected an outcome, but found a {type(result).__name__}: a function that returns one is to be "
                    f"declared with async def.", error="invalid")
    if isinstance(result, Label):
        return {"label": result.label, "patch": plain(result.patch)}
    return {"outputs" if context.tool is not None else "patch": plain(result)}


# The longest pause that the server takes, and about as much of a message as it keeps.
_RETRY_MS_MAX = 3_600_000
_MESSAGE_MAX = 32 * 1024


def _failure(thrown: BaseException, context: StepContext) -> Dict[str, Json]:
    message = _message(thrown)
    if isinstance(thrown, (Again, Final)):
        error = thrown.error if isinstance(thrown.error, str) else "error"
        said: Dict[str, Json] = {"error": error, "message": message, "again": isinstance(thrown, Again)}
        return {**said, "retry_ms": _retry_ms(thrown.retry_ms)} if isinstance(thrown, Again) else said
    if isinstance(thrown, asyncio.TimeoutError) and time.monotonic() >= context.deadline:
        return {"error": "timeout", "message": "Expected an outcome in time."}
    with contextlib.suppress(Exception):  # a formatter that shows the exception fails where str() does
        log.warning("A step failed: %s", message, exc_info=thrown)
    return {"error": "error", "message": message, "again": True}


def _message(thrown: BaseException) -> str:
    """What the API takes of any exception's text: the report of a failure must not fail by it."""
    try:
        text = str(thrown)[:_MESSAGE_MAX] or type(thrown).__name__
    except Exception as unshown:
        text = f"{type(thrown).__name__}, whose text raises {type(unshown).__name__}"
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "\ufffd")


def _retry_ms(given: Any) -> int:
    """What is no number of at least 0 counts as none."""
    return round(min(given, _RETRY_MS_MAX)) if isinstance(given, (int, float)) and given > 0 else 0


def _report_bytes(report: Dict[str, Json]) -> bytes:
    try:
        return json.dumps(report, allow_nan=False, default=plain_inner).encode()
    except Exception as fault:  # also what a value's own methods raise
        said = f"Expected an outcome that is JSON, but: {_message(fault)}"
        return json.dumps({"claim": report["claim"], "error": "invalid", "again": False, "message": said}).encode()
