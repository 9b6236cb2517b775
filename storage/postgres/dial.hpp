// A connection of libpq that is made within a limit of time. libpq's own call blocks for each host and each of its
// addresses in turn, as long as `connect_timeout` says, and does not notice that it is waited for no more. Safe from
// any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/id.hpp"
#include "engine/result.hpp"

struct pg_conn;

namespace cairn {

struct DialLimits {
  TimeUs until_us = never_us;                      // by steady_us(): no host is waited for any longer
  const std::atomic<bool>* is_given_up = nullptr;  // once true, none is
};

struct CloseConnection {
  void operator()(pg_conn* connection) const;
};
using DialledConnection = std::unique_ptr<pg_conn, CloseConnection>;

// libpq's settings, by keyword; a later one wins, also over those of a DSN that stands in place of "dbname". Each
// address has the time of its `connect_timeout`, or its share of what is left until `until_us`, if that is less: hosts
// that say nothing do not take the time of those after them. Refuses `unavailable`, with libpq's text and the silent
// hosts. Throws std::bad_alloc.
Result<DialledConnection> dial(const std::vector<std::pair<std::string, std::string>>& settings,
                               const DialLimits& limits);

}  // namespace cairn
