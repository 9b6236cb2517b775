"""One call of a model by a step: what is sent, what is recorded, and which failures are tried again."""

import asyncio
import json
import os
import time
import unittest
from typing import Any, Dict, List, Tuple
from unittest import mock

from cairn import Again, AsyncContext, Context, Final
from cairn.context import Models
from scripted_server import ScriptedServer, Stays, answer

CHAT: Dict[str, Any] = {"id": "c1", "model": "m-1", "choices": [{"message": {"role": "assistant", "content": "four"},
                                                 "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}}
RESPONSE = {"id": "r1", "model": "m-1", "output": [
    {"type": "message", "content": [{"type": "output_text", "text": "four"}]}],
    "usage": {"input_tokens": 10, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}}}


def claim(**other: Any) -> Dict[str, Any]:
    return {"claim": "c", "run": "r", "graph": "g", "node": "n", "step": 1, "attempt": 1, "key": "r/1", "input": {},
            "deadline_ms": 5000, **other}


def context(url: str, *, of: Any = Context, settings: Any = None, **other: Any) -> Any:
    environment = {"CAIRN_MODEL_URL": url + "/v1", "CAIRN_MODEL": "m", "CAIRN_MODEL_KEY": "sesame",
                   "CAIRN_MODEL_COST_IN": "1", "CAIRN_MODEL_COST_OUT": "2", **(settings or {})}
    models = Models()
    with mock.patch.dict(os.environ, environment):
        models.endpoint()
    return of(claim(**other), models)


class ModelCalls(unittest.TestCase):
    def test_a_call_is_sent_with_the_steps_key_and_recorded(self) -> None:
        with ScriptedServer(answer(CHAT)) as server:
            step = context(server.url)
            reply = step.model("two and two?", options={"temperature": 0})
            self.assertEqual((reply.text, reply.value), ("four", "four"))
            self.assertEqual((reply.tokens_in, reply.finish_reason), (10, "stop"))
            head = server.requests[0].decode().split("\r\n")
            self.assertEqual(head[0], "POST /v1/chat/completions HTTP/1.1")
            self.assertIn("Idempotency-Key: r/1", head)
            self.assertIn("Authorization: Bearer sesame", head)
            messages = [{"role": "user", "content": "two and two?"}]
            self.assertEqual(server.body(0), {"model": "m", "messages": messages, "temperature": 0})
            fact = step._facts[0]
            self.assertGreaterEqual(fact.pop("latency_ms"), 0)
            self.assertEqual(fact, {
                "type": "model_called", "node": "n", "request": {"messages": messages, "options": {"temperature": 0}},
                "model": "m-1", "reply": {"role": "assistant", "content": "four"}, "tokens_in": 10, "tokens_out": 2,
                "tokens_cached": 4, "cost": 14e-6, "finish_reason": "stop", "response_id": "c1", "ok": True})

    def test_an_async_function_awaits_the_same_call(self) -> None:
        with ScriptedServer(answer(CHAT)) as server:
            step = context(server.url, of=AsyncContext)
            self.assertEqual(asyncio.run(step.model("x")).text, "four")
            self.assertEqual(step._facts[0]["ok"], True)

    def test_an_endpoint_of_responses_is_asked_in_its_form(self) -> None:
        with ScriptedServer(answer(RESPONSE)) as server:
            step = context(server.url, settings={"CAIRN_MODEL_API": "responses"})
            reply = step.model("x")
            self.assertEqual((reply.text, reply.tokens_in, reply.finish_reason), ("four", 10, "stop"))
            self.assertEqual(server.requests[0].split(b" ")[1], b"/v1/responses")
            self.assertEqual(server.body(0), {"model": "m", "store": False,
                                              "input": [{"role": "user", "content": "x"}]})
            self.assertEqual(step._facts[0]["tokens_cached"], 4)

    def test_a_schema_asks_for_json_and_reads_it(self) -> None:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
                  "additionalProperties": False}
        said = json.loads(json.dumps(CHAT))
        said["choices"][0]["message"]["content"] = '```json\n{"n": 4}\n```'
        for format, expected in (("", "json_schema"), ("json_object", "json_object"), ("none", None)):
            with self.subTest(format=format), ScriptedServer(answer(said)) as server:
                step = context(server.url, settings={"CAIRN_MODEL_FORMAT": format})
                self.assertEqual(step.model("x", schema=schema).value, {"n": 4})
                form = server.body(0).get("response_format")
                self.assertEqual(form["type"] if form else None, expected)
                if expected == "json_schema":
                    self.assertEqual(form["json_schema"], {"name": "reply", "schema": schema, "strict": True})
                else:
                    self.assertIn(json.dumps(schema), server.body(0)["messages"][1]["content"])

    def test_a_use_out_of_all_bounds_is_recorded_within_those_of_a_fact(self) -> None:
        said = {**CHAT, "usage": {"prompt_tokens": -1, "completion_tokens": 10**18}}
        with ScriptedServer(answer(said)) as server:
            step = context(server.url)
            step.model("x")
            fact = step._facts[0]
            self.assertEqual((fact["tokens_in"], fact["tokens_out"], fact["ok"]), (0, 10**15, True))

    def test_another_call_and_a_call_after_a_bad_reply_have_another_key(self) -> None:
        with ScriptedServer(answer(CHAT)) as server:
            step = context(server.url)
            step.model("x")
            step.model("y")
            context(server.url, attempt=2, failed={"error": "bad_reply", "message": "m"}).model("x")
            context(server.url, attempt=2, failed={"error": "refused", "message": "m"}).model("x")
            keys = [line for request in server.requests for line in request.decode().split("\r\n")
                    if line.startswith("Idempotency-Key")]
            self.assertEqual([key.split(" ")[1] for key in keys], ["r/1", "r/1#2", "r/1/2", "r/1"])


class FailedCalls(unittest.TestCase):
    def failed(self, kind: Any, error: str, script: Any, *, settings: Any = None, says: str = "Expected",
               **other: Any) -> Any:
        with ScriptedServer(script) as server:
            step = context(server.url, settings=settings, **other)
            with self.assertRaisesRegex(kind, says) as caught:
                step.model("x", schema={"type": "object"})
        self.assertEqual(caught.exception.error, error)
        self.assertNotIn("sesame", str(caught.exception))
        fact = step._facts[0]
        self.assertEqual((fact["ok"], fact["error"], fact["message"]), (False, error, str(caught.exception)))
        return caught.exception

    def test_what_may_come_right_is_tried_again(self) -> None:
        self.assertEqual(self.failed(Again, "refused", answer({}, 429, Retry_After="7")).retry_ms, 7000)
        self.failed(Again, "refused", answer(b"sesame", 503), says="found status 503 and '\\*\\*\\*'")
        self.failed(Again, "unreachable", b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n{", says="ended within")
        self.failed(Again, "bad_reply", answer({"choices": []}), says="Expected a completion")
        self.failed(Again, "bad_reply", answer(CHAT), says="Expected a reply that is JSON")

    def test_no_piece_of_the_key_is_shown_or_recorded(self) -> None:
        key = "sk-Jq7vR2mXw9Tb4LcZ8nYd5GfHs3KpQa6UeWt1BrVxNo0iMlPjDuCkEyAzS"
        said = "x" * 280 + key
        reply: Any = {**CHAT, "choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
        for script in (answer(said.encode(), 401), answer(said.encode()), answer(reply)):
            with ScriptedServer(script) as server:
                step = context(server.url, settings={"CAIRN_MODEL_KEY": key})
                with self.assertRaises((Again, Final)) as caught:
                    step.model("x", schema={"type": "object"})
            shown = str(caught.exception) + json.dumps(step._facts)
            self.assertEqual([key[at:at + 8] for at in range(len(key) - 7) if key[at:at + 8] in shown], [])

    def test_what_will_not_come_right_is_final(self) -> None:
        self.failed(Final, "refused", answer({"error": "key"}, 401), says="status 401")
        filtered: Any = {**CHAT, "choices": [{"message": {"content": ""}, "finish_reason": "content_filter"}]}
        self.failed(Final, "refused", answer(filtered), says="content filter")
        self.failed(Final, "limit", b"HTTP/1.1 200 X\r\nContent-Length: 99999999\r\n\r\n", says="at most 16777216")

    def test_a_cut_reply_is_on_record_with_its_cost(self) -> None:
        long: Any = {**CHAT, "choices": [{"message": {"content": "fo"}, "finish_reason": "length"}]}
        with ScriptedServer(answer(long)) as server:
            step = context(server.url)
            with self.assertRaisesRegex(Again, "Expected a whole reply"):
                step.model("x")
            self.assertEqual((step._facts[0]["ok"], step._facts[0]["tokens_out"]), (False, 2))

    def test_the_claims_deadline_ends_a_call_that_is_not_answered(self) -> None:
        began = time.monotonic()
        self.failed(Again, "unreachable", Stays(b""), says="timed out", deadline_ms=400)
        self.failed(Again, "unreachable", Stays(b""), says="timed out", settings={"CAIRN_MODEL_MS": "100"})
        self.assertLess(time.monotonic() - began, 3)

    def test_settings_that_are_wrong_are_named(self) -> None:
        cases: List[Tuple[Dict[str, str], str]] = [
                ({"CAIRN_MODEL_URL": ""}, "Expected a model in CAIRN_MODEL_URL, but there is none."),
                ({"CAIRN_MODEL_URL": "models"}, "Expected the address of a model .CAIRN_MODEL_URL. as http"),
                ({"CAIRN_MODEL_API": "x"}, "Expected CAIRN_MODEL_API to be chat or responses, but found 'x'."),
                ({"CAIRN_MODEL_FORMAT": "x"}, "Expected CAIRN_MODEL_FORMAT to be json_schema"),
                ({"CAIRN_MODEL_MS": "soon"}, "Expected CAIRN_MODEL_MS to be a number"),
                ({"CAIRN_MODEL_COST_IN": "-1"}, "Expected CAIRN_MODEL_COST_IN to be a number"),
                ({"CAIRN_MODEL_SCRIPT": "f"}, "Expected no CAIRN_MODEL_SCRIPT"),
                ({"CAIRN_MODEL_KEY": "a\nb"}, "^Expected CAIRN_MODEL_KEY of visible characters")]
        for settings, says in cases:
            with self.assertRaisesRegex(Final, says):
                context("http://127.0.0.1:1", settings=settings)


if __name__ == "__main__":
    unittest.main()
