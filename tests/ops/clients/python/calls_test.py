"""The rules of both clients: what is sent, what goes again, and how a run is waited for and followed."""

import asyncio
import inspect
import json
import time
import unittest
from typing import Any, Dict, List

from cairn import AsyncClient, AsyncRun, Client, Refused, Run, Unavailable
from scripted_server import BOTH, ScriptedServer, answer, asked

DONE = {"run": "r", "status": "done", "seq": 3}


def events(*numbers: int) -> bytes:
    lines = "".join(f"id: {seq}\ndata: {json.dumps({'seq': seq, 'type': 'x'})}\n\n" for seq in numbers).encode()
    head = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%s\r\n" % (len(lines), lines)


END = b"0\r\n\r\n"


WENT_ON: Dict[str, Any] = {"run": "other"}
# A call, what is answered, and the request that is sent.
CASES: List[Any] = [
    (lambda c: c.run("r").explain(), {"reasons": []}, "GET /api/v1/runs/r/explain", None),
    (lambda c: c.run("r").state(at=3), DONE, "GET /api/v1/runs/r?at=3", None),
    (lambda c: c.run("r").plan(at=3), [], "GET /api/v1/runs/r/plan?at=3", None),
    (lambda c: c.run("r").plan(), [], "GET /api/v1/runs/r/plan", None),
    (lambda c: c.run("a/b").state(), DONE, "GET /api/v1/runs/a%2Fb", None),
    (lambda c: c.run("r").diff("o"), {"same": True, "first": None}, "GET /api/v1/runs/r/diff?with=o", None),
    (lambda c: c.run("r").diff(c.run("o")), {"same": True, "first": None}, "GET /api/v1/runs/r/diff?with=o",
     None),
    (lambda c: c.run("r").pause(), {}, "POST /api/v1/runs/r/pause", {}),
    (lambda c: c.run("r").resume(), {}, "POST /api/v1/runs/r/resume", {}),
    (lambda c: c.run("r").pause("it moves"), {}, "POST /api/v1/runs/r/pause", {"reason": "it moves"}),
    (lambda c: c.run("r").resume("it is back"), {}, "POST /api/v1/runs/r/resume", {"reason": "it is back"}),
    (lambda c: c.run("r").cancel("enough", now=True), {}, "POST /api/v1/runs/r/cancel",
     {"reason": "enough", "now": True}),
    (lambda c: c.run("r").retry(), WENT_ON, "POST /api/v1/runs/r/retry", {}),
    (lambda c: c.run("r").retry("mended"), WENT_ON, "POST /api/v1/runs/r/retry", {"reason": "mended"}),
    (lambda c: c.run("r").reset(7), WENT_ON, "POST /api/v1/runs/r/reset", {"to": "7"}),
    (lambda c: c.run("r").reset("a", "wrong"), WENT_ON, "POST /api/v1/runs/r/reset",
     {"to": "a", "reason": "wrong"}),
    (lambda c: c.run("r").fork(2, answer={"q": None}, tags={"a": "b"}), WENT_ON, "POST /api/v1/runs/r/fork",
     {"at": 2, "answer": {"q": None}, "tags": {"a": "b"}}),
    (lambda c: c.run("r").answer(None, "q1", by="ann"), {}, "POST /api/v1/runs/r/answers",
     {"value": None, "question": "q1", "by": "ann"}),
    (lambda c: c.run("r").signal("go", id="s"), {}, "POST /api/v1/runs/r/signals",
     {"name": "go", "value": None, "id": "s"}),
    (lambda c: c.start("g", {"a": 1}, key="k", tags={"t": "v"}), WENT_ON, "POST /api/v1/runs",
     {"graph": "g", "input": {"a": 1}, "key": "k", "tags": {"t": "v"}}),
    (lambda c: c.start_many("g", [{"input": {"a": 1}, "key": "k"}, {"key": "l", "tags": {"n": "2"}}], tags={"t": "v"}),
     {"runs": [{"run": "r", "existed": False}, {"run": "s", "existed": True}], "started": 1}, "POST /api/v1/runs",
     {"graph": "g", "tags": {"t": "v"},
      "runs": [{"input": {"a": 1}, "key": "k"}, {"input": {}, "key": "l", "tags": {"n": "2"}}]}),
    (lambda c: c.add_graph({"name": "g"}), {"version": "v"}, "POST /api/v1/graphs", {"name": "g"}),
]


