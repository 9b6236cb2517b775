"""One call of a language model by a step: bounded in bytes and time, on record whether it succeeds or fails."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from typing import Dict, List, Mapping, Optional, Union

from .failures import Again, Final
from .http1 import Address, Answer, BadAnswer, TooLarge, parse_address, request_bytes
from .model_api import Completion, ModelRequest, read_completion, request_body
from .rules import Exchange, Json, Rules, answer_to, retry_after

_BYTES_MAX = 16 * 1024 * 1024  # of a value in the database
_SHOWN = 300
_KEY_MIN = 8  # a shorter key stands in too many replies
_FORMATS = {"": "json_schema", "json_schema": "json_schema", "json_object": "json_object", "none": "text",
            "text": "text"}


@dataclasses.dataclass(frozen=True)
class ModelReply:
    """`value` is the content read by the schema; without a schema it is the text."""

    text: str
    value: Json
    message: Mapping[str, Json]
    model: str
    tokens_in: int
    tokens_out: int
    cost: float
    finish_reason: str


@dataclasses.dataclass(frozen=True)
class ModelEndpoint:
    """The endpoint of the variables CAIRN_MODEL_..., as the workers of `cairn work` read them."""

    address: Address
    model: str
    key: str
    api: str
    format: str
    ms: Optional[int]
    cost_in: float
    cost_out: float


def endpoint_of_environment() -> ModelEndpoint:
    """Raises Final with a sentence for settings that are missing or wrong."""
    given = {name: os.environ.get(f"CAIRN_MODEL{name}", "") for name in
             ("", "_URL", "_KEY", "_API", "_FORMAT", "_MS", "_COST_IN", "_COST_OUT", "_SCRIPT")}
    if given["_SCRIPT"]:
        raise _wrong("no CAIRN_MODEL_SCRIPT, which only `cairn work` reads", given["_SCRIPT"])
    if not given["_URL"]:
        raise Final("Expected a model in CAIRN_MODEL_URL, but there is none.", error="refused")
    if given["_API"] not in ("", "chat", "responses"):
        raise _wrong("CAIRN_MODEL_API to be chat or responses", given["_API"])
    if given["_FORMAT"] not in _FORMATS:
        raise _wrong("CAIRN_MODEL_FORMAT to be json_schema, json_object, none or text", given["_FORMAT"])
    if given["_KEY"] and not (given["_KEY"].isascii() and given["_KEY"].isprintable()):
        raise Final("Expected CAIRN_MODEL_KEY of visible characters, but it has others.", error="invalid")
    try:
        address = parse_address(given["_URL"], "a model (CAIRN_MODEL_URL)")
    except ValueError as wrong:
        raise Final(str(wrong), error="invalid") from None
    ms = _number("CAIRN_MODEL_MS", given["_MS"])
    return ModelEndpoint(address, given[""], given["_KEY"], given["_API"] or "chat", _FORMATS[given["_FORMAT"]],
                         int(ms) if ms else None, _number("CAIRN_MODEL_COST_IN", given["_COST_IN"]),
                         _number("CAIRN_MODEL_COST_OUT", given["_COST_OUT"]))


def _wrong(expected: str, found: str) -> Final:
    return Final(f"Expected {expected}, but found {found[:100]!r}.", error="invalid")


def _number(name: str, text: str) -> float:
    try:
        number = float(text or 0)
    except ValueError:
        number = -1.0
    if not math.isfinite(number) or number < 0:
        raise _wrong(f"{name} to be a number of at least 0", text)
    return number


@dataclasses.dataclass
class ModelCall:
    """A call whose fact is added to `facts`. `until` is when the step's time is over."""

    endpoint: ModelEndpoint
    request: ModelRequest
    node: str
    key: str
    until: float
    facts: List[Json]

    def rules(self) -> Rules[ModelReply]:
        """Raises Again for what may come right by itself, Final for the rest."""
        began = time.monotonic()
        fact: Dict[str, Json] = {"type": "model_called", "node": self.node, "request": self._asked()}
        try:
            completion = yield from self._completion(began)
            reply = self._reply(completion)
            fact.update(self._fields(completion, reply))
            self._check(completion, reply)
            if self.request.schema is not None and not (completion.message.get("tool_calls") and not reply.text):
                reply = dataclasses.replace(reply, value=_json_in(reply.text))
        except (Again, Final) as failure:
            failure.args = (self._without_key(str(failure)),)
            fact.update(ok=False, error=failure.error, message=str(failure))
            raise
        else:
            fact["ok"] = True
            return reply
        finally:
            fact["latency_ms"] = int((time.monotonic() - began) * 1000)
            self.facts.append(fact)

    def _asked(self) -> Dict[str, Json]:
        asked = {name: value for name, value in dataclasses.asdict(self.request).items() if value}
        return {"messages": [], **asked}

    def _completion(self, began: float) -> Rules[Completion]:
        endpoint = self.endpoint
        model = self.request.model or endpoint.model
        try:
            fields = request_body(endpoint.api, self.request, model, endpoint.format)
            body = json.dumps(fields, allow_nan=False).encode()
        except (TypeError, ValueError, AttributeError, KeyError) as wrong:
            raise Final(f"Expected a request that is JSON, but: {wrong}.", error="invalid") from None
        if len(body) > _BYTES_MAX:
            raise Final(f"Expected a conversation of at most {_BYTES_MAX} bytes, but it has {len(body)}.",
                        error="limit")
        answer = yield from self._answer(body, began)
        if answer.status != 200:
            raise _refusal(answer)
        try:
            return read_completion(endpoint.api, json.loads(answer.body))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            raise Again(f"Expected a completion, but found {_shown(answer.body)}.", error="bad_reply") from None

    def _answer(self, body: bytes, began: float) -> Rules[Answer]:
        endpoint = self.endpoint
        path = "/responses" if endpoint.api == "responses" else "/chat/completions"
        headers = {"Accept": "application/json", "Idempotency-Key": self.key}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        request = request_bytes("POST", endpoint.address, path, headers, body)
        try:
            answer = yield from answer_to(Exchange(endpoint.address, request, self._time(began), _BYTES_MAX, True))
        except TooLarge as large:
            raise Final(f"{large}.", error="limit") from None
        except (OSError, BadAnswer) as gone:
            raise Again(f"Expected an answer of the model endpoint, but: {gone}.", error="unreachable") from None
        if len(endpoint.key) < _KEY_MIN:
            return answer
        return dataclasses.replace(answer, body=answer.body.replace(endpoint.key.encode(), b"***"))

    def _time(self, began: float) -> float:
        """A little less than the step's, so that the call is on record before the step is given up."""
        left = self.until - began
        left -= min(left / 10, 1.0)
        return max(min(left, (self.endpoint.ms or math.inf) / 1000), 0.001)

    def _reply(self, came: Completion) -> ModelReply:
        cost = (came.tokens_in * self.endpoint.cost_in + came.tokens_out * self.endpoint.cost_out) / 1e6
        text = _text_of(came.message.get("content"))
        return ModelReply(text, text, came.message, came.model or self.request.model or self.endpoint.model,
                          came.tokens_in, came.tokens_out, cost, came.finish_reason)

    @staticmethod
    def _fields(came: Completion, reply: ModelReply) -> Dict[str, Json]:
        fields: Dict[str, Json] = {"model": reply.model, "reply": came.message, "tokens_in": came.tokens_in,
                                   "tokens_out": came.tokens_out, "cost": reply.cost}
        more = {"tokens_cached": came.tokens_cached, "tokens_reasoning": came.tokens_reasoning,
                "finish_reason": came.finish_reason, "response_id": came.id}
        return {**fields, **{name: value for name, value in more.items() if value}}

    @staticmethod
    def _check(came: Completion, reply: ModelReply) -> None:
        """A refused, filtered or cut reply is none."""
        if came.message.get("refusal"):
            raise Final(f"Expected a reply, but the model refused: {str(came.message['refusal'])[:_SHOWN]}",
                        error="refused")
        if came.finish_reason == "length":
            raise Again("Expected a whole reply, but the model stopped at its limit of length.", error="bad_reply")
        if came.finish_reason == "content_filter":
            raise Final("Expected a reply, but the endpoint's content filter withheld it.", error="refused")

    def _without_key(self, text: str) -> str:
        return text.replace(self.endpoint.key, "***") if self.endpoint.key else text


def _refusal(answer: Answer) -> Union[Again, Final]:
    says = f"Expected a completion, but found status {answer.status} and {_shown(answer.body)}."
    if answer.status in (408, 429) or answer.status >= 500:
        return Again(says, error="refused", retry_ms=int(retry_after(answer) * 1000))
    return Final(says, error="refused")


def _shown(body: bytes) -> str:
    return repr(body[:_SHOWN].decode("utf-8", "replace"))


def _text_of(content: Json) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _json_in(text: str) -> Json:
    """The JSON of a reply, which may stand in a fence."""
    bare = text.strip()
    if bare.startswith("```"):
        bare = bare.partition("\n")[2].rpartition("```")[0]
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        raise Again(f"Expected a reply that is JSON, but it began with {text[:_SHOWN]!r}.", error="bad_reply") from None
