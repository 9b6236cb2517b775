#include "engine/codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "engine/event_fields.hpp"
#include "engine/event_types.hpp"
#include "engine/json_scan.hpp"

namespace cairn {
namespace {

// --- writing ---------------------------------------------------------------------------------------------------------
std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Appends an object's members in the order of the calls. An absent one is left out.
class Writer {
 public:
  explicit Writer(std::string& text) : text_(text) { text_ += '{'; }
  void close() { text_ += '}'; }

  template <class T>
  void operator()(const char* key, const T& value) {
    begin(key);
    put(value);
  }
  void json(const char* key, const Json& value) {
    begin(key);
    text_ += dumped(value);
  }
  void raw(const char* key, const JsonText& value) {
    begin(key);
    text_ += value;
  }
  template <class T>
  void unless_empty(const char* key, const T& value) {
    if (value != T{}) (*this)(key, value);
  }
  void json_if(const char* key, const std::optional<Json>& value) {
    if (value) json(key, *value);
  }
  void raw_if(const char* key, const std::optional<JsonText>& value) {
    if (value) raw(key, *value);
  }
  template <class T>
  void present(const char* key, const std::optional<T>& value) {
    if (value) (*this)(key, *value);
  }
  void word_if(const char* key, std::string_view word, bool is_set) {
    if (is_set) (*this)(key, std::string(word));
  }

 private:
  void begin(const char* key) {
    if (text_.back() != '{') text_ += ',';
    text_ += '"';
    text_ += key;
    text_ += "\":";
  }

  void put(const std::string& value) {
    if (!is_plain(value)) {
      text_ += dumped(value);
      return;
    }
    text_ += '"';
    text_ += value;
    text_ += '"';
  }
  void put(std::integral auto value) {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    text_.append(digits.data(), end);
  }
  void put(RunStatus value) { put(std::string(to_string(value))); }
  void put(GoalStatus value) { put(std::string(to_string(value))); }
  void put(const RunId& value) { put(to_string(value)); }
  template <class T>
  void put(const std::vector<T>& values) {
    text_ += '[';
    for (const T& value : values) {
      if (&value != values.data()) text_ += ',';
      put(value);
    }
    text_ += ']';
  }
  template <class T>
  void put(const std::map<std::string, T>& values) {
    text_ += '{';
    for (const auto& [key, value] : values) {
      if (text_.back() != '{') text_ += ',';
      put(key);
      text_ += ':';
      put(value);
    }
    text_ += '}';
  }
  template <class T>
  requires std::is_class_v<T>
  void put(const T& object) {
    Writer writer(text_);
    event_fields(writer, object);
    writer.close();
  }

  std::string& text_;
};

// --- reading ---------------------------------------------------------------------------------------------------------
struct NotOne {  // a payload that is none of its type; never leaves decode_payload
  std::string says;
};

// Takes an object's members by name; in the order they were written, each is the next one.
class Reader {
 public:
  explicit Reader(std::string_view text) : members_(members_in(text)) {}

  void close() const {
    if (taken_ != members_.size()) throw NotOne{"it has " + std::to_string(members_.size() - taken_) + " other fields"};
  }

  template <class T>
  void operator()(const char* key, T& value) {
    get(key, needed(key), value);
  }
  void json(const char* key, Json& value) { value = parsed(needed(key)); }
  void raw(const char* key, JsonText& value) { value = needed(key).text; }
  template <class T>
  void unless_empty(const char* key, T& value) {
    if (JsonMember* member = find(key)) get(key, *member, value);
  }
  void json_if(const char* key, std::optional<Json>& value) {
    if (JsonMember* member = find(key)) value = parsed(*member);
  }
  void raw_if(const char* key, std::optional<JsonText>& value) {
    if (const JsonMember* member = find(key)) value = JsonText(member->text);
  }
  template <class T>
  void present(const char* key, std::optional<T>& value) {
    if (JsonMember* member = find(key)) get(key, *member, value.emplace());
  }
  void word_if(const char* key, std::string_view word, bool& is_set) {
    JsonMember* member = find(key);
    if (member == nullptr) return;
    std::string found;
    get(key, *member, found);
    if (found != word) throw wrong(key);
    is_set = true;
  }

