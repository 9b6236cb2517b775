// The pages of one consumer, one after another; the next one is read while the caller uses the one before. Used by one
// thread.
#pragma once

#include <future>
#include <optional>
#include <string>
#include <utility>

#include "storage/feed/feed.hpp"

namespace cairn {

class FeedPages {
 public:
  // `cursor`: "" for the consumer's place. `feed` outlives it.
  FeedPages(Feed& feed, std::string name, std::string cursor)
      : feed_(feed), name_(std::move(name)), cursor_(std::move(cursor)) {}

  // The page after the one before; `next_limit` is that of the call after this one, 0: there is none. Refuses and
  // throws as Feed::page.
  Result<FeedPage> next(std::int32_t limit, std::int32_t next_limit) {
    Result<FeedPage> page = ahead_.valid() ? ahead_.get() : feed_.page(name_, cursor_, limit);
    if (!page) return page;
    cursor_ = to_text(page->cursor);
    if (!page->is_last && next_limit > 0)
      ahead_ = std::async(std::launch::async,
                          [this, next_limit, after = cursor_] { return feed_.page(name_, after, next_limit); });
    return page;
  }

 private:
  Feed& feed_;
  const std::string name_;
  std::string cursor_;
  std::future<Result<FeedPage>> ahead_;
};

}  // namespace cairn
