"""Connections that end: idle ones, those that take no more of a request, and those that do so every time."""

import asyncio
import json
import logging
import socket
import struct
import threading
import time
import unittest
from typing import Any, Callable, Dict, List
from unittest import mock

from cairn import AsyncClient, Client, Refused, Worker
from cairn import rules
from scripted_server import BOTH, ScriptedServer, Stays, answer, asked
from worker_test import answered, claim

STATE = {"run": "r", "status": "done", "seq": 1}
KEPT = answer(STATE).replace(b"Connection: close\r\n", b"")


class IdleServer:
    """Answers each request, and ends a connection at its second one if `ends_at_second`."""

    def __init__(self) -> None:
        self.writers: List[asyncio.StreamWriter] = []
        self.ends_at_second = False

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        count = 0
        while True:
            try:
                await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
                return
            count += 1
            if count > 1 and self.ends_at_second:
                writer.close()
                return
            await asyncio.sleep(0.05)  # so that requests at once have connections of their own
            writer.write(KEPT)


class IdleConnections(unittest.TestCase):
    def asks_again(self, meanwhile: Callable[[IdleServer], None]) -> int:
        """Asks eight times at once, and once more later; returns how many connections that took."""
        async def run() -> int:
            server = IdleServer()
            listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
            port = listening.sockets[0].getsockname()[1]
            async with AsyncClient(f"http://127.0.0.1:{port}", patience=0) as client:
                await asyncio.gather(*[client.run("r").state() for _ in range(8)])
                meanwhile(server)
                await asyncio.sleep(0.2)
                self.assertEqual(await client.run("r").state(), STATE)
                count = len(server.writers)
            listening.close()
            return count

        return asyncio.run(run())

    def test_kept_connections_that_the_server_has_closed_are_passed_over(self) -> None:
        def close_all(server: IdleServer) -> None:
            for writer in server.writers:
                writer.close()

        self.assertEqual(self.asks_again(close_all), 9)

    def test_a_kept_connection_that_ends_without_an_answer_is_replaced_at_once(self) -> None:
        def end_at_second(server: IdleServer) -> None:
            server.ends_at_second = True

        self.assertEqual(self.asks_again(end_at_second), 9)


class Patience(unittest.TestCase):
    def test_the_patience_counts_from_the_first_failure(self) -> None:
        with mock.patch.object(rules.Call.__init__, "__defaults__", (None, True, 1.0, "")):
            for client in BOTH:
                scripts = Stays(b""), answer({"reasons": []})
                with self.subTest(client=client.__name__), ScriptedServer(*scripts) as server:
                    found = asked(client, server.url, lambda one: one.run("r").explain(), patience=0.5)
                    self.assertEqual(found, {"reasons": []})


class Choosy:
    """Reads no body above `most` bytes: it answers with `refusal`, or not at all, and resets the connection."""

    def __init__(self, most: int, refusal: bytes, *scripts: bytes) -> None:
        self._most, self._refusal, self._scripts = most, refusal, list(scripts)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.requests: List[Dict[str, Any]] = []
        self.refused = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def paths(self) -> List[str]:
        return [one["path"] for one in self.requests]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as lines:
            path = lines.readline().split()[1:2]
            length = 0
            for line in iter(lines.readline, b"\r\n"):
                if line.lower().startswith(b"content-length"):
                    length = int(line.split(b":")[1])
                if not line:
                    return
            if length > self._most:
                self.refused += 1
                connection.sendall(self._refusal)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            self.requests.append({"path": path[0].decode(), "body": json.loads(lines.read(length) or b"null")})
            time.sleep(0.01)
            connection.sendall(self._scripts.pop(0) if len(self._scripts) > 1 else self._scripts[0])


class LargeRequests(unittest.TestCase):
    def setUp(self) -> None:
        logging.disable(logging.CRITICAL)
        self.addCleanup(logging.disable, logging.NOTSET)

    def test_a_refusal_that_comes_before_the_request_has_gone_is_read(self) -> None:
        refusal = answer({"error": {"code": "limit", "message": "Too large."}}, 413)
        server = Choosy(1 << 20, refusal, answer({}))
        self.addCleanup(server.close)
        with self.assertRaisesRegex(Refused, "Too large."):
            Client(server.url, patience=0).start("g", {"text": "x" * 30_000_000})

    def test_a_report_whose_connections_always_break_is_given_up_and_the_others_are_taken(self) -> None:
        server = Choosy(1 << 20, b"", answered(claim("large", "large"), claim("small", "small")), answered())
        self.addCleanup(server.close)
        worker = Worker(server.url, queues=["q"], concurrency=2, grace=1.0)
        ready = threading.Barrier(2)

        @worker.handler("h")
        def handle(settings: Dict[str, str]) -> Dict[str, str]:
            ready.wait(10)
            return {"said": "x" * 3_000_000 if settings["text"] == "large" else ""}

        def is_over() -> bool:
            return "/api/v1/claims/large/fail" in server.paths()

        running = threading.Thread(target=worker.run, daemon=True)
        running.start()
        for _ in range(1500):
            if is_over():
                break
            running.join(0.01)
        worker.stop()
        running.join(10)
        self.assertTrue(is_over(), set(server.paths()))
        failed = next(one["body"] for one in server.requests if one["path"].endswith("/fail"))
        self.assertFalse(failed["again"])
        self.assertRegex(failed["message"], "Expected to send 3.* bytes to http.*, but 5 connections broke off")
        reported = [one["claim"] for request in server.requests for one in (request["body"].get("finished") or [])]
        self.assertEqual(reported, ["small"])


if __name__ == "__main__":
    unittest.main()
