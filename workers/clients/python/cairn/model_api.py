"""The two forms in which an OpenAI-compatible endpoint is asked: chat completions, and responses."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .rules import Json

Message = Mapping[str, Json]

_TOKENS_MAX = 10**15  # that the API takes in a fact


@dataclasses.dataclass(frozen=True)
class ModelRequest:
    """`options` are more fields of the request, as the endpoint knows them."""

    messages: Sequence[Message]
    model: str = ""
    schema: Json = None
    tools: Json = None
    options: Optional[Mapping[str, Json]] = None


@dataclasses.dataclass
class Completion:
    """An answer of either form, as chat completions call it."""

    id: str
    model: str
    message: Dict[str, Json]
    finish_reason: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int
    tokens_reasoning: int


def request_body(api: str, request: ModelRequest, model: str, format: str) -> Dict[str, Json]:
    """`format` is json_schema, json_object or text."""
    body: Dict[str, Json] = {**(request.options or {}), "model": model}
    messages = list(request.messages)
    form = _reply_form(request.schema, format)
    if request.schema is not None and format != "json_schema":
        messages.append({"role": "system", "content": "Answer with JSON alone, of this schema: " +
                         json.dumps(request.schema)})
    if api == "responses":
        body.update(store=False, input=[item for message in messages for item in _items(message)])
        if request.tools is not None:
            body["tools"] = [{"type": "function", **tool.get("function", {})} for tool in request.tools]
        if form is not None:
            body["text"] = {"format": {"type": form["type"], **form.get("json_schema", {})}}
        return body
    body["messages"] = messages
    if request.tools is not None:
        body["tools"] = request.tools
    if form is not None:
        body["response_format"] = form
    return body


def _reply_form(schema: Json, format: str) -> Optional[Dict[str, Json]]:
    if schema is None or format == "text":
        return None
    if format == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema, "strict": _is_strict(schema)}}


def _is_strict(schema: Json) -> bool:
    """A strict endpoint takes only schemas whose objects have all of their properties and no others."""
    if isinstance(schema, list):
        return all(_is_strict(one) for one in schema)
    if not isinstance(schema, dict):
        return True
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            return False
        if set(schema.get("properties", {})) != set(schema.get("required", [])):
            return False
    return all(_is_strict(one) for one in schema.values())


def _items(message: Message) -> List[Dict[str, Json]]:
    """One message is one item of responses, or several: the text, and each call of a tool."""
    if message.get("role") == "tool":
        return [{"type": "function_call_output", "call_id": message.get("tool_call_id"),
                 "output": message.get("content")}]
    calls = message.get("tool_calls") or []
    items: List[Dict[str, Json]] = []
    if message.get("content") or not calls:
        items.append({"role": message.get("role"), "content": message.get("content") or ""})
    items += [{"type": "function_call", "call_id": call["id"], **call["function"]} for call in calls]
    return items


def read_completion(api: str, answer: Json) -> Completion:
    """Raises ValueError, KeyError, TypeError, IndexError or AttributeError for what is none."""
    use = answer.get("usage") or {}
    message, finish_reason = _response_message(answer) if api == "responses" else _chat_message(answer)
    into, out = ("input_tokens", "output_tokens") if api == "responses" else ("prompt_tokens", "completion_tokens")
    return Completion(str(answer.get("id") or ""), str(answer.get("model") or ""), message, finish_reason,
                      _count(use, into), _count(use, out), _count(use.get(into + "_details") or {}, "cached_tokens"),
                      _count(use.get(out + "_details") or {}, "reasoning_tokens"))


def _count(use: Mapping[str, Any], name: str) -> int:
    return min(max(int(use.get(name) or 0), 0), _TOKENS_MAX)


def _chat_message(answer: Json) -> Tuple[Dict[str, Json], str]:
    choice = answer["choices"][0]
    return dict(choice["message"]), str(choice.get("finish_reason") or "")


def _response_message(answer: Json) -> Tuple[Dict[str, Json], str]:
    message: Dict[str, Json] = {"role": "assistant", "content": None}
    for item in answer["output"]:
        if item["type"] == "function_call":
            message.setdefault("tool_calls", []).append(
                {"id": item["call_id"], "type": "function",
                 "function": {"name": item["name"], "arguments": item["arguments"]}})
        if item["type"] == "message":
            for part in item["content"]:
                if "refusal" in part:
                    message["refusal"] = part["refusal"]
                message["content"] = (message["content"] or "") + str(part.get("text", ""))
    reason = (answer.get("incomplete_details") or {}).get("reason")
    if reason:
        return message, "length" if reason == "max_output_tokens" else str(reason)
    if message["content"] is None and "tool_calls" not in message:
        raise ValueError("no message")
    return message, "tool_calls" if "tool_calls" in message else "stop"
