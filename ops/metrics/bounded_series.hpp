// Counted values by labels, as many label sets as a bound allows: what comes after that is counted as "other". Counting
// what is there already takes no lock, so that the hot path may count. Safe from any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

inline constexpr std::size_t label_bytes_max = 200;  // a longer value counts as "other"

template <class Value, std::size_t count>
class BoundedSeries {
 public:
  using Labels = std::array<std::string_view, count>;

  // REQUIRES: bound > 0.
  explicit BoundedSeries(std::size_t bound) : bound_(bound), places_(place_count(bound)) {
    other_.labels.fill("other");
  }
  BoundedSeries(const BoundedSeries&) = delete;
  BoundedSeries& operator=(const BoundedSeries&) = delete;

  // The value of these labels, or that of "other" in each. Valid as long as the series.
  Value& of(const Labels& labels) {
    const std::size_t hash = hash_of(labels);
    if (Entry* found = find(labels, hash).load(std::memory_order_acquire)) return found->value;
    return add(labels, hash);
  }

  // Calls `use` with the labels and value of each; "other" is the last, if anything was counted there.
  void each(const std::function<void(const std::array<std::string, count>&, const Value&)>& use) const {
    for (const std::atomic<Entry*>& place : places_)
      if (const Entry* entry = place.load(std::memory_order_acquire)) use(entry->labels, entry->value);
    if (is_full_.load(std::memory_order_acquire)) use(other_.labels, other_.value);
  }

 private:
  struct Entry {
    std::array<std::string, count> labels;
    Value value{};
  };

  // A power of two, at least four times the bound: a search soon meets an empty place.
  static std::size_t place_count(std::size_t bound) {
    std::size_t places = 4;
    while (places < 4 * bound) places *= 2;
    return places;
  }

  static std::size_t hash_of(const Labels& labels) {
    std::size_t hash = 0;
    for (const std::string_view label : labels) hash = hash * 1'000'003 + std::hash<std::string_view>()(label);
    return hash;
  }

  static bool is_of(const Entry& entry, const Labels& labels) {
    for (std::size_t n = 0; n < count; ++n)
      if (entry.labels[n] != labels[n]) return false;
    return true;
  }

  // The place of these labels, or the empty one where they would go.
  std::atomic<Entry*>& find(const Labels& labels, std::size_t hash) {
    for (std::size_t at = hash;; ++at) {
      std::atomic<Entry*>& place = places_[at & (places_.size() - 1)];
      const Entry* entry = place.load(std::memory_order_acquire);
      if (entry == nullptr || is_of(*entry, labels)) return place;
    }
  }

  Value& add(const Labels& labels, std::size_t hash) {
    const std::lock_guard lock(adding_);
    std::atomic<Entry*>& place = find(labels, hash);
    if (Entry* meanwhile = place.load(std::memory_order_relaxed)) return meanwhile->value;
    bool is_long = false;
    for (const std::string_view label : labels) is_long = is_long || label.size() > label_bytes_max;
    if (is_long || entries_.size() >= bound_) {
      is_full_.store(true, std::memory_order_release);
      return other_.value;
    }
    Entry& added = entries_.emplace_back();
    for (std::size_t n = 0; n < count; ++n) added.labels[n] = labels[n];
    place.store(&added, std::memory_order_release);
    return added.value;
  }

  const std::size_t bound_;
  std::vector<std::atomic<Entry*>> places_;
  std::mutex adding_;
  std::deque<Entry> entries_;  // whose addresses stay
  Entry other_;
  std::atomic<bool> is_full_{false};
};

}  // namespace cairn
