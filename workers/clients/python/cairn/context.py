"""The step that a function executes: its place, its key, and what it may put on record."""

from __future__ import annotations

import dataclasses
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .blocking import Transport
from .model import ModelCall, ModelEndpoint, ModelReply, endpoint_of_environment
from .model_api import Message, ModelRequest
from .rules import Json
from .streams import AsyncTransport

_PROGRESS_BYTES_MAX = 64 * 1024


class Models:
    """The endpoint of a worker, read from the environment when it is first asked, and the ways to it."""

    def __init__(self) -> None:
        self.blocking = Transport()
        self.streams = AsyncTransport()
        self._endpoint: Optional[ModelEndpoint] = None

    def endpoint(self) -> ModelEndpoint:
        if self._endpoint is None:
            self._endpoint = endpoint_of_environment()
        return self._endpoint


@dataclasses.dataclass
class Label:
    """An outcome that leaves by another label than the handler's only one."""

    label: str
    patch: Any = dataclasses.field(default_factory=dict)


class StepContext:
    """What any function may know of its step. A step may run more than once; `key` is the same each time."""

    def __init__(self, claim: Mapping[str, Any], models: Models) -> None:
        self.claim: str = claim["claim"]
        self.run: str = claim["run"]
        self.graph: str = claim["graph"]
        self.node: str = claim["node"]
        self.step: int = claim["step"]
        self.attempt: int = claim["attempt"]
        self.key: str = claim["key"]  # the idempotency key of the step's effects
        self.handler: Optional[str] = claim.get("handler")
        self.tool: Optional[str] = claim.get("tool")
        self.sub_goal: Optional[str] = claim.get("sub_goal")
        self.input: Dict[str, Json] = claim["input"]
        self.data: Dict[str, Json] = claim.get("data", {})  # the channels that the handler reads
        self.given: Json = claim.get("given")
        self.plan: List[Dict[str, Json]] = claim.get("plan", [])
        self.failed: Optional[Dict[str, str]] = claim.get("failed")  # why the attempt before this one failed
        self.tags: Dict[str, str] = claim.get("tags", {})
        self.deadline: float = time.monotonic() + claim["deadline_ms"] / 1000
        self._models = models
        self._model_calls = 0
        self._is_cancelled = False
        self._progress: Optional[str] = None
        self._said: Optional[str] = None  # the progress that the API has heard last
        self._said_at = 0.0
        self._facts: List[Json] = []

    @property
    def cancelled(self) -> bool:
        """The step was cancelled, its hold was lost, or its time is over: what it still brings does not count."""
        return self._is_cancelled or time.monotonic() > self.deadline

    def progress(self, text: str) -> None:
        """Shown to those who watch the run, until the step ends; of a longer text its last 64 KiB."""
        end = str(text)[-_PROGRESS_BYTES_MAX:].encode("utf-8", "replace")[-_PROGRESS_BYTES_MAX:]
        self._progress = end.decode("utf-8", "ignore")

    def record(self, type: str, **fields: Json) -> None:
        """Puts a fact (model_called, tool_called, decision_proposed ...) on record with the outcome."""
        self._facts.append({"type": type, **fields})

    def _model_call(self, messages: Union[str, Sequence[Message]], **request: Any) -> ModelCall:
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        return ModelCall(self._models.endpoint(), ModelRequest(messages, **request), self.node, self._model_key(),
                         self.deadline, self._facts)

    def _model_key(self) -> str:
        """Another call needs another key, and so does one after a bad reply, which the same key would bring again."""
        self._model_calls += 1
        key = self.key if self._model_calls == 1 else f"{self.key}#{self._model_calls}"
        was_bad = self.failed is not None and self.failed.get("error") == "bad_reply"
        return f"{key}/{self.attempt}" if was_bad or self.attempt > 2 else key


class Context(StepContext):
    """The context of a plain function."""

    def model(self, messages: Union[str, Sequence[Message]], *, model: str = "", schema: Json = None,
              tools: Json = None, options: Optional[Mapping[str, Json]] = None) -> ModelReply:
        """Asks the model of CAIRN_MODEL_URL once, and puts the call on record.

        `messages` are those of chat completions, or a text. With a JSON Schema as `schema` the reply's `value` is read
        as JSON. Raises Again for 408, 429, 5xx, no answer and a bad reply, Final otherwise; the step may let them pass.
        """
        call = self._model_call(messages, model=model, schema=schema, tools=tools, options=options)
        return self._models.blocking.run(call.rules())


class AsyncContext(StepContext):
    """The context of an `async` function."""

    async def model(self, messages: Union[str, Sequence[Message]], *, model: str = "", schema: Json = None,
                    tools: Json = None, options: Optional[Mapping[str, Json]] = None) -> ModelReply:
        """As Context.model()."""
        call = self._model_call(messages, model=model, schema=schema, tools=tools, options=options)
        return await self._models.streams.run(call.rules())
