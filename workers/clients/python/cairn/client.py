"""The client: starts runs, follows them, answers their questions."""

from __future__ import annotations

from typing import Iterable, Iterator, List, Mapping, Optional, Union

from . import calls
from .blocking import Transport
from .calls import Where
from .rules import Api, Call, Json, Patience, Refused, T, ask
from .shapes import Difference, Event, Explanation, Goal, Question, RunRow, RunState


class Client:
    """Asks the API at `url` (CAIRN_URL, http://127.0.0.1:8080) with `token` (CAIRN_TOKEN). Safe from any thread.

    A server that is away or busy is asked again for `patience` seconds. All methods raise Refused for what the API
    refuses, and Unavailable where no answer comes.
    """

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, *, patience: float = 30.0) -> None:
        self._api = Api(url, token)
        self._patience = Patience(patience)
        self._transport = Transport()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *thrown: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes its connections, those of all threads; it may be used again."""
        self._transport.close()

    def start(self, graph: str, input: Optional[Mapping[str, Json]] = None, *, key: Optional[str] = None,
              tags: Optional[Mapping[str, str]] = None, options: Optional[Mapping[str, Json]] = None,
              continues: Optional[str] = None) -> Run:
        """Starts a run. With a key, the same input again is the same run; without one each call is a new run."""
        return self.run(self._ask(calls.start(graph, input, key, tags, options, continues)))

    def start_and_wait(self, graph: str, input: Optional[Mapping[str, Json]] = None, *, key: Optional[str] = None,
                       tags: Optional[Mapping[str, str]] = None, options: Optional[Mapping[str, Json]] = None,
                       continues: Optional[str] = None, timeout: Optional[float] = None) -> RunState:
        """As start() and wait(), by one request if the run ends soon."""
        begin = calls.start(graph, input, key, tags, options, continues)
        return self._transport.run(calls.end_of_start(self._api, begin, timeout, self._patience))

    def start_many(self, graph: str, runs: Iterable[Mapping[str, Json]], *, tags: Optional[Mapping[str, str]] = None,
                   options: Optional[Mapping[str, Json]] = None) -> List[Union[Run, Refused]]:
        """Starts up to 1,000 runs in one request, each of {"input", "key", "tags"}; `tags` and `options` are for all.

        In the order of `runs`: each one, or in its place the refusal of it, which is not raised.
        """
        return [one if isinstance(one, Refused) else self.run(one)
                for one in self._ask(calls.start_many(graph, runs, tags, options))]

    def run(self, id: str) -> Run:
        """The run with this id, which is not asked for yet."""
        return Run(self, id)

    def runs(self, *, tags: Optional[Mapping[str, str]] = None, limit: Optional[int] = None,
             **where: Where) -> Iterator[RunRow]:
        """The runs that match, newest first, page by page; filters as `GET /runs` has them (graph, status ...)."""
        return self._transport.each(calls.rows(self._api, "/runs", calls.filters(tags, where), limit, self._patience))

    def questions(self, *, tags: Optional[Mapping[str, str]] = None, limit: Optional[int] = None,
                  **where: Where) -> Iterator[Question]:
        """The open questions of runs that match, oldest first."""
        return self._transport.each(
            calls.rows(self._api, "/questions", calls.filters(tags, where), limit, self._patience))

    def add_graph(self, graph: Mapping[str, Json]) -> str:
        """Stores it as the current version of its name; returns the version."""
        return self._ask(calls.add_graph(graph))

    def _ask(self, call: Call[T]) -> T:
        return self._transport.run(ask(self._api, call, self._patience))


class Run:
    """One run, by its id. Each call asks the server."""

    def __init__(self, client: Client, id: str) -> None:
        self._client = client
        self._api = client._api
        self._patience = client._patience
        self._transport = client._transport
        self.id = id

    def state(self, at: Where = None) -> RunState:
        """The folded state: now, or as of an event's number or a time."""
        return self._ask(calls.state(self.id, at))

    def explain(self) -> Explanation:
        """The reasons for its status: each thing that it waits for, or why it has ended."""
        return self._ask(calls.explain(self.id))

    def plan(self, at: Where = None) -> List[Goal]:
        """The sub-goals of its plan."""
        return self._transport.run(calls.plan(self._api, self.id, at, self._patience))

    def diff(self, other: Union[Run, str]) -> Difference:
        """This run and another one, compared from the first event that differs."""
        return self._ask(calls.diff(self.id, other if isinstance(other, str) else other.id))

    def events(self, after: int = 0) -> Iterator[Event]:
        """The events as they come, until the run has ended; goes on where it was when the connection breaks."""
        return self._transport.each(calls.events(self._api, self.id, after, self._patience))

    def wait(self, timeout: Optional[float] = None) -> RunState:
        """The state once the run has ended. Raises Unavailable where that takes longer than `timeout` seconds."""
        return self._transport.run(calls.end_of(self._api, self.id, timeout, self._patience))

    def answer(self, value: Json, question: Optional[str] = None, *, by: Optional[str] = None) -> None:
        """Answers its question: the only open one, or the one named. `by` is the person who says so."""
        self._ask(calls.answer(self.id, value, question, by))

    def signal(self, name: str, value: Json = None, *, id: Optional[str] = None) -> None:
        """Sends it a signal; one with the same id counts once."""
        self._ask(calls.signal(self.id, name, value, id))

    def cancel(self, reason: str = "", *, now: bool = False) -> None:
        """Ends it as aborted, after the graph's cleanup unless `now`."""
        self._ask(calls.control(self.id, "cancel", reason=reason or None, now=now or None))

    def pause(self, reason: str = "") -> None:
        """No more steps are begun until it is resumed."""
        self._ask(calls.control(self.id, "pause", reason=reason or None))

    def resume(self, reason: str = "") -> None:
        """Goes on with a paused run."""
        self._ask(calls.control(self.id, "resume", reason=reason or None))

    def retry(self, reason: str = "") -> Run:
        """Goes on after a failure: the run that does is this one, or a fork of it."""
        return Run(self._client, self._ask(calls.going_on(self.id, "retry", reason=reason or None)))

    def reset(self, to: Where, reason: str = "") -> Run:
        """A new run from before a node or an event's number; this one is cancelled if it has not ended."""
        return Run(self._client, self._ask(calls.going_on(self.id, "reset", to=str(to), reason=reason or None)))

    def fork(self, at: int, *, set: Optional[Mapping[str, Json]] = None, answer: Optional[Mapping[str, Json]] = None,
             graph: Json = None, tags: Optional[Mapping[str, str]] = None, recorded: bool = False,
             reason: str = "") -> Run:
        """A new run from where this one stood after event `at`, with other channels or other answers."""
        return Run(self._client, self._ask(calls.fork(self.id, at, set, answer, graph, tags, recorded, reason)))

    def _ask(self, call: Call[T]) -> T:
        return self._client._ask(call)
