"""A worker at servers that answer wrongly: what ends it, what it goes on through, and that no report is lost."""

import logging
import threading
import unittest
from typing import Any, Dict, List

from cairn import Refused, Unavailable, Worker
from scripted_server import ScriptedServer, answer


def answered(*claims: Dict[str, Any], results: Any = ()) -> bytes:
    return answer({"session": "7", "heartbeat_ms": 60_000, "results": list(results), "claims": list(claims)})


def claim(name: str, text: str = "t") -> Dict[str, Any]:
    return {"claim": name, "run": "r", "graph": "g", "node": "n", "step": 1, "attempt": 1, "key": "r/1",
            "handler": "h", "input": {"text": text}, "deadline_ms": 60_000}


def stops_after(server: ScriptedServer, worker: Worker, requests: int) -> None:
    """Stops it once the server was asked so often."""
    def wait() -> None:
        for _ in range(1000):
            if len(server.requests) >= requests or done.wait(0.01):
                break
        worker.stop()

    done = threading.Event()
    watching = threading.Thread(target=wait, daemon=True)
    watching.start()
    try:
        worker.run()
    finally:
        done.set()
        watching.join()


class WorkerAtWrongServers(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.seen: List[str] = []

    def worker(self, server: ScriptedServer) -> Worker:
        worker = Worker(server.url, queues=["q"], concurrency=1, grace=1.0)

        @worker.handler("h")
        def handle(settings: Dict[str, str]) -> Dict[str, str]:
            self.seen.append(settings["text"])
            return {"said": settings["text"]}

        return worker

    def reports(self, server: ScriptedServer) -> List[Any]:
        return [one for at, path in enumerate(server.paths()) if path == "/api/v1/claims"
                for one in server.body(at).get("finished", [])]

    def test_a_first_answer_that_is_none_of_the_api_ends_it_with_the_sentence(self) -> None:
        for script, kind, says in (
                (answer(b"<html>"), Unavailable, "Expected an answer of Cairn at http.*, but found b'<html>'"),
                (answer({"session": "1"}), Unavailable, "Expected an answer of Cairn at"),
                (answer({}, 302, Location="http://else.example"), Unavailable, "but it leads to"),
                (answer({"error": {"code": "unauthorized", "message": "No token."}}, 401), Refused, "No token.")):
            with ScriptedServer(script) as server, self.assertRaisesRegex(kind, says):
                self.worker(server).run()

    def test_a_server_that_is_away_at_first_is_waited_for(self) -> None:
        with ScriptedServer(b"", answer({}, 503), answered(claim("c1")), answered()) as server:
            stops_after(server, self.worker(server), 4)
            self.assertEqual(self.seen, ["t"])

    def test_a_report_outlives_answers_that_are_none(self) -> None:
        scripts = [answered(claim("c1")), b"", answer(b"<html>"), b"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\n",
                   answered(results=[{"claim": "c1", "status": "committed"}]), answered()]
        with ScriptedServer(*scripts) as server:
            stops_after(server, self.worker(server), 6)
            self.assertEqual({one["claim"] for one in self.reports(server)}, {"c1"})
            self.assertGreaterEqual(len(self.reports(server)), 2)
            self.assertEqual(self.seen, ["t"])

    def test_a_report_that_the_run_does_not_take_fails_the_step(self) -> None:
        refused = answer({"error": {"code": "invalid", "message": "Too large."}}, 413)
        for reply in (refused, answered(results=[{"claim": "c1", "status": "invalid", "says": "Too large."}])):
            with ScriptedServer(answered(claim("c1")), reply, answer({}), answered()) as server:
                stops_after(server, self.worker(server), 3)
                failed = server.paths().index("/api/v1/claims/c1/fail")
                self.assertEqual(server.body(failed), {"error": "invalid", "message": "Too large.", "again": False})

    def test_a_session_that_is_gone_is_opened_again(self) -> None:
        gone = answer({"error": {"code": "not_found", "message": "No such session."}}, 404)
        with ScriptedServer(answered(claim("c1")), gone, answered(), answered()) as server:
            stops_after(server, self.worker(server), 3)
            self.assertEqual(server.body(1)["session"], "7")
            self.assertNotIn("session", server.body(2))
            self.assertEqual(server.body(2)["finished"], server.body(1)["finished"])

    def test_a_worker_that_is_stopped_before_it_runs_stops_at_once(self) -> None:
        with ScriptedServer(answered()) as server:
            worker = self.worker(server)
            worker.stop()
            worker.run()
            self.assertEqual(self.seen, [])

    def test_a_step_of_an_unknown_handler_is_given_back(self) -> None:
        with ScriptedServer(answered({**claim("c1"), "handler": "other"}), answered()) as server:
            stops_after(server, self.worker(server), 2)
            self.assertEqual(self.reports(server)[0], {"release": True, "retry_ms": 1000, "claim": "c1"})

    def test_a_worker_outlives_what_its_functions_raise(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no")

        names = ["mute", "leaves", "interrupted", "coroutine", "fine"]
        claims = [answered({**claim(f"c{at}"), "handler": name}) for at, name in enumerate(names)]
        with ScriptedServer(*claims, answered()) as server:
            worker = Worker(server.url, concurrency=1, grace=1.0)

            @worker.handler("mute")
            def mute(settings: Any) -> None:
                raise Mute()

            @worker.handler("leaves")
            async def leaves(settings: Any) -> None:
                raise SystemExit(3)

            @worker.handler("interrupted")
            async def interrupted(settings: Any) -> None:
                raise KeyboardInterrupt()

            @worker.handler("coroutine")
            def coroutine(settings: Any) -> Any:
                return interrupted(settings)

            @worker.handler("fine")
            async def fine(settings: Any) -> Dict[str, int]:
                return {"n": 1}

            stops_after(server, worker, len(names) + 1)
            reports = {one["claim"]: one for one in self.reports(server)}
        self.assertEqual([reports[f"c{at}"].get("message") for at in range(3)],
                         ["Mute, whose text raises RuntimeError", "3", "KeyboardInterrupt"])
        self.assertIn("found a coroutine", reports["c3"]["message"])
        self.assertEqual(reports["c4"]["patch"], {"n": 1})

    def test_settings_of_a_worker_that_are_none_are_refused(self) -> None:
        worker = Worker("http://127.0.0.1:1")
        worker.handler("h")(lambda settings: {})
        with self.assertRaisesRegex(ValueError, "Expected one function for each name, but h has two."):
            worker.handler("h")(lambda settings: {})
        wrong: List[Any] = [{"queues": "py"}, {"queues": []}, {"concurrency": 0}]
        for given in wrong:
            with self.assertRaisesRegex(ValueError, "^Expected .*, but found"):
                Worker("http://127.0.0.1:1", **given)


if __name__ == "__main__":
    unittest.main()
