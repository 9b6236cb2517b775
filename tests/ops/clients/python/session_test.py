"""A worker whose session is gone: one request opens another, and every report arrives under it."""

import json
import logging
import socketserver
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler
from typing import Any, Dict, List, Tuple

from cairn import Worker
from worker_test import claim


class SessionServer(socketserver.ThreadingTCPServer):
    """An API whose sessions can be lost. A request that names one that is lost is answered with 404."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lock = threading.Condition()
        self.steps: List[Dict[str, Any]] = []  # to be claimed
        self.sessions: List[str] = []  # that were opened
        self.alive: List[str] = []
        self.claimed: List[Tuple[str, str]] = []  # by session
        self.reported: List[str] = []
        self.beats: List[Dict[str, Any]] = []
        self.refuses: Any = None  # which heartbeats
        self.is_silent = False  # to heartbeats, until `silence` is set
        self.silence = threading.Event()
        self.held_back: Any = None  # an event: reports are answered once it is set
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def handle_error(self, *_: Any) -> None:
        pass  # the client has left

    def lose_session(self) -> None:
        with self.lock:
            self.alive.clear()
            self.lock.notify_all()

    def until(self, condition: Any) -> bool:
        with self.lock:
            return bool(self.lock.wait_for(condition, timeout=10))

    def claims(self, body: Dict[str, Any]) -> Any:
        with self.lock:
            session = body.get("session")
            if session is None:
                session = str(len(self.sessions) + 1)
                self.sessions.append(session)
                self.alive.append(session)
                self.lock.notify_all()
            if session in self.alive and body["wait_ms"] > 0:
                self.lock.wait_for(lambda: self.steps or session not in self.alive, timeout=0.5)
            if session not in self.alive:
                return 404, {"error": {"code": "not_found", "message": "No such session."}}
            given, self.steps = self.steps[:body["max"]], self.steps[body["max"]:]
            self.claimed += [(session, one["claim"]) for one in given]
            self.reported += [one["claim"] for one in body["finished"]]
            self.lock.notify_all()
        results = [{"claim": one["claim"], "status": "committed"} for one in body["finished"]]
        return 200, {"session": session, "heartbeat_ms": 100, "results": results, "claims": given}

    def heartbeat(self, body: Dict[str, Any]) -> Any:
        with self.lock:
            self.beats.append(body)
            self.lock.notify_all()
        if self.refuses is not None and self.refuses(body):
            return 400, {"error": {"code": "invalid", "message": "Expected other texts."}}
        if self.is_silent:
            self.silence.wait(20)
        return 200, {"cancel": [], "stale": []}


class _Handler(BaseHTTPRequestHandler):
    server: SessionServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.endswith("/heartbeat"):
            status, said = self.server.heartbeat(body)
        else:
            if body.get("finished") and self.server.held_back is not None:
                self.server.held_back.wait(10)
            status, said = self.server.claims(body)
        text = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


class WorkerWithoutItsSession(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)
        self.server = SessionServer()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.seen: List[str] = []
        self.contexts: Dict[str, Any] = {}
        self.go_on = threading.Event()
        self.addCleanup(self.go_on.set)

    def runs(self, concurrency: int) -> Worker:
        worker = Worker(self.server.url, queues=["q"], concurrency=concurrency, grace=1.0)

        @worker.handler("h")
        def handle(settings: Dict[str, str], context: Any) -> Dict[str, str]:
            self.seen.append(context.claim)
            if settings["text"].startswith("says"):
                self.contexts[settings["text"]] = context
                self.go_on.wait(10)
            if settings["text"] == "waits":
                self.go_on.wait(10)
            return {}

        worker._gateway.heartbeat = 0.1
        running = threading.Thread(target=worker.run, daemon=True)
        running.start()
        self.addCleanup(running.join, 10)
        self.addCleanup(worker.stop)
        return worker

    def test_a_session_that_is_lost_with_three_requests_under_way_is_replaced_by_one(self) -> None:
        server = self.server
        server.steps = [claim("a", "waits"), claim("b", "waits")]
        self.runs(8)
        self.assertTrue(server.until(lambda: len(server.claimed) == 2))
        for _ in range(500):
            if len(self.seen) == 2:
                break
            time.sleep(0.01)
        server.held_back = threading.Event()
        self.go_on.set()  # two reports, and the request that waits for steps
        time.sleep(0.3)
        server.lose_session()
        server.held_back.set()
        later = [f"later{n}" for n in range(40)]
        with server.lock:
            server.steps = [claim(one) for one in later]
            server.lock.notify_all()
        self.assertTrue(server.until(lambda: set(server.reported) >= {"a", "b", *later}), server.reported)
        self.assertEqual(server.sessions, ["1", "2"])
        self.assertEqual({session for session, one in server.claimed if one in later}, {"2"})
        self.assertEqual(sorted(self.seen), sorted(["a", "b", *later]))

    def test_a_heartbeat_names_the_steps_whose_reports_are_on_their_way(self) -> None:
        server = self.server
        server.held_back = threading.Event()
        self.addCleanup(server.held_back.set)
        server.steps = [claim("a")]
        self.runs(2)
        self.assertTrue(server.until(lambda: self.seen == ["a"] and len(server.beats) > 0))
        beats = len(server.beats)
        self.assertTrue(server.until(lambda: len(server.beats) > beats + 2))
        self.assertEqual(server.beats[-1]["claims"], ["a"])
        server.held_back.set()
        self.assertTrue(server.until(lambda: server.beats[-1]["claims"] == []))

    def says(self, count: int) -> List[Any]:
        """The contexts of so many steps that are under way."""
        self.server.steps = [claim(f"c{n}", f"says{n}") for n in range(count)]
        self.runs(count)
        self.assertTrue(self.server.until(lambda: len(self.contexts) == count and len(self.server.beats) > 0))
        return [self.contexts[f"says{n}"] for n in range(count)]

    def progress(self) -> Dict[str, str]:
        found: Dict[str, str] = {}
        for beat in self.server.beats:
            found.update(beat.get("progress", {}))
        return found

    def test_a_progress_that_is_no_text_is_shown_as_one_and_a_long_one_by_its_end(self) -> None:
        one, two, three, four = self.says(4)
        one.progress(5)
        two.progress({"a": 1})
        three.progress("x" * 100_000 + "end")
        four.progress("\u00e9" * 40_000 + "\ud800")
        self.assertTrue(self.server.until(lambda: len(self.progress()) == 4))
        said = self.progress()
        self.assertEqual((said["c0"], said["c1"]), ("5", "{'a': 1}"))
        self.assertEqual(len(said["c2"]), 64 * 1024)
        self.assertTrue(said["c2"].endswith("xend"))
        self.assertLessEqual(len(said["c3"].encode()), 64 * 1024)
        self.assertTrue(said["c3"].endswith("\u00e9?"))

    def test_a_heartbeat_brings_what_has_changed_and_no_more_than_fits(self) -> None:
        contexts = self.says(12)
        for n, one in enumerate(contexts):
            one.progress(f"{n:02}" + "x" * 60_000)
        self.assertTrue(self.server.until(lambda: len(self.progress()) == 12))
        beats = len(self.server.beats)
        self.assertLess(max(len(json.dumps(beat)) for beat in self.server.beats), 400_000)
        self.assertTrue(self.server.until(lambda: len(self.server.beats) > beats + 3))
        self.assertTrue(all("progress" not in beat for beat in self.server.beats[beats + 1:]))

    def test_texts_that_the_api_refuses_keep_no_heartbeat_back(self) -> None:
        self.server.refuses = lambda body: "progress" in body
        one, = self.says(1)
        one.progress("bad")
        self.assertTrue(self.server.until(lambda: any("progress" in beat for beat in self.server.beats)))
        at = next(n for n, beat in enumerate(self.server.beats) if "progress" in beat)
        self.assertTrue(self.server.until(lambda: len(self.server.beats) > at + 3))
        self.assertTrue(all("progress" not in beat for beat in self.server.beats[at + 1:]))
        self.assertTrue(all(beat["claims"] == ["c0"] for beat in self.server.beats[at:]))

    def test_a_heartbeat_that_is_not_answered_is_left_after_the_pause_between_two(self) -> None:
        self.says(1)
        self.server.is_silent = True
        self.addCleanup(self.server.silence.set)
        beats = len(self.server.beats)
        self.assertTrue(self.server.until(lambda: len(self.server.beats) > beats + 2))


if __name__ == "__main__":
    unittest.main()
