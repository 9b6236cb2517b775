// An Administration that several threads share: opened at the first use, and again after one that failed. Safe from any
// thread (one lock).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "engine/result.hpp"
#include "storage/postgres/administration.hpp"
#include "storage/postgres/connection.hpp"

namespace cairn {

class SharedAdministration {
 public:
  // `dsn` is called at each connecting; if it refuses, so does the use that needed it. `what` is reached with it: "the
  // tokens".
  SharedAdministration(std::function<Result<std::string>()> dsn, std::string application, std::string what,
                       std::int64_t limit_ms)
      : dsn_(std::move(dsn)), application_(std::move(application)), what_(std::move(what)), limit_ms_(limit_ms) {}

  // `work` is given the Administration and returns a Result. A PostgresError of it is refused as `unavailable`.
  template <class Work>
  auto use(Work&& work) -> decltype(work(std::declval<Administration&>())) {
    const std::lock_guard lock(mutex_);
    try {
      if (!database_) {
        const Result<std::string> found = dsn_();
        if (!found) return found.error();
        database_ = std::make_unique<Administration>(*found, application_, limit_ms_);
      }
      return work(*database_);
    } catch (const PostgresError& failure) {
      database_.reset();
      return Error{Code::unavailable, "Expected to reach " + what_ + ", but: " + failure.what()};
    }
  }

 private:
  const std::function<Result<std::string>()> dsn_;
  const std::string application_;
  const std::string what_;
  const std::int64_t limit_ms_;
  std::mutex mutex_;
  std::unique_ptr<Administration> database_;
};

}  // namespace cairn
