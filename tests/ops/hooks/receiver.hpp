// A receiver of hooks in Python, which verifies signatures by its own means (the module hmac) and notes each request
// when it arrives and when it has answered. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "tests/ops/program.hpp"

namespace cairn::program {

class Receiver {
 public:
  struct Noted {
    double at_s = 0;  // of a monotonic clock
    std::string id;
    bool is_answer = false;  // else: it has arrived
    int status = 0;          // of an answer
    bool is_verified = false;
    std::string type;  // the header content-type
    Json body;
  };

  Receiver();
  std::string url() const { return "http://127.0.0.1:" + port_ + "/in"; }
  // Answers of requests with one id, in turn; the last one stays. "cut": none comes; "long": 200 with 100,000 bytes.
  void answer_with(const Json& statuses) const;

  std::vector<Noted> noted() const;
  std::vector<Noted> answers() const;           // with status 2xx
  std::vector<std::string> delivered() const;   // their ids, each once, in the order of the first
  bool has_delivered(std::size_t count) const;  // waits until there are so many

 private:
  const std::string port_, notes_, mode_;
  const Beside process_;
};

inline const std::string receiver_secret = "whsec_c29tZSBzZWNyZXQgb2YgYSB0ZXN0";
// A tools file with that secret, by the name HOOK.
std::string receiver_tools();

}  // namespace cairn::program
