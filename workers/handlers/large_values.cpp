#include "workers/handlers/large_values.hpp"

#include "engine/json_scan.hpp"
#include "storage/chain.hpp"

namespace cairn {
namespace {

// At most the length of the value's text, and enough to recognise small ones without writing them.
bool may_exceed(const Json& value, std::size_t& left) {
  const auto take = [&left](std::size_t bytes) {
    const bool enough = bytes <= left;
    left = enough ? left - bytes : 0;
    return !enough;
  };
  if (value.is_string()) return take(2 + 6 * value.get_ref<const std::string&>().size());
  if (!value.is_structured()) return take(24);
  if (take(2)) return true;
  if (value.is_array()) {
    for (const Json& part : value)
      if (take(1) || may_exceed(part, left)) return true;
    return false;
  }
  for (const auto& [key, part] : value.items())
    if (take(4 + 6 * key.size()) || may_exceed(part, left)) return true;
  return false;
}

bool is_small(const Json& value) {
  std::size_t left = inline_bytes_max;
  return !may_exceed(value, left);
}

void move_bytes(Json& value, std::string bytes, std::vector<Blob>& blobs) {
  const Hash hash = sha256(bytes);
  value = {{"$blob", hex(hash)}, {"bytes", bytes.size()}};
  blobs.push_back({hash, std::move(bytes)});
}

std::optional<Hash> blob_of(const Json& value) {
  if (!value.is_object() || value.size() != 2 || !value.contains("bytes")) return std::nullopt;
  const auto found = value.find("$blob");
  if (found == value.end() || !found->is_string()) return std::nullopt;
  return parse_hash(found->get_ref<const std::string&>());
}

// A foreign value in the form of a reference would be read as one, perhaps of another run. It is moved out whatever its
// size, because values that are put back are not searched for references.
void move_foreign(Json& value, std::vector<Blob>& blobs) {
  if (!value.is_structured()) return;
  if (blob_of(value)) return move_bytes(value, canonical(value), blobs);
  for (Json& part : value) move_foreign(part, blobs);
}

Status move_value(Json& value, std::vector<Blob>& blobs) {
  std::string bytes = is_small(value) ? std::string() : canonical(value);
  if (bytes.size() > json_bytes_max)
    return Error{Code::limit, "Expected a value of at most " + std::to_string(json_bytes_max) + " bytes, but found " +
                                  std::to_string(bytes.size()) + "."};
  if (bytes.size() > inline_bytes_max)
    move_bytes(value, std::move(bytes), blobs);
  else
    move_foreign(value, blobs);
  return Done{};
}

class BlobReplacement {
 public:
  BlobReplacement(const ReadBlob& read, std::size_t bytes_max) : read_(read), left_(bytes_max) {}

  // `levels`: the arrays and objects around the value.
  void apply(Json& value, int levels = 0) {
    if (!value.is_structured()) return;
    const std::optional<Hash> hash = blob_of(value);
    if (!hash) {
      for (Json& part : value) apply(part, levels + 1);
      return;
    }
    if (left_ == 0) return;
    const BlobText bytes = read_(*hash);
    if (bytes == nullptr) return;
    if (levels + levels_of(*bytes) > json_depth_max) {
      is_too_deep_ = true;
      return;
    }
    const bool fits = bytes->size() <= left_;
    left_ = fits ? left_ - bytes->size() : 0;
    if (fits) value = parse_stored(*bytes);
  }

  Status status() const {
    if (is_too_deep_)
      return Error{Code::limit, "Expected values of at most " + std::to_string(json_depth_max) +
                                    " levels, but a large value that is put back makes more."};
    if (left_ > 0) return Done{};
    return Error{Code::limit, "Expected large values of at most " + std::to_string(composed_bytes_max) +
                                  " bytes together, but there are more."};
  }

 private:
  const ReadBlob& read_;
  std::size_t left_;
  bool is_too_deep_ = false;
};

}  // namespace

Status move_out(Json& fields, const Graph* graph, std::vector<Blob>& blobs) {
  if (!fields.is_object()) return Done{};
  if (blob_of(fields))
    return Error{Code::invalid, "Expected fields, but found what stands for a large value: " + fields.dump() + "."};
  if (const int levels = depth_of(fields); levels > json_depth_max)  // a reference hides them from all who look later
    return Error{Code::limit, "Expected a value of at most " + std::to_string(json_depth_max) + " levels, but found " +
                                  std::to_string(levels) + "."};
  for (auto& [name, value] : fields.items()) {
    const Reducer reducer = graph == nullptr ? Reducer::last : graph->reducer(name);
    const bool is_mapped = graph != nullptr && graph->mapped.contains(name);
    const bool in_parts = ((reducer == Reducer::append || is_mapped) && value.is_array()) ||
                          (reducer == Reducer::merge && value.is_object());
    if (!in_parts) {
      if (Status moved = move_value(value, blobs); !moved) return moved;
      continue;
    }
    for (Json& part : value)
      if (Status moved = move_value(part, blobs); !moved) return moved;
  }
  return Done{};
}

Status move_out(std::vector<Fact>& facts, std::vector<Blob>& blobs) {
  for (Fact& fact : facts) {
    if (auto* opened = std::get_if<SubGoalOpened>(&fact)) move_foreign(opened->inputs, blobs);
    auto* record = std::get_if<Record>(&fact);
    if (record == nullptr) continue;
    if (record->fields.size() <= inline_bytes_max && record->fields.find("\"$blob\"") == std::string::npos) continue;
    Json fields = parse_stored(record->fields);
    if (Status moved = move_out(fields, nullptr, blobs); !moved) return moved;
    record->fields = canonical(fields);
  }
  return Done{};
}

std::size_t find_blobs(const Json& value, std::vector<Hash>& hashes) {
  if (!value.is_structured()) return 0;
  if (const std::optional<Hash> hash = blob_of(value)) {
    hashes.push_back(*hash);
    const Json& bytes = value["bytes"];
    return bytes.is_number_unsigned() ? bytes.get<std::size_t>() : 0;
  }
  std::size_t bytes = 0;
  for (const Json& part : value) bytes += find_blobs(part, hashes);
  return bytes;
}

BlobText blob_text(std::optional<std::string> bytes) {
  return bytes ? std::make_shared<const std::string>(*std::move(bytes)) : nullptr;
}

Status put_back(const std::vector<Json*>& values, const ReadBlob& read, std::size_t bytes_max) {
  BlobReplacement replacement(read, bytes_max);
  for (Json* value : values) replacement.apply(*value);
  return replacement.status();
}

}  // namespace cairn
