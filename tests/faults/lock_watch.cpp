#include "tests/faults/lock_watch.hpp"

#include <chrono>
#include <exception>

#include "storage/postgres/connection.hpp"
#include "tests/waiting.hpp"

namespace cairn::program {
namespace {

// A backend waits for one lock at a time, and the server notes since when.
const PgStatement longest_wait = {"longest_wait", R"(
  select (extract(epoch from clock_timestamp() - l.waitstart) * 1000000)::bigint,
         l.locktype || ' ' || l.mode || coalesce(' of ' || l.relation::regclass::text, '') ||
         ' in ' || left(coalesce(a.query, ''), 200)
  from pg_locks l join pg_stat_activity a on a.pid = l.pid
  where not l.granted and l.waitstart is not null and coalesce(a.application_name, '') <> 'cairn migrate'
  order by 1 desc limit 1)"};

}  // namespace

LockWatch::LockWatch(std::string dsn) : dsn_(std::move(dsn)), thread_([this] { look_again_and_again(); }) {
  test::wait_until([this] { return looks_ > 0 || is_over_; });
}

LockWatch::~LockWatch() { stop(); }

LockWatch::Seen LockWatch::stop() {
  is_over_ = true;
  if (thread_.joinable()) thread_.join();
  seen_.looks = looks_;
  return seen_;
}

void LockWatch::look_again_and_again() {
  try {
    PgConnection connection({dsn_, "lock watch", false});
    while (!is_over_) {
      const PgResult rows = connection.query(longest_wait);
      if (rows.rows() > 0 && rows.int8(0, 0) > seen_.longest_us) {
        seen_.longest_us = rows.int8(0, 0);
        seen_.longest = rows.text(0, 1);
      }
      ++looks_;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  } catch (const std::exception& failure) {
    seen_.fault = failure.what();
    is_over_ = true;
  }
}

}  // namespace cairn::program
