"""A small collector of traces that takes OTLP over HTTP (JSON) and nothing that is not exactly so.

collector.py FOLDER [ANSWER ...]: prints its port, and writes each document that it takes to FOLDER/N.json, with the
headers of its request in FOLDER/N.headers.json. ANSWER is for the first requests in their order: STATUS or
STATUS:SECONDS (Retry-After), and nothing is taken; or it is taken (take), and the answer is late:SECONDS, or says that
part:SPANS of it were left out, or is long:BYTES. A document with a fault is answered 400, with the fault. It knows
nothing of the program that sends.
"""

import http.server
import json
import pathlib
import re
import sys
import time

HEX = {"traceId": 32, "spanId": 16, "parentSpanId": 16}
VALUES = {"stringValue": str, "intValue": str, "doubleValue": (int, float), "boolValue": bool, "arrayValue": dict}
SPAN = {
    "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "attributes",
    "events", "links", "status",
}  # fmt: skip


class Fault(Exception):
    pass


def expect(is_so, says):
    if not is_so:
        raise Fault(says)


def check_id(of, key):
    digits = HEX[key]
    expect(re.fullmatch("[0-9a-f]{%d}" % digits, of[key]), f"{key} {of[key]!r} is not {digits} hexadecimal digits")
    expect(of[key].strip("0"), f"{key} is all zero")


def check_value(value):
    expect(len(value) == 1, f"a value has one kind: {value}")
    ((kind, content),) = value.items()
    expect(kind in VALUES and isinstance(content, VALUES[kind]), f"a value of no kind: {value}")
    if kind == "intValue":
        expect(re.fullmatch("-?[0-9]+", content), f"intValue {content!r} is no decimal")
    if kind == "arrayValue":
        for one in content["values"]:
            check_value(one)


def check_attributes(attributes):
    keys = [attribute["key"] for attribute in attributes]
    expect(len(keys) == len(set(keys)), f"an attribute twice: {keys}")
    for attribute in attributes:
        expect(set(attribute) == {"key", "value"} and attribute["key"], f"an attribute of another form: {attribute}")
        check_value(attribute["value"])


def check_time(text):
    expect(isinstance(text, str) and re.fullmatch("[0-9]{19}", text), f"{text!r} is no time in nanoseconds")
    return int(text)


def check_span(span):
    expect(set(span) <= SPAN, f"unknown members: {set(span) - SPAN}")
    for key in HEX:
        if key in span:
            check_id(span, key)
    expect(isinstance(span["name"], str) and span["name"], "a span without a name")
    expect(span["kind"] in (1, 2, 3, 4, 5), f"kind {span['kind']}")
    start, end = check_time(span["startTimeUnixNano"]), check_time(span["endTimeUnixNano"])
    expect(start <= end, f"{span['name']} ends before it starts")
    check_attributes(span["attributes"])
    for event in span.get("events", []):
        expect(start <= check_time(event["timeUnixNano"]) <= end, f"an event outside of {span['name']}")
        check_attributes(event["attributes"])
    for link in span.get("links", []):
        check_id(link, "traceId")
        check_id(link, "spanId")
    expect(span.get("status", {}).get("code", 0) in (0, 1, 2), f"status {span.get('status')}")


def check_document(document):
    expect(set(document) == {"resourceSpans"}, "a document has resourceSpans alone")
    for resource in document["resourceSpans"]:
        check_attributes(resource["resource"]["attributes"])
        names = [a["value"] for a in resource["resource"]["attributes"] if a["key"] == "service.name"]
        expect(len(names) == 1, "a resource needs service.name")
        for scope in resource["scopeSpans"]:
            expect(scope["schemaUrl"].startswith("https://opentelemetry.io/schemas/"), "no schemaUrl")
            expect(scope["scope"]["name"] and scope["spans"], "a scope without a name or spans")
            for span in scope["spans"]:
                check_span(span)


class Collector(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    folder = pathlib.Path(sys.argv[1])
    answers = sys.argv[2:]
    taken = 0

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        word, _, number = Collector.answers.pop(0).partition(":") if Collector.answers else ("take", "", "")
        if word.isdigit():
            return self.answer(int(word), {}, number)
        try:
            expect(self.path == "/v1/traces", f"the path {self.path}")
            expect(self.headers["Content-Type"] == "application/json", "the type of the content")
            expect(len(body) < 2 << 20, f"{len(body)} bytes")
            check_document(json.loads(body))
        except (Fault, KeyError, TypeError, ValueError) as fault:
            return self.answer(400, {"message": f"{type(fault).__name__}: {fault}"})
        Collector.taken += 1
        (self.folder / f"{Collector.taken}.headers.json").write_text(json.dumps(dict(self.headers)))
        written = self.folder / "written"
        written.write_bytes(body)
        written.rename(self.folder / f"{Collector.taken}.json")
        if word == "late":
            time.sleep(int(number))
        part = {"rejectedSpans": number, "errorMessage": "Too old."} if word == "part" else {}
        self.answer(200, {"partialSuccess": part, "more": "x" * (int(number) if word == "long" else 0)})

    def answer(self, status, document, retry_after=""):
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        if retry_after:
            self.send_header("Retry-After", retry_after)
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
print(server.server_address[1], flush=True)
server.serve_forever()
