"""Unit tests with the real engine: `cairn test-server`, which is in memory and whose time is virtual.

    def test_score():
        with TestServer() as server:
            server.add_graph(GRAPH)
            assert server.execute("score", {"text": "four"}, worker)["output"] == {"letters": 4}

A day's timer or an hour's pause before the next attempt takes a moment: while a run is waited for and nothing is
executed, the clock goes forward to what is due next. The plugin of pytest (`cairn.pytest_plugin`) has it as the
fixture `cairn`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from .client import Client
from .context import StepContext
from .rules import Call, Json, Unavailable
from .shapes import RunState
from .worker import Worker


class TestServer:
    """A server of its own, with an empty store. `program` is CAIRN_PROGRAM or `cairn`; `tools` a tools file."""

    __test__ = False  # pytest does not collect it

    def __init__(self, program: Optional[str] = None, *, tools: Optional[str] = None) -> None:
        found = program or os.environ.get("CAIRN_PROGRAM") or shutil.which("cairn")
        if found is None:
            raise Unavailable("Expected the program cairn in PATH or in CAIRN_PROGRAM, but there is none.")
        command = [found, "test-server", "--json", "--until-stdin-ends", *(["--tools", tools] if tools else [])]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Unavailable(f"Expected {found} test-server to begin, but it ended with {self._process.wait()}.")
        self.url = "http://" + str(json.loads(line)["listen"])
        self.client = Client(self.url)

    def __enter__(self) -> TestServer:
        return self

    def __exit__(self, *thrown: object) -> None:
        self.close()

    def close(self) -> None:
        self.client.close()
        self._process.terminate()
        self._process.wait()
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()

    def add_graph(self, graph: Mapping[str, Json]) -> str:
        """Stores it as the current version of its name; returns the version."""
        return self.client.add_graph(graph)

    def skip(self, seconds: float) -> None:
        """The clock goes forward."""
        self.client._ask(_test_call("time", {"ms": round(seconds * 1000)}))

    @contextlib.contextmanager
    def working(self, *workers: Worker) -> Iterator[None]:
        """Workers with the functions of these ones execute steps of this server meanwhile."""
        bound = [_bound(worker, self.url, Worker) for worker in workers]
        with contextlib.ExitStack() as stack:
            for one in bound:
                stack.enter_context(_running(one))
            yield

    def execute(self, graph: str, input: Optional[Mapping[str, Json]] = None, *workers: Worker,
                timeout: float = 60.0) -> RunState:
        """Starts a run, lets these workers execute it, and returns the state of its end."""
        with self.working(*workers):
            return self.client.start(graph, input).wait(timeout)

    def crash_everywhere(self, graph: str, input: Optional[Mapping[str, Json]], worker: Worker, *,
                         check: Optional[Callable[[RunState], Any]] = None, timeout: float = 60.0) -> int:
        """Executes the run once for each of its steps of this worker, which dies after that step and before it is
        reported; another worker goes on. Each run must end as the one without a crash did, or as `check` says, which
        gets its state. Returns how many steps crashed.
        """
        counting: _Crashing = _bound(worker, self.url, _Crashing)
        with _running(counting):
            expected = self.client.start(graph, input).wait(timeout)
        for crash_after in range(1, counting.executed + 1):
            ended = self._executed_with_crash(graph, input, worker, crash_after, timeout)
            if check is not None:
                check(ended)
            elif (ended["status"], ended.get("output")) != (expected["status"], expected.get("output")):
                raise AssertionError(f"Expected {expected['status']} with {expected.get('output')} after a crash at "
                                     f"step {crash_after}, but found {ended['status']} with {ended.get('output')}.")
        return counting.executed

    def _executed_with_crash(self, graph: str, input: Optional[Mapping[str, Json]], worker: Worker, crash_after: int,
                             timeout: float) -> RunState:
        crashing: _Crashing = _bound(worker, self.url, _Crashing)
        crashing.crash_after = crash_after
        crashing.on_crash = lambda session: self.client._ask(_test_call("crash", {"session": session}))
        run = self.client.start(graph, input)
        ended: List[RunState] = []
        waiting = threading.Thread(target=lambda: ended.append(run.wait(timeout)), daemon=True)
        waiting.start()  # time goes on only where someone waits
        with _running(crashing):
            while waiting.is_alive() and not crashing.has_crashed.wait(0.01):
                pass
        with self.working(worker):
            waiting.join()
        if not ended:
            raise Unavailable(f"Expected run {run.id} to end after a crash at step {crash_after}, but it did not.")
        return ended[0]


class _Crashing(Worker):
    """Counts the steps that it has executed; after one of them it reports nothing more, as if it were dead."""

    executed = 0
    crash_after = 0  # 0: never

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.on_crash: Callable[[str], Any] = lambda session: None
        self.has_crashed = threading.Event()
        self._counting = threading.Lock()

    def _end(self, context: StepContext, report: Dict[str, Json]) -> None:
        with self._counting:
            self.executed += 1
            is_crash = self.executed == self.crash_after
            is_dead = self.has_crashed.is_set()
        if is_crash:
            self.on_crash(str(self._gateway.session))
            self.has_crashed.set()
        if is_crash or is_dead:
            with self._lock:
                self._running.pop(context.claim, None)
                self._lock.notify_all()
            return
        super()._end(context, report)


def _test_call(what: str, body: Dict[str, Json]) -> Call[Json]:
    return Call("POST", f"/test/{what}", lambda _, answer: answer, json.dumps(body).encode(), is_repeatable=False)


def _bound(worker: Worker, url: str, kind: Callable[..., Any]) -> Any:
    """A worker at another server with the same functions."""
    bound = kind(url, queues=worker._queues, concurrency=worker._free, grace=1.0)
    bound._handlers = dict(worker._handlers)
    bound._tools = dict(worker._tools)
    return bound


@contextlib.contextmanager
def _running(worker: Worker) -> Iterator[None]:
    faults: List[BaseException] = []

    def run() -> None:
        try:
            worker.run()
        except BaseException as fault:  # told to who waits for it
            faults.append(fault)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        worker.stop()
        thread.join()
    if faults:
        raise faults[0]