class Calls(unittest.TestCase):
    def test_each_call_goes_to_its_path_with_its_body(self) -> None:
        for client in BOTH:
            for call, reply, request, body in CASES:
                with self.subTest(client=client.__name__, request=request), ScriptedServer(answer(reply)) as server:
                    result = asked(client, server.url, call, token="t0")
                    head = server.requests[0].decode().split("\r\n")
                    self.assertEqual(head[0], request + " HTTP/1.1")
                    self.assertIn("Authorization: Bearer t0", head)
                    self.assertEqual(server.body(0) if body is not None else None, body)
                    if reply is WENT_ON:
                        self.assertEqual(result.id, "other")

    def test_of_many_starts_each_is_a_run_or_its_refusal_and_has_a_key(self) -> None:
        refused = {"error": {"code": "conflict", "message": "Expected another key."}}
        for client in BOTH:
            with ScriptedServer(answer({"runs": [{"run": "r"}, refused], "started": 1})) as server:
                began = asked(client, server.url, lambda one: one.start_many("g", [{"input": {}}, {}]))
                self.assertEqual(began[0].id, "r")
                self.assertEqual((began[1].status, began[1].code, str(began[1])),
                                 (409, "conflict", "Expected another key."))
                keys = {one["key"] for one in server.body(0)["runs"]}
                self.assertEqual(len(keys), 2)

    def test_a_start_that_may_have_arrived_goes_again_with_the_same_key(self) -> None:
        for client in BOTH:
            with ScriptedServer(b"", answer({"run": "r"})) as server:
                self.assertEqual(asked(client, server.url, lambda one: one.start("g")).id, "r")
                self.assertEqual(server.body(0), server.body(1))
                self.assertTrue(server.body(0)["key"])

    def test_a_command_that_may_have_arrived_does_not_go_again(self) -> None:
        for client in BOTH:
            with ScriptedServer(b"", answer({"run": "r"})) as server:
                with self.assertRaisesRegex(Unavailable, "the request may have arrived"):
                    asked(client, server.url, lambda one: one.run("r").retry())
                self.assertEqual(len(server.requests), 1)

    def test_a_signal_whose_answer_was_lost_has_counted(self) -> None:
        known = answer({"error": {"code": "conflict", "message": "Expected a new signal."}}, 409)
        for client in BOTH:
            with ScriptedServer(b"", known) as server:
                self.assertIsNone(asked(client, server.url, lambda one: one.run("r").signal("go")))
                self.assertEqual(server.body(0), server.body(1))
            with ScriptedServer(known) as server, self.assertRaisesRegex(Refused, "a new signal"):
                asked(client, server.url, lambda one: one.run("r").pause())

    def test_a_busy_server_is_asked_again_no_earlier_than_it_says(self) -> None:
        busy = answer({"error": {"code": "limit", "message": "Busy."}}, 429, Retry_After="1")
        for client in BOTH:
            with ScriptedServer(busy, answer(DONE)) as server:
                began = time.monotonic()
                asked(client, server.url, lambda one: one.run("r").state())
                self.assertGreaterEqual(time.monotonic() - began, 1.0)

    def test_a_busy_server_is_asked_again_also_for_a_command(self) -> None:
        for status in (408, 503):
            busy = answer({"error": {"code": "unavailable", "message": "Busy."}}, status, Retry_After="0")
            for client in BOTH:
                with ScriptedServer(busy, answer({"run": "o"})) as server:
                    self.assertEqual(asked(client, server.url, lambda one: one.run("r").retry()).id, "o")

    def test_a_pause_that_is_longer_than_the_patience_ends_it(self) -> None:
        busy = answer({"error": {"code": "limit", "message": "Too many."}}, 429, Retry_After="60")
        for client in BOTH:
            with ScriptedServer(busy) as server, self.assertRaisesRegex(Unavailable, "but: Too many."):
                asked(client, server.url, lambda one: one.run("r").state())
            self.assertEqual(len(server.requests), 1)


