"""A small server of the Model Context Protocol, for tests: small_server.py [--legacy] [--http FILE] [--calls FILE]
[--bad HOW] [--slow-start SECONDS]. On stdin and stdout, or over HTTP at a port that it writes into FILE. Each call is a
line in the file of --calls: its tool, arguments and key. Tasks and their answers are kept in files beside that one, so
that they outlive the process. With a file CALLS.rolled it speaks the other revision."""
import argparse, base64, http.server, json, os, sys, threading, time

args = argparse.ArgumentParser()
args.add_argument("--legacy", action="store_true")
args.add_argument("--http", default="")
args.add_argument("--calls", default="")
args.add_argument("--bad", default="")
args.add_argument("--slow-start", type=float, default=0)
args = args.parse_args()
time.sleep(args.slow_start)
META = "io.modelcontextprotocol/"
lock = threading.Lock()
cancelled = set()
rest = {}  # ids of requests whose streams were cut
deaf = threading.Event()  # it reads no more
answered = []  # responses to its own requests
enough = threading.Event()  # they are answered
listed = threading.Event()

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
STATE = "state-7" + os.environ.get("TOKEN", "")
FORM = {"type": "object", "properties": {"name": {"type": "string", "default": "Nemo"}}, "required": ["name"]}


def legacy():
    return args.legacy != os.path.exists(args.calls + ".rolled")


def revision():
    return "2025-11-25" if legacy() else "2026-07-28"


def touch(suffix):
    open(args.calls + suffix, "w").close()


def tools():
    names = {
        "echo": "Gives a text back.", "structured": "Gives its arguments back as they are.", "picture": "Gives a picture.",
        "slow": "Works until it is cancelled.", "steps": "Says its progress.", "broken": "Says that it has failed.",
        "refuse": "Is refused by the protocol.", "die": "Ends its server.", "flood": "Writes a line without an end.",
        "nonsense": "Answers with no message.", "other_id": "Answers another request.", "ask": "Asks for a name.",
        "task": "Takes its time, as a task.", "late": "Asks within a task.", "key": "Gives the key of the call.",
        "wrong": "Gives another output than it declares.", "secret": "Gives the variable TOKEN.",
        "cut": "Ends its stream before the reply.", "open": "Leaves its stream open after the reply."}
    all = [{"name": name, "description": about, "inputSchema": TEXT if name == "echo" else {"type": "object"}}
           for name, about in names.items()]
    for tool in all:
        if tool["name"] == "wrong":
            tool["outputSchema"] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
        if tool["name"] == "key":
            tool["inputSchema"] = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    if args.bad == "names":
        all += [{"name": name, "inputSchema": {"type": "object"}} for name in ["", "a\nb", "\x1b[31mred", "x" * 200, 5]]
        all += [{"name": "echo", "inputSchema": {"type": "object"}}, {"name": "no_schema"}, 7]
        all += [{"name": "bad_header", "inputSchema": {"type": "object", "properties": {
            "n": {"type": "number", "x-mcp-header": "N"}}}}]
    if args.bad == "pings":
        all += [{"name": "pings", "inputSchema": {"type": "object"}}]
    if args.bad == "many":
        all += [{"name": f"tool_{n}", "inputSchema": {"type": "object"}} for n in range(10000)]
    return all


class Refused(Exception):
    def __init__(self, code, message, data=None):
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def text(value):
    return {"resultType": "complete", "content": [{"type": "text", "text": value}]}


def kept(name, value=None):
    path = f"{args.calls}.{name}"
    if value is not None:
        with open(path + ".new", "w") as file:
            json.dump(value, file)
        os.replace(path + ".new", path)
    return json.load(open(path)) if os.path.exists(path) else None


def task_json(task):
    return {"taskId": "t-1", "createdAt": "2026-07-28T00:00:00Z", "lastUpdatedAt": "2026-07-28T00:00:00Z", "ttlMs": None,
            "pollIntervalMs": 100, **task}


def get_task():
    task = kept("task")
    if not task or args.bad == "lost_task":
        raise Refused(-32602, "There is no such task.")
    keeps = task.get("keeps", 0)  # so many looks show what was answered
    if keeps > 0:
        kept("task", {**task, "keeps": keeps - 1})
    if task["tool"] == "late" and (keeps > 0 or not task.get("answers")):
        return task_json({"resultType": "complete", "status": "input_required", "inputRequests": {
            "who": {"method": "elicitation/create", "params": {"message": "Who is it?", "requestedSchema": FORM}}}})
    if os.path.exists(args.calls + ".go") or task["tool"] == "late":
        said = "after a while" if task["tool"] == "task" else "hello " + str(task["answers"]["who"].get("content"))
        return task_json({"resultType": "complete", "status": "completed", "result": text(said)})
    return task_json({"resultType": "complete", "status": "working", "statusMessage": "half done"})


