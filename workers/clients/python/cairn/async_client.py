"""The client for asyncio: the methods of Client and Run, to be awaited."""

from __future__ import annotations

from typing import AsyncIterator, Iterable, List, Mapping, Optional, Union

from . import calls
from .calls import Where
from .rules import Api, Call, Json, Patience, Refused, T, ask
from .shapes import Difference, Event, Explanation, Goal, Question, RunRow, RunState
from .streams import AsyncTransport


class AsyncClient:
    """As Client. Used from the tasks of one event loop; `async with`, or close(), closes its connections."""

    def __init__(self, url: Optional[str] = None, token: Optional[str] = None, *, patience: float = 30.0) -> None:
        self._api = Api(url, token)
        self._patience = Patience(patience)
        self._transport = AsyncTransport()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *thrown: object) -> None:
        self.close()

    def close(self) -> None:
        """As Client.close()."""
        self._transport.close()

    async def start(self, graph: str, input: Optional[Mapping[str, Json]] = None, *, key: Optional[str] = None,
                    tags: Optional[Mapping[str, str]] = None, options: Optional[Mapping[str, Json]] = None,
                    continues: Optional[str] = None) -> AsyncRun:
        """As Client.start()."""
        return self.run(await self._ask(calls.start(graph, input, key, tags, options, continues)))

    async def start_and_wait(self, graph: str, input: Optional[Mapping[str, Json]] = None, *,
                             key: Optional[str] = None, tags: Optional[Mapping[str, str]] = None,
                             options: Optional[Mapping[str, Json]] = None, continues: Optional[str] = None,
                             timeout: Optional[float] = None) -> RunState:
        """As Client.start_and_wait()."""
        begin = calls.start(graph, input, key, tags, options, continues)
        return await self._transport.run(calls.end_of_start(self._api, begin, timeout, self._patience))

    async def start_many(self, graph: str, runs: Iterable[Mapping[str, Json]], *,
                         tags: Optional[Mapping[str, str]] = None,
                         options: Optional[Mapping[str, Json]] = None) -> List[Union[AsyncRun, Refused]]:
        """As Client.start_many()."""
        return [one if isinstance(one, Refused) else self.run(one)
                for one in await self._ask(calls.start_many(graph, runs, tags, options))]

    def run(self, id: str) -> AsyncRun:
        """As Client.run()."""
        return AsyncRun(self, id)

    def runs(self, *, tags: Optional[Mapping[str, str]] = None, limit: Optional[int] = None,
             **where: Where) -> AsyncIterator[RunRow]:
        """As Client.runs()."""
        return self._transport.each(calls.rows(self._api, "/runs", calls.filters(tags, where), limit, self._patience))

    def questions(self, *, tags: Optional[Mapping[str, str]] = None, limit: Optional[int] = None,
                  **where: Where) -> AsyncIterator[Question]:
        """As Client.questions()."""
        return self._transport.each(
            calls.rows(self._api, "/questions", calls.filters(tags, where), limit, self._patience))

    async def add_graph(self, graph: Mapping[str, Json]) -> str:
        """As Client.add_graph()."""
        return await self._ask(calls.add_graph(graph))

    async def _ask(self, call: Call[T]) -> T:
        return await self._transport.run(ask(self._api, call, self._patience))


class AsyncRun:
    """As Run."""

    def __init__(self, client: AsyncClient, id: str) -> None:
        self._client = client
        self._api = client._api
        self._patience = client._patience
        self._transport = client._transport
        self.id = id

    async def state(self, at: Where = None) -> RunState:
        """As Run.state()."""
        return await self._ask(calls.state(self.id, at))

    async def explain(self) -> Explanation:
        """As Run.explain()."""
        return await self._ask(calls.explain(self.id))

    async def plan(self, at: Where = None) -> List[Goal]:
        """As Run.plan()."""
        return await self._transport.run(calls.plan(self._api, self.id, at, self._patience))

    async def diff(self, other: Union[AsyncRun, str]) -> Difference:
        """As Run.diff()."""
        return await self._ask(calls.diff(self.id, other if isinstance(other, str) else other.id))

    def events(self, after: int = 0) -> AsyncIterator[Event]:
        """As Run.events()."""
        return self._transport.each(calls.events(self._api, self.id, after, self._patience))

    async def wait(self, timeout: Optional[float] = None) -> RunState:
        """As Run.wait()."""
        return await self._transport.run(calls.end_of(self._api, self.id, timeout, self._patience))

    async def answer(self, value: Json, question: Optional[str] = None, *, by: Optional[str] = None) -> None:
        """As Run.answer()."""
        await self._ask(calls.answer(self.id, value, question, by))

    async def signal(self, name: str, value: Json = None, *, id: Optional[str] = None) -> None:
        """As Run.signal()."""
        await self._ask(calls.signal(self.id, name, value, id))

    async def cancel(self, reason: str = "", *, now: bool = False) -> None:
        """As Run.cancel()."""
        await self._ask(calls.control(self.id, "cancel", reason=reason or None, now=now or None))

    async def pause(self, reason: str = "") -> None:
        """As Run.pause()."""
        await self._ask(calls.control(self.id, "pause", reason=reason or None))

    async def resume(self, reason: str = "") -> None:
        """As Run.resume()."""
        await self._ask(calls.control(self.id, "resume", reason=reason or None))

    async def retry(self, reason: str = "") -> AsyncRun:
        """As Run.retry()."""
        return AsyncRun(self._client, await self._ask(calls.going_on(self.id, "retry", reason=reason or None)))

    async def reset(self, to: Where, reason: str = "") -> AsyncRun:
        """As Run.reset()."""
        going_on = calls.going_on(self.id, "reset", to=str(to), reason=reason or None)
        return AsyncRun(self._client, await self._ask(going_on))

    async def fork(self, at: int, *, set: Optional[Mapping[str, Json]] = None,
                   answer: Optional[Mapping[str, Json]] = None, graph: Json = None,
                   tags: Optional[Mapping[str, str]] = None, recorded: bool = False,
                   reason: str = "") -> AsyncRun:
        """As Run.fork()."""
        forked = calls.fork(self.id, at, set, answer, graph, tags, recorded, reason)
        return AsyncRun(self._client, await self._ask(forked))

    async def _ask(self, call: Call[T]) -> T:
        return await self._client._ask(call)
