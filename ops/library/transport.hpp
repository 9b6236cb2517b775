// The way of a client's requests to the API: over HTTP, or within the process. Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ops/library/library.hpp"

namespace cairn::library {

using Query = std::vector<std::pair<std::string, std::string>>;

struct Asked {
  std::string method;
  std::vector<std::string> path;  // below /api/v1
  Query query = {};
  std::string body = {};
  bool is_repeatable = true;  // a second one has no other effect
  std::chrono::milliseconds timeout{30'000};
};

struct Answered {
  int status = 0;
  std::string body;
  std::map<std::string, std::string> headers;  // names in lower case
};

struct Transport {
  // An answer of the API, whatever its status. Throws Unavailable.
  std::function<Answered(const Asked& asked)> exchange;
  // The events of a run after one, as a stream of server-sent events, piece by piece, until it ends or breaks. Throws
  // what `on_more` throws; Unavailable: the stream did not begin. The answer's body is there if its status is not 200.
  using OnMore = std::function<void(std::string_view more)>;
  std::function<Answered(const std::string& run, std::int64_t after, const OnMore& on_more)> stream;
};

// The transport of an object with these two functions.
template <class Way>
std::unique_ptr<Transport> transport_of(std::shared_ptr<Way> way) {
  return std::make_unique<Transport>(
      Transport{[way](const Asked& asked) { return way->exchange(asked); },
                [way](const std::string& run, std::int64_t after, const Transport::OnMore& on_more) {
                  return way->stream(run, after, on_more);
                }});
}

}  // namespace cairn::library
