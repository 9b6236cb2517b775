#include "tests/ops/hooks/receiver.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "tests/ops/free_port.hpp"

namespace cairn::program {
namespace {

const std::string receiver_program = R"(
import base64, collections, hashlib, hmac, http.server, json, sys, threading, time
port, notes, mode, secret = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]
key = base64.b64decode(secret.removeprefix("whsec_"))
seen, lock = collections.Counter(), threading.Lock()
def note(**fields):
    with lock, open(notes, "a") as file:
        file.write(json.dumps({"at": time.monotonic(), **fields}) + "\n")
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        id, sent = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        wanted = hmac.new(key, f"{id}.{sent}.".encode() + body, hashlib.sha256).digest()
        given = (self.headers["webhook-signature"] or "").split()
        good = "v1," + base64.b64encode(wanted).decode() in given and abs(time.time() - int(sent)) < 300
        note(id=id, body=json.loads(body), type=self.headers["content-type"], verified=good, arrived=True)
        with lock:
            nth = seen[id]
            seen[id] += 1
        answers = json.load(open(mode))
        answer = answers[min(nth, len(answers) - 1)]
        if answer == "cut":
            return self.connection.close()
        time.sleep(0.02)
        body = b"x" * 100000 if answer == "long" else b""
        if answer == "long":
            answer = 200
        note(id=id, status=answer, verified=good)
        self.send_response(answer)
        if answer == 503:
            self.send_header("retry-after", "1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *words):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
print("ready", flush=True)
server.serve_forever()
)";

std::string noting_file(const std::string& what, const std::string& port) {
  return directory() / ("receiver_" + what + "_" + port);
}

}  // namespace

Receiver::Receiver()
    : port_(free_port()),
      notes_(noting_file("notes", port_)),
      mode_(write_file("receiver_mode_" + port_, "[204]").string()),
      process_("/usr/bin/env",
               {"python3", write_file("receiver.py", receiver_program), port_, notes_, mode_, receiver_secret}) {
  EXPECT_TRUE(wait_until([&] { return process_.out() == "ready\n"; })) << process_.err();
}

void Receiver::answer_with(const Json& statuses) const {
  const std::filesystem::path fresh = write_file("receiver_mode_new_" + port_, statuses.dump());
  std::filesystem::rename(fresh, mode_);
}

std::vector<Receiver::Noted> Receiver::noted() const {
  std::vector<Noted> all;
  if (!std::filesystem::exists(notes_)) return all;
  std::istringstream lines(read_file(notes_));
  for (std::string line; std::getline(lines, line) && !lines.eof();) {
    const Json one = Json::parse(line);
    all.push_back({one.at("at"), one.at("id"), !one.contains("arrived"), one.value("status", 0), one.at("verified"),
                   one.value("type", ""), one.value("body", Json())});
  }
  return all;
}

std::vector<Receiver::Noted> Receiver::answers() const {
  std::vector<Noted> all;
  for (const Noted& one : noted())
    if (one.is_answer && one.status / 100 == 2) all.push_back(one);
  return all;
}

std::vector<std::string> Receiver::delivered() const {
  std::vector<std::string> ids;
  for (const Noted& one : answers())
    if (std::find(ids.begin(), ids.end(), one.id) == ids.end()) ids.push_back(one.id);
  return ids;
}

bool Receiver::has_delivered(std::size_t count) const {
  return wait_until([&] { return delivered().size() >= count; });
}

std::string receiver_tools() {
  return write_file("receiver_tools.json", R"({"tools": {}, "secrets": {"HOOK": {"env": "HOOK_SECRET"}}})").string();
}

}  // namespace cairn::program
