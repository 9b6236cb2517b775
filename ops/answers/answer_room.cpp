#include "ops/answers/answer_room.hpp"

#include <algorithm>

namespace cairn {

bool AnswerRoom::take_bytes(std::size_t bytes) {
  const bool fits = bytes <= left_;
  left_ = fits ? left_ - bytes : 0;
  return fits;
}

bool AnswerRoom::take(const Json& value) {
  constexpr std::size_t bytes_of_small = 8;
  if (value.is_string()) return take_bytes(bytes_of_small + value.get_ref<const std::string&>().size());
  if (!take_bytes(bytes_of_small)) return false;
  if (value.is_array()) return std::all_of(value.begin(), value.end(), [this](const Json& part) { return take(part); });
  if (!value.is_object()) return true;
  const auto& fields = value.get_ref<const Json::object_t&>();
  return std::all_of(fields.begin(), fields.end(),
                     [this](const auto& field) { return take_bytes(field.first.size()) && take(field.second); });
}

}  // namespace cairn
