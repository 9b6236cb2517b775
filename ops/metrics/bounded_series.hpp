// Values by label set. Label sets beyond the bound share one value, labelled `other`. Finding an existing label set
// takes no lock, nor does finding that there is no room for a new one. Safe from any thread.
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

inline constexpr std::string_view other_label = "other";
inline constexpr std::size_t label_bytes_max = 200;  // a longer value counts as other

template <class Value, std::size_t count>
class BoundedSeries {
 public:
  using Labels = std::array<std::string_view, count>;

  // REQUIRES: bound > 0.
  explicit BoundedSeries(std::size_t bound) : bound_(bound), places_(place_count(bound)) {
    other_.labels.fill(std::string(other_label));
  }
  BoundedSeries(const BoundedSeries&) = delete;
  BoundedSeries& operator=(const BoundedSeries&) = delete;

  // The value of these labels, or that of `other` in each. Valid as long as the series.
  Value& of(const Labels& labels) {
    const std::size_t hash = hash_of(labels);
    const bool has_room =
        !has_no_room_.load(std::memory_order_acquire);  // read first: then all that had room are found
    if (Entry* found = find(labels, hash).load(std::memory_order_acquire)) return found->value;
    if (has_room && !is_other(labels)) return add(labels, hash);
    has_other_.store(true, std::memory_order_release);
    return other_.value;
  }

  // Calls `use` with the labels and value of each; `other` is the last, if anything was counted there.
  void each(const std::function<void(const std::array<std::string, count>&, const Value&)>& use) const {
    for (const std::atomic<Entry*>& place : places_)
      if (const Entry* entry = place.load(std::memory_order_acquire)) use(entry->labels, entry->value);
    if (has_other_.load(std::memory_order_acquire)) use(other_.labels, other_.value);
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

  // Too long to be kept, or the labels of what was not: two samples of the same labels would be no text of metrics.
  static bool is_other(const Labels& labels) {
    bool is_long = false, is_named_so = true;
    for (const std::string_view label : labels) {
      is_long = is_long || label.size() > label_bytes_max;
      is_named_so = is_named_so && label == other_label;
    }
    return is_long || is_named_so;
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
    if (entries_.size() >= bound_) {
      has_other_.store(true, std::memory_order_release);
      return other_.value;
    }
    Entry& added = entries_.emplace_back();
    for (std::size_t n = 0; n < count; ++n) added.labels[n] = labels[n];
    place.store(&added, std::memory_order_release);
    has_no_room_.store(entries_.size() >= bound_, std::memory_order_release);
    return added.value;
  }

  const std::size_t bound_;
  std::vector<std::atomic<Entry*>> places_;
  std::mutex adding_;
  std::deque<Entry> entries_;  // whose addresses stay
  Entry other_;
  std::atomic<bool> has_no_room_{false};
  std::atomic<bool> has_other_{false};  // something was counted there
};

}  // namespace cairn