def log_call(params):
    key = params.get("_meta", {}).get("cairn/key")
    with lock, open(args.calls, "a") as file:
        print(json.dumps({"tool": params["name"], "arguments": params.get("arguments", {}), "key": key}), file=file)


def ping_without_end(send):
    deaf.set()
    for n in range(200 if args.http else 100000):
        send({"jsonrpc": "2.0", "id": str(n) + "x" * 1024, "method": "ping"})
    seen = 0
    while args.http and (seen == 0 or seen != len(answered)):
        seen = len(answered)
        time.sleep(0.5)
    enough.set()
    return text(str(seen))


def call(request, send, headers):
    params = request["params"]
    name, arguments, meta = params["name"], params.get("arguments", {}), params.get("_meta", {})
    if args.calls and "inputResponses" not in params:
        log_call(params)
    if args.bad == "mute_list":
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if name == "pings":
        return ping_without_end(send)
    if name == "echo":
        return text(arguments["text"])
    if name == "structured":
        return {"resultType": "complete", "content": [], "structuredContent": arguments}
    if name == "picture":
        return {"resultType": "complete", "content": [
            {"type": "text", "text": "a dot"},
            {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"\x89PNG").decode()},
            {"type": "resource", "resource": {"uri": "test://x", "text": "inside"}}]}
    if name == "slow":
        touch(".begun")
        for _ in range(600):
            if request["id"] in cancelled:
                with open(args.calls + ".cancelled", "w") as file:
                    file.write(str(request["id"]))
                return None
            time.sleep(0.05)
        return text("done")
    if name == "steps":
        for n in range(1, 4):
            send({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
                "progressToken": meta["progressToken"], "progress": n, "total": 3, "message": "page"}})
            while arguments.get("until") and not os.path.exists(arguments["until"]):
                time.sleep(0.02)
        return text("read")
    if name == "broken":
        return {**text("There is no such city."), "isError": True}
    if name == "refuse":
        raise Refused(-32602, "Unknown tool: refuse")
    if name == "die":
        if not os.path.exists(args.calls + ".died"):
            open(args.calls + ".died", "w").close()
            print("out of luck", file=sys.stderr, flush=True)
            os._exit(3)
        return text("alive")
    if name == "flood":
        for _ in range(40):
            sys.stdout.write("x" * (1 << 20))
        sys.stdout.flush()
        time.sleep(600)
    if name == "nonsense":
        print("Traceback: this is no message", flush=True)
        return None
    if name == "other_id":
        send({"jsonrpc": "2.0", "id": 987654, "result": text("for another one")})
        return None
    if name == "ask":
        if legacy():
            return text("no form")
        answers = params.get("inputResponses")
        if not answers:
            return {"resultType": "input_required", "requestState": STATE, "inputRequests": {
                "who": {"method": "elicitation/create", "params": {"message": "Who is it?", "requestedSchema": FORM}}}}
        if params.get("requestState") != STATE:
            raise Refused(-32602, "Another state.")
        return text("hello " + json.dumps(answers["who"]))
    if name in ("task", "late"):
        kept("task", {"tool": name})
        return task_json({"resultType": "task", "status": "working"})
    if name == "key":
        return text(json.dumps({"key": meta.get("cairn/key"), "region": headers.get("Mcp-Param-Region"),
                                "name": headers.get("Mcp-Name"), "session": headers.get("Mcp-Session-Id"),
                                "authorization": headers.get("Authorization")}))
    if name == "wrong":
        return {"resultType": "complete", "content": [], "structuredContent": {"n": "one"}}
    if name == "secret":
        return text(os.environ.get("TOKEN", "none"))
    raise Refused(-32602, "Unknown tool: " + name)


def page(params):
    all, size = tools(), 7 if args.bad != "many" else 10 ** 6
    at = int(params.get("cursor", 0))
    result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "public", "tools": all[at:at + size]}
    if at + size < len(all):
        result["nextCursor"] = str(at + size)
    else:
        listed.set()
    return result