class Waiting(unittest.TestCase):
    def test_a_server_that_can_wait_is_asked_to(self) -> None:
        running = {"run": "r", "status": "running", "seq": 1}
        for client in BOTH:
            with ScriptedServer(answer(running), answer(DONE)) as server:
                self.assertEqual(asked(client, server.url, lambda one: one.run("r").wait()), DONE)
                self.assertEqual(server.paths(), ["/api/v1/runs/r?wait_ms=25000"] * 2)

    def test_a_start_and_the_wait_for_its_end_are_one_request_or_go_on_with_others(self) -> None:
        running = {"run": "r", "status": "running", "seq": 1}
        started = {"run": "r", "start": "started"}
        answers: List[List[Any]] = [[DONE], [running, DONE], [started, DONE]]
        for client in BOTH:
            for first, *more in answers:
                with ScriptedServer(answer(first), *map(answer, more)) as server:
                    found = asked(client, server.url, lambda one: one.start_and_wait("g", {"n": 1}))
                    self.assertEqual(found, DONE)
                    self.assertEqual(server.paths(), ["/api/v1/runs?wait_ms=25000"]
                                     + ["/api/v1/runs/r?wait_ms=25000"] * len(more))
            with ScriptedServer(answer(running)) as server:
                with self.assertRaisesRegex(Unavailable, "Expected run r to end within 0.1 s, but it is running."):
                    asked(client, server.url, lambda one: one.start_and_wait("g", timeout=0.1))

    def test_a_server_that_cannot_wait_is_polled(self) -> None:
        said = 'Expected at, raw, channel in the query, but found "wait_ms".'
        unknown = answer({"error": {"code": "invalid", "message": said}}, 400)
        running = {"run": "r", "status": "waiting", "seq": 1}
        for client in BOTH:
            with ScriptedServer(unknown, answer(running), answer(DONE)) as server:
                self.assertEqual(asked(client, server.url, lambda one: one.run("r").wait(10)), DONE)
                self.assertEqual(server.paths()[1:], ["/api/v1/runs/r"] * 2)

    def test_waits_at_once_all_learn_that_the_server_cannot(self) -> None:
        unknown = answer({"error": {"code": "invalid", "message": 'But found "wait_ms".'}}, 400)

        async def both(url: str) -> Any:
            async with AsyncClient(url) as client:
                return await asyncio.gather(*(client.run("r").wait(10) for _ in range(2)))

        with ScriptedServer(unknown, unknown, answer(DONE)) as server:
            self.assertEqual(asyncio.run(both(server.url)), [DONE, DONE])
            self.assertEqual(len(server.requests), 4)

    def test_a_run_that_takes_longer_is_unavailable(self) -> None:
        for client in BOTH:
            with ScriptedServer(answer({"run": "r", "status": "paused", "seq": 1})) as server:
                with self.assertRaisesRegex(Unavailable, "Expected run r to end within 0.1 s, but it is paused."):
                    asked(client, server.url, lambda one: one.run("r").wait(0.1))

    def test_another_refusal_is_raised(self) -> None:
        wrong = answer({"error": {"code": "not_found", "message": "No run."}}, 404)
        for client in BOTH:
            with ScriptedServer(wrong) as server, self.assertRaisesRegex(Refused, "No run"):
                asked(client, server.url, lambda one: one.run("r").wait())


class Events(unittest.TestCase):
    def test_a_broken_stream_goes_on_where_it_was(self) -> None:
        for client in BOTH:
            with ScriptedServer(events(1, 2), events(3) + END, answer(DONE)) as server:
                found = asked(client, server.url, lambda one: one.run("r").events())
                self.assertEqual([event["seq"] for event in found], [1, 2, 3])
                self.assertIn(b"Last-Event-ID: 0\r\n", server.requests[0])
                self.assertIn(b"Last-Event-ID: 2\r\n", server.requests[1])

    def test_a_stream_that_ends_before_the_last_event_is_opened_again(self) -> None:
        for client in BOTH:
            with ScriptedServer(events(1) + END, answer(DONE), events(2, 3) + END, answer(DONE)) as server:
                found = asked(client, server.url, lambda one: one.run("r").events())
                self.assertEqual([event["seq"] for event in found], [1, 2, 3])

    def test_an_event_that_comes_twice_is_given_once(self) -> None:
        for client in BOTH:
            with ScriptedServer(events(1, 2), events(2, 3) + END, answer(DONE)) as server:
                found = asked(client, server.url, lambda one: one.run("r").events())
                self.assertEqual([event["seq"] for event in found], [1, 2, 3])


    def test_a_start_that_still_waits_has_events_to_come(self) -> None:
        not_yet = answer({"error": {"code": "not_found", "message": "Expected run r to have begun."}}, 404)
        waits = answer({"run": "r", "status": "waiting", "seq": 0})
        for client in BOTH:
            with ScriptedServer(not_yet, waits, events(1, 2, 3) + END, answer(DONE)) as server:
                found = asked(client, server.url, lambda one: one.run("r").events())
                self.assertEqual([event["seq"] for event in found], [1, 2, 3])
            with ScriptedServer(not_yet) as server, self.assertRaisesRegex(Refused, "to have begun"):
                asked(client, server.url, lambda one: one.run("r").events())
            self.assertEqual(server.paths(), ["/api/v1/runs/r/events", "/api/v1/runs/r"])


