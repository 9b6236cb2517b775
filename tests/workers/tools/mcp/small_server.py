"""A small server of the Model Context Protocol, for tests: small_server.py [--legacy] [--http FILE] [--calls FILE]
[--bad HOW]. On stdin and stdout, or over HTTP at a port that it writes into FILE. Each call is a line in the file of
--calls: its tool, arguments and key. Tasks and their answers are kept in files beside that one, so that they outlive
the process."""
import argparse, base64, http.server, json, os, sys, threading, time

args = argparse.ArgumentParser()
args.add_argument("--legacy", action="store_true")
args.add_argument("--http", default="")
args.add_argument("--calls", default="")
args.add_argument("--bad", default="")
args = args.parse_args()
REVISION = "2025-11-25" if args.legacy else "2026-07-28"
META = "io.modelcontextprotocol/"
lock = threading.Lock()
cancelled = set()
rest = {}  # ids of requests whose streams were cut

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
STATE = "state-7" + os.environ.get("TOKEN", "")
FORM = {"type": "object", "properties": {"name": {"type": "string", "default": "Nemo"}}, "required": ["name"]}


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
    if not task:
        raise Refused(-32602, "There is no such task.")
    if task["tool"] == "late" and not task.get("answers"):
        return task_json({"resultType": "complete", "status": "input_required", "inputRequests": {
            "who": {"method": "elicitation/create", "params": {"message": "Who is it?", "requestedSchema": FORM}}}})
    if os.path.exists(args.calls + ".go") or task["tool"] == "late":
        said = "after a while" if task["tool"] == "task" else "hello " + str(task["answers"]["who"].get("content"))
        return task_json({"resultType": "complete", "status": "completed", "result": text(said)})
    return task_json({"resultType": "complete", "status": "working", "statusMessage": "half done"})


def call(request, send, headers):
    params = request["params"]
    name, arguments, meta = params["name"], params.get("arguments", {}), params.get("_meta", {})
    if args.calls and "inputResponses" not in params:
        with lock, open(args.calls, "a") as file:
            print(json.dumps({"tool": name, "arguments": arguments, "key": meta.get("cairn/key")}), file=file)
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
        if args.legacy:
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
    return result


def answer(request, send, headers):
    method, params = request["method"], request.get("params", {})
    if args.legacy:
        if method == "initialize":
            return {"protocolVersion": REVISION, "capabilities": {"tools": {"listChanged": True}},
                    "serverInfo": {"name": "small", "version": "1"}}
    else:
        version = params.get("_meta", {}).get(META + "protocolVersion")
        if version != REVISION:
            raise Refused(-32022, "Unsupported protocol version", {"supported": [REVISION], "requested": version})
        if method == "server/discover":
            return {"resultType": "complete", "supportedVersions": [REVISION], "capabilities": {"tools": {}}}
        if method == "tasks/get":
            return get_task()
        if method == "tasks/update":
            kept("task", {**kept("task"), "answers": params["inputResponses"]})
            return {"resultType": "complete"}
        if method == "tasks/cancel":
            kept("ended", params["taskId"])
            return {"resultType": "complete"}
    if method == "tools/list":
        return page(params)
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
        if not args.legacy and not self.headers_fit(message):
            return
        if args.legacy and message["method"] != "initialize" and self.headers["Mcp-Session-Id"] != session():
            return self.whole(404, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}')
        if message.get("params", {}).get("name") in ("steps", "slow", "cut", "open"):
            return self.stream(message)
        said = []
        reply(message, said.append, self.headers)
        status = 404 if said[-1].get("error", {}).get("code") == -32601 else 200
        status = 400 if said[-1].get("error", {}).get("code") == -32022 else status
        more = {"Mcp-Session-Id": session()} if message["method"] == "initialize" else {}
        self.whole(status, json.dumps(said[-1]).encode(), more)

    def headers_fit(self, message):
        name = message["params"].get("name") or message["params"].get("taskId")
        wanted = {"Mcp-Method": message["method"], "MCP-Protocol-Version": REVISION, "Mcp-Name": name}
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
                for _ in range(0 if args.legacy else 600):
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