def answer(request, send, headers):
    method, params = request["method"], request.get("params", {})
    if legacy():
        if method == "initialize":
            return {"protocolVersion": revision(), "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "small", "version": "1"}}
    else:
        version = params.get("_meta", {}).get(META + "protocolVersion")
        if version != revision():
            raise Refused(-32022, "Unsupported protocol version", {"supported": [revision()], "requested": version})
        if method == "server/discover":
            return {"resultType": "complete", "supportedVersions": [revision()], "capabilities": {"tools": {}}}
        if method == "tasks/get":
            return get_task()
        if method == "tasks/update":
            keeps = 2 if args.bad == "keeps_question" else 0
            kept("task", {**kept("task"), "answers": params["inputResponses"], "keeps": keeps})
            return {"resultType": "complete"}
        if method == "tasks/cancel":
            kept("ended", params["taskId"])
            return {"resultType": "complete"}
    if method == "tools/list":
        return None if args.bad == "mute_list" and listed.is_set() else page(params)
    if method == "tools/call":
        return call(request, send, headers)
    raise Refused(-32601, "Method not found: " + method)


def reply(request, send, headers):
    try:
        result = answer(request, send, headers)
        if result is not None:
            send({"jsonrpc": "2.0", "id": request["id"], "result": result})
    except Refused as refused:
        send({"jsonrpc": "2.0", "id": request["id"], "error": refused.error})


def on_stdio():
    def send(message):
        with lock:
            sys.stdout.write(json.dumps(message) + "\n")
            sys.stdout.flush()
    for line in sys.stdin:
        if deaf.is_set():
            time.sleep(600)
        message = json.loads(line)
        if message.get("method") == "notifications/cancelled":
            cancelled.add(message["params"]["requestId"])
        if "id" in message and "method" in message:
            threading.Thread(target=reply, args=(message, send, {}), daemon=True).start()


class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            if message["method"] == "notifications/cancelled":
                cancelled.add(message["params"]["requestId"])
            return self.whole(202, b"")
        if "method" not in message:
            answered.append(message["id"])
            enough.wait(30)
            return self.whole(202, b"")
        if not legacy() and not self.headers_fit(message):
            return
        if self.fails_once(message):
            return
        if legacy() and message["method"] != "initialize" and self.headers["Mcp-Session-Id"] != session():
            if args.bad == "lost_400" or not self.headers["Mcp-Session-Id"]:
                error = {"code": -32000, "message": "Bad Request: No valid session ID provided"}
                return self.whole(400, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())
            return self.whole(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
        if message.get("params", {}).get("name") in ("steps", "slow", "cut", "open", "pings"):
            return self.stream(message)
        said = []
        reply(message, said.append, self.headers)
        status = 404 if said[-1].get("error", {}).get("code") == -32601 else 200
        status = 400 if said[-1].get("error", {}).get("code") == -32022 else status
        more = {"Mcp-Session-Id": session()} if message["method"] == "initialize" else {}
        self.whole(status, json.dumps(said[-1]).encode(), more)

    def fails_once(self, message):
        """The second look at a task, or the first answer to its question."""
        wanted = {"cut_look": ("tasks/get", 2), "busy_look": ("tasks/get", 2), "busy_update": ("tasks/update", 1)}
        method, at = wanted.get(args.bad, ("", 0))
        if message["method"] != method:
            return False
        times = (kept("times") or 0) + 1
        kept("times", times)
        if times != at:
            return False
        if args.bad == "cut_look":
            self.send_response(200)
            self.send_header("Content-Length", "100")
            self.end_headers()
            self.wfile.write(b"{")
            self.close_connection = True
        else:
            error = {"code": -32603, "message": "The database is away."}
            self.whole(503, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())
        return True

    def headers_fit(self, message):
        name = message["params"].get("name") or message["params"].get("taskId")
        wanted = {"Mcp-Method": message["method"], "MCP-Protocol-Version": revision(), "Mcp-Name": name}
        for header, value in wanted.items():
            if self.headers[header] != value:
                error = {"code": -32020, "message": f"Header mismatch: {header}"}
                self.whole(400, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode())
                return False
        return True

    def stream(self, message):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        def write(event):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()
        def send(one):
            write(f"data: {json.dumps(one)}\n\n".encode())
        try:
            if message["params"]["name"] == "cut":  # the reply comes on the stream by GET
                log_call(message["params"])
                rest[session()] = message["id"]
                write(b"id: 1\nretry: 50\ndata: \n\n")
                return write(b"")
            if message["params"]["name"] == "open":
                params = {**message["params"], "name": "echo", "arguments": {"text": "open"}}
                reply({**message, "params": params}, send, self.headers)
                while True:
                    write(b": still here\n\n")
                    time.sleep(0.05)
            if message["params"]["name"] == "slow":
                touch(".begun")
                for _ in range(0 if legacy() else 600):
                    write(b": still here\n\n")
                    time.sleep(0.05)
            reply(message, send, self.headers)
            write(b"")
        except OSError:
            with open(args.calls + ".cancelled", "w") as file:
                file.write("closed")
        self.close_connection = True

    def whole(self, status, body, more={}):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.headers["Last-Event-ID"] != "1":
            return self.whole(405, b"")
        if args.bad == "lost_stream":
            return self.whole(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
        message = {"jsonrpc": "2.0", "id": rest.pop(session()), "result": text("resumed")}
        body = f"id: 2\ndata: {json.dumps(message)}\n\n".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_DELETE(self):
        self.whole(200, b"")

    def log_message(self, *arguments):
        pass


def session():
    return open(args.calls + ".session").read() if os.path.exists(args.calls + ".session") else "s-1"


if args.http:
    http.server.ThreadingHTTPServer.request_queue_size = 128  # of 5, a crowd waits for seconds
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Door)
    with open(args.http + ".new", "w") as file:
        file.write(str(server.server_port))
    os.replace(args.http + ".new", args.http)
    server.serve_forever()
else:
    on_stdio()