class Lists(unittest.TestCase):
    def test_pages_follow_each_other_until_there_is_no_next_one(self) -> None:
        first = answer([{"run": "a"}, {"run": "b"}], Link='<?graph=g&limit=500&after=b>; rel="next"')
        for client in BOTH:
            with ScriptedServer(first, answer([{"run": "c"}])) as server:
                found = asked(client, server.url, lambda one: one.runs(graph="g", tags={"team": "a b"}))
                self.assertEqual([row["run"] for row in found], ["a", "b", "c"])
                self.assertEqual(server.paths(), ["/api/v1/runs?graph=g&tag=team%3Da+b&limit=500",
                                                  "/api/v1/runs?graph=g&limit=500&after=b"])

    def test_a_next_page_may_have_any_mark_in_its_query(self) -> None:
        for client in BOTH:
            link = '<?before=x>; rel="prev", <?reason=a,b;c&after=b>; title="a, b"; rel="next"'
            with ScriptedServer(answer([{"run": "a"}], Link=link), answer([{"run": "b"}])) as server:
                found = asked(client, server.url, lambda one: one.runs(reason="a,b;c"))
                self.assertEqual([row["run"] for row in found], ["a", "b"])
                self.assertEqual(server.paths()[1], "/api/v1/runs?reason=a,b;c&after=b")

    def test_a_limit_ends_the_pages(self) -> None:
        page = answer([{"run": "a"}, {"run": "b"}], Link='<?after=b>; rel="next"')
        for client in BOTH:
            with ScriptedServer(page) as server:
                self.assertEqual(len(asked(client, server.url, lambda one: one.runs(limit=3))), 3)
                self.assertEqual(asked(client, server.url, lambda one: one.runs(limit=0)), [])
                self.assertEqual(len(server.requests), 2)

    def test_a_next_page_elsewhere_is_asked_of_this_server(self) -> None:
        for client in BOTH:
            far = answer([{"run": "a"}], Link='<http://else.example/x?after=a>; rel="next"')
            with ScriptedServer(far, answer([])) as server:
                asked(client, server.url, lambda one: one.questions())
                self.assertEqual(server.paths()[1], "/api/v1/questions?after=a")


    def test_a_plan_that_is_too_large_for_one_answer_comes_page_by_page(self) -> None:
        large = answer({"error": {"code": "limit", "message": "Expected a plan of at most 1 bytes."}}, 409)
        first = answer([{"id": "a"}], Link='<?at=7&limit=500&after=1>; rel="next"')
        for client in BOTH:
            with ScriptedServer(large, first, answer([{"id": "b"}])) as server:
                self.assertEqual(asked(client, server.url, lambda one: one.run("r").plan()), [{"id": "a"}, {"id": "b"}])
                self.assertEqual(server.paths(), ["/api/v1/runs/r/plan", "/api/v1/runs/r/plan?limit=500",
                                                  "/api/v1/runs/r/plan?at=7&limit=500&after=1"])
            with ScriptedServer(answer({"error": {"code": "not_found", "message": "No run."}}, 404)) as server:
                with self.assertRaisesRegex(Refused, "No run"):
                    asked(client, server.url, lambda one: one.run("r").plan())

    def test_a_plan_that_is_too_large_for_a_server_without_pages_is_refused_for_that(self) -> None:
        large = answer({"error": {"code": "limit", "message": "Expected a plan of at most 1 bytes."}}, 409)
        unknown = answer({"error": {"code": "invalid", "message": "Expected no parameter limit."}}, 400)
        for client in BOTH:
            with ScriptedServer(large, unknown) as server:
                with self.assertRaisesRegex(Refused, "at most 1 bytes"):
                    asked(client, server.url, lambda one: one.run("r").plan())


class Names(unittest.TestCase):
    def test_both_clients_have_the_same_methods_with_the_same_parameters(self) -> None:
        for plain, other in ((Client, AsyncClient), (Run, AsyncRun)):
            for name, method in inspect.getmembers(plain, inspect.isfunction):
                if name.startswith("_"):
                    continue
                found = list(inspect.signature(method).parameters.values())
                also = list(inspect.signature(getattr(other, name)).parameters.values())
                self.assertEqual([(one.name, one.kind, one.default) for one in found],
                                 [(one.name, one.kind, one.default) for one in also], name)
                self.assertTrue(inspect.getdoc(method), name)


if __name__ == "__main__":
    unittest.main()
