#include "storage/hooks/hook_rows.hpp"

#include <algorithm>
#include <array>

namespace cairn {
namespace {

constexpr std::array<std::string_view, 5> kind_words = {"finished", "waits", "budget", "stalled", "test"};
constexpr std::array<std::string_view, 5> status_words = {"waiting", "delivered", "parked", "skipped", "gone"};

template <class Enum, std::size_t count>
std::optional<Enum> parse_word(const std::array<std::string_view, count>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

}  // namespace

std::string_view to_string(NoticeKind kind) { return kind_words.at(static_cast<std::size_t>(kind)); }
std::optional<NoticeKind> parse_notice_kind(std::string_view word) { return parse_word<NoticeKind>(kind_words, word); }

std::string_view to_string(DeliveryStatus status) { return status_words.at(static_cast<std::size_t>(status)); }
std::optional<DeliveryStatus> parse_delivery_status(std::string_view word) {
  return parse_word<DeliveryStatus>(status_words, word);
}

}  // namespace cairn
