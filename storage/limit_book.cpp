#include "storage/limit_book.hpp"

namespace cairn {

LimitBook& limit_book(Store& store) {
  auto* keeper = dynamic_cast<KeepsLimits*>(&store);
  CHECK(keeper != nullptr);
  return keeper->book;
}

}  // namespace cairn