 private:
  static std::vector<JsonMember> members_in(std::string_view text) {
    Result<std::vector<JsonMember>, NoObject> members = members_of(text);
    if (!members) throw NotOne{std::string(members.error().says)};
    return *std::move(members);
  }

  JsonMember* find(std::string_view key) {
    if (next_ >= members_.size() || members_[next_].key != key) {
      const auto found =
          std::find_if(members_.begin(), members_.end(), [&](const JsonMember& one) { return one.key == key; });
      if (found == members_.end()) return nullptr;
      next_ = static_cast<std::size_t>(found - members_.begin());
    }
    ++taken_;
    return &members_[next_++];
  }
  JsonMember& needed(const char* key) {
    JsonMember* member = find(key);
    if (member == nullptr) throw NotOne{std::string("it has no \"") + key + "\""};
    return *member;
  }
  static NotOne wrong(const char* key) { return {std::string("its \"") + key + "\" is of another kind"}; }

  static Json parsed(const JsonMember& member) {
    if (!member.scalar.is_discarded()) return member.scalar;
    if (std::optional<Json> plain = read_plain_json(member.text)) return *std::move(plain);
    Json value = Json::parse(member.text, nullptr, false);
    if (value.is_discarded()) throw NotOne{"its \"" + member.key + "\" is not JSON"};
    return value;
  }

