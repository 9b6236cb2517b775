#include "tests/ops/clients/odd_server.hpp"

#include <gtest/gtest.h>
#include <sstream>

#include "tests/ops/free_port.hpp"

namespace cairn::program {
namespace {

const std::string odd_server = R"(
import http.server, json, sys, time
port, notes, how, away = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
count = 0
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def answer(self):
        global count
        count += 1
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        with open(notes, "a") as file:
            file.write(json.dumps([time.monotonic(), json.loads(body or "null")]) + "\n")
        if count <= away and how in ("cut", "late"):
            time.sleep(1 if how == "late" else 0)
            self.close_connection = True
            self.connection.close()
            return
        body = b'{"run": "r", "status": "done", "seq": 1}'
        self.send_response(503 if count <= away else 200)
        self.send_header("retry-after", "1")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = answer
    def log_message(self, *words):
        pass
server = http.server.HTTPServer(("127.0.0.1", port), Handler)
print("ready", flush=True)
server.serve_forever()
)";

}  // namespace

OddServer::OddServer(const std::string& how, int times)
    : port_(free_port()),
      notes_(directory() / ("odd_" + port_)),
      process_("/usr/bin/env",
               {"python3", write_file("odd_server.py", odd_server), port_, notes_, how, std::to_string(times)}) {
  EXPECT_TRUE(wait_until([&] { return process_.out() == "ready\n"; })) << process_.err();
}

std::vector<OddServer::Noted> OddServer::noted() const {
  std::istringstream lines(read_file(notes_));
  std::vector<Noted> all;
  for (std::string line; std::getline(lines, line);) {
    const Json one = Json::parse(line);
    all.push_back({one.at(0), one.at(1)});
  }
  return all;
}

}  // namespace cairn::program
