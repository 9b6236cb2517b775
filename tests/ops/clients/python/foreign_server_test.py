"""Both clients at servers that are not Cairn's, or break: one sentence each, and no wait without an end."""

import contextlib
import os
import ssl
import time
import unittest
from typing import Any, Callable, Iterator
from unittest import mock

from cairn import AsyncClient, Client, Refused, Unavailable
from cairn import rules
from scripted_server import BOTH, ScriptedServer, Stays, answer, asked

STATE = {"run": "r", "status": "done", "seq": 1}


class ForeignServer(unittest.TestCase):
    def refused(self, expected: str, *scripts: Any, call: Callable[[Any], Any] = lambda client: client.run("r").state(),
                kind: Any = Unavailable, patience: float = 0.2) -> None:
        for client in BOTH:
            with self.subTest(client=client.__name__), ScriptedServer(*scripts) as server:
                with self.assertRaisesRegex(kind, expected) as caught:
                    asked(client, server.url, call, patience)
                self.assertNotIn("\n", str(caught.exception))
                self.assertTrue(str(caught.exception).endswith("."), caught.exception)

    def test_bytes_that_are_no_http_are_said_to_be_none(self) -> None:
        self.refused("Expected an answer of Cairn at http.*, but: Expected HTTP/1.1, but found 'SSH-2.0",
                     b"SSH-2.0-x\r\n")

    def test_a_page_in_place_of_json_is_shown(self) -> None:
        self.refused("Expected an answer of Cairn at http.*, but found b'<html>", answer(b"<html>hello</html>"))

    def test_json_of_another_api_is_shown(self) -> None:
        self.refused("but found b'{\"id\": 7}'", answer({"id": 7}))
        self.refused("but found b'\\[\\[\\[", answer(b"[" * 100_000))
        self.refused("but found b'{}'", answer({}), call=lambda client: client.start("g"))
        self.refused("but found b'\"x\"'", answer("x"), call=lambda client: client.runs())

    def test_an_error_without_a_sentence_is_given_one(self) -> None:
        self.refused("Expected an answer of Cairn, but found status 404 and '<h1>no</h1>'",
                     answer(b"<h1>no</h1>", 404), kind=Refused)

    def test_a_redirect_is_not_followed(self) -> None:
        self.refused("but it leads to 'https://else.example/'", answer(b"", 302, Location="https://else.example/"))

    def test_a_body_beyond_the_limit_is_not_read(self) -> None:
        with mock.patch.object(rules.Exchange.__init__, "__defaults__", (1000, False)):
            self.refused("Expected an answer of at most 1000 bytes", answer(b"x" * 1001))
            self.refused("Expected an answer of at most 1000 bytes", b"HTTP/1.1 200 X\r\n\r\n" + b"x" * 100_000)
            self.refused("Expected an answer of at most 1000 bytes",
                         b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n" + b"200\r\n" + b"x" * 512 +
                         b"\r\nffffffffff\r\n")

    def test_a_head_without_an_end_is_not_read(self) -> None:
        self.refused("Expected a head of at most 65536 bytes", b"HTTP/1.1 200 X\r\nA: " + b"x" * 200_000)
        self.refused("Expected a head of at most 65536 bytes", b"HTTP/1.1 200 X\r\n" + b"A: b\r\n" * 100_000)
        self.refused("Expected a head of at most 65536 bytes", b"HTTP/1.1 100 X\r\n\r\n" * 100_000)

    def test_a_cut_connection_is_asked_again_until_the_patience_is_over(self) -> None:
        cut = b"HTTP/1.1 200 X\r\nContent-Length: 100\r\n\r\n{"
        self.refused("but: the connection ended within the answer", cut)
        for client in BOTH:
            with ScriptedServer(cut, b"", answer(STATE)) as server:
                self.assertEqual(asked(client, server.url, lambda one: one.run("r").state()), STATE)
                self.assertEqual(len(server.requests), 3)

    def test_a_server_that_says_nothing_is_left_after_the_time_of_the_call(self) -> None:
        with mock.patch.object(rules.Call.__init__, "__defaults__", (None, True, 0.2, "")):
            began = time.monotonic()
            for silent in (b"", b"HTTP/1.1 200 X\r\n"):
                self.refused("but: timed out", Stays(silent), patience=0.1, call=lambda one: one.run("r").explain())
            self.assertLess(time.monotonic() - began, 5)

    def test_a_server_that_is_away_is_named(self) -> None:
        with ScriptedServer(b"") as server:
            url = server.url
        for client in BOTH:
            with self.assertRaisesRegex(Unavailable, f"Expected an answer of Cairn at {url}, but: .*refused"):
                asked(client, url, lambda one: one.run("r").state(), 0.2)

    def test_plain_http_at_an_https_address_is_one_sentence(self) -> None:
        with ScriptedServer(answer(STATE)) as server:
            for client in BOTH:
                with self.assertRaisesRegex(Unavailable, "Expected an answer of Cairn at https:"):
                    asked(client, server.url.replace("http:", "https:"), lambda one: one.run("r").state(), 0.2)

    def test_a_stream_that_is_none_of_events_is_refused(self) -> None:
        events: Callable[[Any], Any] = lambda client: client.run("r").events()
        self.refused("Expected a stream of events, but found another answer", answer([]), call=events)
        stream = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        self.refused("Expected events as JSON", stream + b"data: {\n\n", call=events)
        self.refused("Expected events of a run", stream + b"data: [1]\n\n", call=events)
        self.refused("status 503", answer({}, 503), call=events)
        self.refused("No such run", answer({"error": {"code": "not_found", "message": "No such run."}}, 404),
                     call=events, kind=Refused)


class WrongSettings(unittest.TestCase):
    @contextlib.contextmanager
    def refused(self, expected: str, **environment: str) -> Iterator[None]:
        with mock.patch.dict(os.environ, environment), self.assertRaisesRegex(ValueError, expected):
            yield

    def test_an_address_that_is_none_is_refused_at_once(self) -> None:
        for url in ("localhost:8080", "ftp://host", "http://", "http://a b", "http://host:99999", "http://h\r\nX: y",
                    "http://host/?a=b", "http://[::1"):
            for client in BOTH:
                with self.refused("Expected the address of Cairn's API as http://HOST or https://HOST, but found",
                                  CAIRN_URL=url):
                    client()

    def test_a_password_in_the_address_is_not_shown(self) -> None:
        with self.assertRaises(ValueError) as caught:
            Client("http://ann:secret@host")
        self.assertNotIn("secret", str(caught.exception))

    def test_a_token_with_other_characters_is_refused_and_not_shown(self) -> None:
        with self.assertRaisesRegex(ValueError, "^Expected a token of visible characters, but it has others.$"):
            Client("http://host", token="secret\r\nX:y")

    def test_a_certificate_that_does_not_hold_is_not_asked_again(self) -> None:
        fault = ssl.SSLCertVerificationError("certificate verify failed")
        with mock.patch("cairn.blocking.socket.create_connection", side_effect=fault) as connect:
            with self.assertRaisesRegex(Unavailable, "certificate verify failed"):
                Client("https://host").run("r").state()
        self.assertEqual(connect.call_count, 1)


if __name__ == "__main__":
    unittest.main()