  void get(const char* key, JsonMember& member, std::string& value) {
    if (!member.scalar.is_string()) throw wrong(key);
    value = std::move(member.scalar.get_ref<std::string&>());
  }
  void get(const char* key, const JsonMember& member, std::integral auto& value) {
    using Integer = std::remove_reference_t<decltype(value)>;
    if (!member.scalar.is_number_integer()) throw wrong(key);
    const auto found = member.scalar.get<std::int64_t>();
    if (!std::in_range<Integer>(found) || (member.scalar.is_number_unsigned() && found < 0)) throw wrong(key);
    value = static_cast<Integer>(found);
  }
  void get(const char* key, JsonMember& member, RunId& value) {
    std::string text;
    get(key, member, text);
    const auto id = parse_run_id(text);
    if (!id) throw wrong(key);
    value = *id;
  }
  void get(const char* key, JsonMember& member, RunStatus& value) {
    std::string word;
    get(key, member, word);
    const auto status = parse_run_status(word);
    if (!status) throw wrong(key);
    value = *status;
  }
  void get(const char* key, JsonMember& member, GoalStatus& value) {
    std::string word;
    get(key, member, word);
    const auto status = parse_goal_status(word);
    if (!status) throw wrong(key);
    value = *status;
  }
  template <class T>
  void get(const char* key, const JsonMember& member, std::vector<T>& values) {
    if (!member.text.starts_with('[')) throw wrong(key);
    Json list = parsed(member);
    for (Json& element : list) {
      JsonMember one = whole(element);
      get(key, one, values.emplace_back());
    }
  }
  template <class T>
  void get(const char* key, const JsonMember& member, std::map<std::string, T>& values) {
    if (!member.text.starts_with('{')) throw wrong(key);
    Json map = parsed(member);
    for (auto& [name, element] : map.get_ref<Json::object_t&>()) {
      JsonMember one = whole(element);
      get(key, one, values[name]);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(const char* key, const JsonMember& member, T& object) {
    if (!member.text.starts_with('{')) throw wrong(key);
    Reader reader(member.text);
    event_fields(reader, object);
    reader.close();
  }
  JsonMember whole(Json& element) {
    if (!element.is_structured()) return {"", std::move(element), {}};
    kept_.push_back(std::make_unique<std::string>(element.dump()));
    return {"", Json(Json::value_t::discarded), *kept_.back()};
  }

  std::vector<JsonMember> members_;
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
  std::vector<std::unique_ptr<std::string>> kept_;  // texts of elements of lists
};

// --- by type ---------------------------------------------------------------------------------------------------------
template <class Body>
std::string encoded(const Body& body) {
  std::string text;
  text.reserve(512);
  Writer writer(text);
  event_fields(writer, body);
  writer.close();
  return text;
}
std::string encoded(const Record& record) { return record.fields; }

template <class Body>
EventBody decoded(std::string_view payload) {
  Body body;
  Reader reader(payload);
  event_fields(reader, body);
  reader.close();
  return body;
}

using Decode = EventBody (*)(std::string_view);
struct Known {
  EventType type;
  Decode decode;
};

// Every alternative of EventBody but Record, which has a number for each of its kinds.
template <class... Bodies>
constexpr auto known_types(const std::variant<Bodies...>*) {
  std::array<Known, sizeof...(Bodies)> known{};
  std::size_t n = 0;
  const auto add = [&]<class Body>(const Body*) {
    if constexpr (!std::is_same_v<Body, Record>) known[n++] = {event_type_of<Body>, &decoded<Body>};
  };
  (add(static_cast<const Bodies*>(nullptr)), ...);
  return known;
}
constexpr auto known = known_types(static_cast<const EventBody*>(nullptr));

const Known* find_known(std::int16_t number) {
  const auto found =
      std::find_if(known.begin(), known.end(), [&](const Known& one) { return one.type.number == number; });
  return found == known.end() || number == 0 ? nullptr : &*found;
}

EventBody decoded_record(RecordKind kind, std::string_view payload) {
  const bool has_nul = payload.find('\0') != std::string_view::npos;
  if (has_nul || !payload.starts_with('{') || !Json::accept(payload)) throw NotOne{"it is not an object"};
  return Record{kind, JsonText(payload)};
}

EventBody decoded_now(const Known* known_type, std::optional<RecordKind> kind, std::string_view payload) {
  return kind ? decoded_record(*kind, payload) : known_type->decode(payload);
}

}  // namespace

std::string encode_payload(const EventBody& body) {
  return std::visit([](const auto& one) { return encoded(one); }, body);
}

Result<EventBody> decode_payload(std::int16_t type, std::int16_t version, std::string_view payload,
                                 Upcasters upcasters) {
  const Known* known_type = find_known(type);
  const auto kind = record_kind(type);
  if (known_type == nullptr && !kind) return written_by_a_newer_program(type, version);
  const EventType now = kind ? EventType{type, record_version, to_string(*kind)} : known_type->type;
  try {
    if (version == now.version) return decoded_now(known_type, kind, payload);  // nearly every event
    const Result<std::string> lifted = upcast(payload, version, now, upcasters);
    if (!lifted) return lifted.error();
    return decoded_now(known_type, kind, *lifted);
  } catch (const NotOne& none) {
    return Error{Code::corrupt, "Expected the payload of a " + std::string(now.name) + ", but " + none.says + "."};
  }
}

// The fields stand in the order of event_fields.hpp: node first; started_at after the patch, and after it nothing in
// which an unescaped quote could stand before this word.
std::optional<SucceededStep> read_succeeded(std::string_view payload) {
  constexpr std::string_view begin = R"({"node":")";
  constexpr std::string_view started = R"(,"started_at":)";
  if (!payload.starts_with(begin)) return std::nullopt;
  const std::size_t node_end = payload.find('"', begin.size());
  const std::size_t started_from = payload.rfind(started);
  if (node_end == std::string_view::npos || started_from == std::string_view::npos) return std::nullopt;
  SucceededStep read;
  read.node = payload.substr(begin.size(), node_end - begin.size());
  if (!is_plain(read.node) || !payload.substr(node_end).starts_with(R"(","label":")")) return std::nullopt;
  const char* const end = payload.data() + payload.size();
  const auto number = std::from_chars(payload.data() + started_from + started.size(), end, read.started_at);
  if (number.ec != std::errc()) return std::nullopt;
  const std::string_view rest(number.ptr, static_cast<std::size_t>(end - number.ptr));
  read.is_reused = rest.find(R"(,"cached_from":)") != std::string_view::npos;
  return read;
}

}  // namespace cairn
