#include "engine/codec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "engine/json_reading.hpp"
#include "engine/json_writing.hpp"
#include "engine/plain_json.hpp"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 5> run_status_words{"running", "paused", "done", "failed", "aborted"};
constexpr std::array<std::string_view, 5> goal_status_words{"planned", "open", "succeeded", "failed", "skipped"};
constexpr std::array<std::string_view, 11> record_words{
    "decision_proposed",     "decision_rewritten", "decision_enforced",   "decomposition_failed",
    "verification_recorded", "replan_decided",     "contingency_matched", "loop_detected",
    "guardrail_blocked",     "model_called",       "tool_called"};
constexpr std::int16_t first_record = 101;  // the number of a record is this + its kind

template <class Enum, std::size_t n>
std::optional<Enum> enum_of(const std::array<std::string_view, n>& words, std::string_view word) {
  const auto found = std::find(words.begin(), words.end(), word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

// --- numbers, versions and names; a number is never used again -------------------------------------------------------
constexpr EventType type(const RunStarted*) { return {1, 1, "run_started"}; }
constexpr EventType type(const RunPaused*) { return {2, 1, "run_paused"}; }
constexpr EventType type(const RunResumed*) { return {3, 1, "run_resumed"}; }
constexpr EventType type(const RunReopened*) { return {4, 1, "run_reopened"}; }
constexpr EventType type(const RunMoved*) { return {5, 1, "run_moved"}; }
constexpr EventType type(const ChannelsEdited*) { return {6, 1, "channels_edited"}; }
constexpr EventType type(const RunFinished*) { return {7, 1, "run_finished"}; }
constexpr EventType type(const StepSucceeded*) { return {8, 1, "step_succeeded"}; }
constexpr EventType type(const StepFailed*) { return {9, 1, "step_failed"}; }
constexpr EventType type(const SignalReceived*) { return {10, 1, "signal_received"}; }
constexpr EventType type(const TimerFired*) { return {11, 1, "timer_fired"}; }
constexpr EventType type(const ChildStarted*) { return {12, 1, "child_started"}; }
constexpr EventType type(const ChildFinished*) { return {13, 1, "child_finished"}; }
constexpr EventType type(const QuestionAsked*) { return {14, 1, "question_asked"}; }
constexpr EventType type(const QuestionAnswered*) { return {15, 1, "question_answered"}; }
constexpr EventType type(const QuestionExpired*) { return {16, 1, "question_expired"}; }
constexpr EventType type(const SubGoalOpened*) { return {17, 1, "sub_goal_opened"}; }
constexpr EventType type(const SubGoalRejected*) { return {18, 1, "sub_goal_rejected"}; }
constexpr EventType type(const SubGoalClosed*) { return {19, 1, "sub_goal_closed"}; }
constexpr EventType type(const PlanCreated*) { return {20, 1, "plan_created"}; }
constexpr EventType type(const PlanRevised*) { return {21, 1, "plan_revised"}; }
constexpr EventType type(const TaskDecomposed*) { return {22, 1, "task_decomposed"}; }
constexpr EventType type(const BudgetExhausted*) { return {23, 1, "budget_exhausted"}; }

EventType type_of_body(const Record& record) {
  const auto kind = static_cast<std::size_t>(record.kind);
  return {static_cast<std::int16_t>(first_record + static_cast<std::int16_t>(kind)), 1, record_words.at(kind)};
}
template <class Body>
EventType type_of_body(const Body& body) {
  return type(&body);
}

// --- writing ---------------------------------------------------------------------------------------------------------
std::string dumped(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

// Appends an object's members in the order it is told them. What is absent is left out.
class Writer {
 public:
  template <class T>
  using Of = const T;

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
    fields(writer, object);
    writer.close();
  }

  std::string& text_;
};

// --- reading ---------------------------------------------------------------------------------------------------------
struct NotOne {  // a payload that is none of its type; never leaves decode_payload
  std::string says;
};

struct Member {
  std::string key;
  Json scalar;            // discarded if the value is an array or an object
  std::string_view text;  // the value's bytes
};

// Where the bracket closes that was opened just before `at`; `end` if it does not.
const char* closing_bracket(const char* at, const char* end) {
  int open = 1;
  for (; at < end; ++at) {
    if (*at == '"') {
      at += behind_string({at, static_cast<std::size_t>(end - at)}, 1) - 1;
    } else if (*at == '{' || *at == '[') {
      ++open;
    } else if ((*at == '}' || *at == ']') && --open == 0) {
      return at;
    }
  }
  return end;
}

// Where the array or object ends that begins at `at`; null if it does not.
const char* behind_brackets(const char* at, const char* end) {
  const char closing = *at == '{' ? '}' : ']';
  const char* last = closing_bracket(at + 1, end);
  return last != end && *last == closing ? last + 1 : nullptr;
}

// The members of one object: scalars read, arrays and objects left as text until someone wants them.
class MemberScan {
 public:
  explicit MemberScan(std::string_view text) : text_(text) {
    members_.reserve(12);
    if (text.find('\0') != std::string_view::npos) throw NotOne{"it is not JSON"};  // the parser would end there
    if (scan_plain()) return;
    members_.clear();
    if (!read_json(text, at_, *this)) throw NotOne{"it is not JSON"};
    if (!is_object_) throw NotOne{"it is not an object"};
  }
  std::vector<Member>& members() { return members_; }
  const std::vector<Member>& members() const { return members_; }

  // The parser's calls.
  bool null() { return scalar(nullptr); }
  bool boolean(bool value) { return scalar(value); }
  bool number_integer(std::int64_t value) { return scalar(value, 1); }
  bool number_unsigned(std::uint64_t value) { return scalar(value, 1); }
  bool number_float(double value, const std::string&) { return scalar(value, 1); }
  bool string(std::string& value) { return scalar(std::move(value)); }
  bool binary(Json::binary_t&) { return false; }
  bool start_object(std::size_t) { return open(true); }
  bool start_array(std::size_t) { return open(false); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& value) {
    members_.push_back({std::move(value), Json(Json::value_t::discarded), {}});
    const auto colon = text_.find(':', static_cast<std::size_t>(at_ - text_.data()));
    value_starts_ = text_.find_first_not_of(" \t\r\n", colon == std::string_view::npos ? colon : colon + 1);
    return value_starts_ != std::string_view::npos;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  // As the parser would, but quickly; false for what is not written as we write it.
  bool scan_plain() {
    PlainJson plain(text_);
    is_object_ = plain.take('{');
    if (!is_object_) return false;
    if (plain.take('}')) return plain.is_at_end();
    do {
      if (!member(plain)) return false;
    } while (plain.take(','));
    return plain.take('}') && plain.is_at_end();
  }
  bool member(PlainJson& plain) {
    Member& member = members_.emplace_back(Member{{}, Json(Json::value_t::discarded), {}});
    if (!plain.string(member.key) || !plain.take(':')) return false;
    const char* begins = plain.at();
    if (plain.next() == '{' || plain.next() == '[') {
      const char* ends = behind_brackets(begins, text_.data() + text_.size());
      if (ends == nullptr) return false;
      plain.move_to(ends);
    } else if (!plain.value(member.scalar)) {
      return false;
    }
    member.text = std::string_view(begins, static_cast<std::size_t>(plain.at() - begins));
    return true;
  }

  template <class T>
  bool scalar(T&& value, std::size_t read_too_far = 0) {
    if (depth_ != 1 || !is_object_) return true;
    members_.back().scalar = std::forward<T>(value);
    take_text(read_too_far);
    return true;
  }
  // Of a value inside the object, only its brackets are given to the parser.
  bool open(bool is_object) {
    if (depth_++ == 0) {
      is_object_ = is_object;
    } else {
      at_ = closing_bracket(at_, text_.data() + text_.size());
    }
    return true;
  }
  bool close() {
    if (--depth_ == 1) take_text(0);
    return true;
  }
  void take_text(std::size_t read_too_far) {
    if (!is_object_) return;
    const auto end = static_cast<std::size_t>(at_ - text_.data()) - read_too_far;
    members_.back().text = text_.substr(value_starts_, end - value_starts_);
  }

  std::string_view text_;
  const char* at_ = nullptr;
  std::size_t value_starts_ = 0;
  int depth_ = 0;
  bool is_object_ = false;
  std::vector<Member> members_;
};

// Takes an object's members by name; in the order they were written, each is the next one.
class Reader {
 public:
  template <class T>
  using Of = T;

  explicit Reader(std::string_view text) : scan_(text) {}

  void close() const {
    if (taken_ != scan_.members().size())
      throw NotOne{"it has " + std::to_string(scan_.members().size() - taken_) + " other fields"};
  }

  template <class T>
  void operator()(const char* key, T& value) {
    get(key, needed(key), value);
  }
  void json(const char* key, Json& value) { value = parsed(needed(key)); }
  void raw(const char* key, JsonText& value) { value = needed(key).text; }
  template <class T>
  void unless_empty(const char* key, T& value) {
    if (Member* member = find(key)) get(key, *member, value);
  }
  void json_if(const char* key, std::optional<Json>& value) {
    if (Member* member = find(key)) value = parsed(*member);
  }
  void raw_if(const char* key, std::optional<JsonText>& value) {
    if (const Member* member = find(key)) value = JsonText(member->text);
  }
  template <class T>
  void present(const char* key, std::optional<T>& value) {
    if (Member* member = find(key)) get(key, *member, value.emplace());
  }
  void word_if(const char* key, std::string_view word, bool& is_set) {
    Member* member = find(key);
    if (member == nullptr) return;
    std::string found;
    get(key, *member, found);
    if (found != word) throw wrong(key);
    is_set = true;
  }

 private:
  Member* find(std::string_view key) {
    std::vector<Member>& all = scan_.members();
    if (next_ >= all.size() || all[next_].key != key) {
      const auto found = std::find_if(all.begin(), all.end(), [&](const Member& one) { return one.key == key; });
      if (found == all.end()) return nullptr;
      next_ = static_cast<std::size_t>(found - all.begin());
    }
    ++taken_;
    return &all[next_++];
  }
  Member& needed(const char* key) {
    Member* member = find(key);
    if (member == nullptr) throw NotOne{std::string("it has no \"") + key + "\""};
    return *member;
  }
  static NotOne wrong(const char* key) { return {std::string("its \"") + key + "\" is of another kind"}; }

  static Json parsed(const Member& member) {
    if (!member.scalar.is_discarded()) return member.scalar;
    if (std::optional<Json> plain = read_plain_json(member.text)) return *std::move(plain);
    Json value = Json::parse(member.text, nullptr, false);
    if (value.is_discarded()) throw NotOne{"its \"" + member.key + "\" is not JSON"};
    return value;
  }

  void get(const char* key, Member& member, std::string& value) {
    if (!member.scalar.is_string()) throw wrong(key);
    value = std::move(member.scalar.get_ref<std::string&>());
  }
  void get(const char* key, const Member& member, std::integral auto& value) {
    using Integer = std::remove_reference_t<decltype(value)>;
    if (!member.scalar.is_number_integer()) throw wrong(key);
    const auto found = member.scalar.get<std::int64_t>();
    if (!std::in_range<Integer>(found) || (member.scalar.is_number_unsigned() && found < 0)) throw wrong(key);
    value = static_cast<Integer>(found);
  }
  void get(const char* key, Member& member, RunId& value) {
    std::string text;
    get(key, member, text);
    const auto id = parse_run_id(text);
    if (!id) throw wrong(key);
    value = *id;
  }
  void get(const char* key, Member& member, RunStatus& value) {
    std::string word;
    get(key, member, word);
    const auto status = parse_run_status(word);
    if (!status) throw wrong(key);
    value = *status;
  }
  void get(const char* key, Member& member, GoalStatus& value) {
    std::string word;
    get(key, member, word);
    const auto status = parse_goal_status(word);
    if (!status) throw wrong(key);
    value = *status;
  }
  template <class T>
  void get(const char* key, const Member& member, std::vector<T>& values) {
    if (!member.text.starts_with('[')) throw wrong(key);
    Json list = parsed(member);
    for (Json& element : list) {
      Member one = whole(element);
      get(key, one, values.emplace_back());
    }
  }
  template <class T>
  void get(const char* key, const Member& member, std::map<std::string, T>& values) {
    if (!member.text.starts_with('{')) throw wrong(key);
    Json map = parsed(member);
    for (auto& [name, element] : map.get_ref<Json::object_t&>()) {
      Member one = whole(element);
      get(key, one, values[name]);
    }
  }
  template <class T>
  requires std::is_class_v<T>
  void get(const char* key, const Member& member, T& object) {
    if (!member.text.starts_with('{')) throw wrong(key);
    Reader reader(member.text);
    fields(reader, object);
    reader.close();
  }
  Member whole(Json& element) {
    if (!element.is_structured()) return {"", std::move(element), {}};
    kept_.push_back(std::make_unique<std::string>(element.dump()));
    return {"", Json(Json::value_t::discarded), *kept_.back()};
  }

  MemberScan scan_;
  std::size_t next_ = 0;
  std::size_t taken_ = 0;
  std::vector<std::unique_ptr<std::string>> kept_;  // texts of elements of lists
};

// --- the fields of each event, in the order they are written; one list for both ways ---------------------------------
template <class F>
void fields(F& field, typename F::template Of<Options>& e) {
  field.word_if("autonomy", "full", e.autonomous);
  field.unless_empty("priority", e.priority);
  field.unless_empty("budgets", e.budgets);
  field.word_if("answers", "recorded", e.recorded);
}
template <class F>
void fields(F& field, typename F::template Of<Parent>& e) {
  field("run", e.run);
  field("step", e.step);
  field("depth", e.depth);
}
template <class F>
void fields(F& field, typename F::template Of<Origin>& e) {
  field("run", e.run);
  field("seq", e.seq);
  field("chain_hash", e.chain_hash);
  field.json("state", e.state);
}
template <class F>
void fields(F& field, typename F::template Of<Closed>& e) {
  field("steps", e.steps);
  field("questions", e.questions);
  field("children", e.children);
}
template <class F>
void fields(F& field, typename F::template Of<PlanChild>& e) {
  field("id", e.id);
  field("title", e.title);
  field("after", e.after);
  field.json("context", e.context);
}

template <class F>
void fields(F& field, typename F::template Of<RunStarted>& e) {
  field("graph", e.graph);
  field("version", e.version);
  field.raw("input", e.input);
  field("options", e.options);
  field("tags", e.tags);
  field.present("parent", e.parent);
  field.present("continues", e.continues);
  field.raw_if("history", e.history);
  field.present("forked_from", e.forked_from);
}
template <class F>
void fields(F&, typename F::template Of<RunPaused>&) {}
template <class F>
void fields(F&, typename F::template Of<RunResumed>&) {}
template <class F>
void fields(F&, typename F::template Of<RunReopened>&) {}
template <class F>
void fields(F& field, typename F::template Of<RunMoved>& e) {
  field("to_version", e.to_version);
}
template <class F>
void fields(F& field, typename F::template Of<ChannelsEdited>& e) {
  field.raw("patch", e.patch);
}
template <class F>
void fields(F& field, typename F::template Of<RunFinished>& e) {
  field("status", e.status);
  field("reason", e.reason);
  field.raw("output", e.output);
  field("closed", e.closed);
}
template <class F>
void fields(F& field, typename F::template Of<StepSucceeded>& e) {
  field("node", e.node);
  field("label", e.label);
  field.raw("patch", e.patch);
  field("next", e.next);
  field("attempt", e.attempt);
  field("worker", e.worker);
  field("started_at", e.started_at);
  field.unless_empty("took", e.took);
  field.unless_empty("cached_from", e.cached_from);
  field.unless_empty("cache_key", e.cache_key);
}
template <class F>
void fields(F& field, typename F::template Of<StepFailed>& e) {
  field("node", e.node);
  field("attempt", e.attempt);
  field("error", e.error);
  field("message", e.message);
  field("worker", e.worker);
  field("started_at", e.started_at);
  field.present("retry_at", e.retry_at);
  field.unless_empty("label", e.label);
  field.unless_empty("next", e.next);
}
template <class F>
void fields(F& field, typename F::template Of<SignalReceived>& e) {
  field("name", e.name);
  field.json("value", e.value);
  field("id", e.id);
}
template <class F>
void fields(F&, typename F::template Of<TimerFired>&) {}
template <class F>
void fields(F& field, typename F::template Of<ChildStarted>& e) {
  field("child", e.child);
  field("graph", e.graph);
  field("version", e.version);
}
template <class F>
void fields(F& field, typename F::template Of<ChildFinished>& e) {
  field("child", e.child);
  field("status", e.status);
  field("reason", e.reason);
  field.json("output", e.output);
}
template <class F>
void fields(F& field, typename F::template Of<QuestionAsked>& e) {
  field("question", e.question);
  field("kind", e.kind);
  field.json("prompt", e.prompt);
  field.json("schema", e.schema);
  field.json_if("default", e.fallback);
  field.present("expires_at", e.expires_at);
}
template <class F>
void fields(F& field, typename F::template Of<QuestionAnswered>& e) {
  field("question", e.question);
  field.json("value", e.value);
  field("by", e.by);
}
template <class F>
void fields(F& field, typename F::template Of<QuestionExpired>& e) {
  field("question", e.question);
}
template <class F>
void fields(F& field, typename F::template Of<SubGoalOpened>& e) {
  field("sub_goal", e.sub_goal);
  field.unless_empty("tool", e.tool);
  field.unless_empty("title", e.title);
  field.unless_empty("parent", e.parent);
  field.json("inputs", e.inputs);
  field("after", e.after);
  field.unless_empty("queue", e.queue);
}
template <class F>
void fields(F& field, typename F::template Of<SubGoalRejected>& e) {
  field("sub_goal", e.sub_goal);
  field("tool", e.tool);
  field("reason", e.reason);
  field("unmet", e.unmet);
}
template <class F>
void fields(F& field, typename F::template Of<SubGoalClosed>& e) {
  field("sub_goal", e.sub_goal);
  field("status", e.status);
  field.raw("outputs", e.outputs);
  field.unless_empty("error", e.error);
  field.unless_empty("message", e.message);
  field("attempt", e.attempt);
  field("worker", e.worker);
  field("started_at", e.started_at);
  field.unless_empty("reused_from", e.reused_from);
}
template <class F>
void fields(F& field, typename F::template Of<PlanCreated>& e) {
  field("version", e.version);
  field("goal", e.goal);
  field("children", e.children);
}
template <class F>
void fields(F& field, typename F::template Of<PlanRevised>& e) {
  field("version", e.version);
  field("cause", e.cause);
  field.json("changes", e.changes);
}
template <class F>
void fields(F& field, typename F::template Of<TaskDecomposed>& e) {
  field("target", e.target);
  field("mode", e.mode);
  field("depth", e.depth);
  field("children", e.children);
  field("dropped", e.dropped);
  field("truncated", e.truncated);
}
template <class F>
void fields(F& field, typename F::template Of<BudgetExhausted>& e) {
  field("name", e.name);
  field("cap", e.cap);
  field("used", e.used);
}

// --- by type ---------------------------------------------------------------------------------------------------------
template <class Body>
std::string encoded(const Body& body) {
  std::string text;
  text.reserve(512);
  Writer writer(text);
  fields(writer, body);
  writer.close();
  return text;
}
std::string encoded(const Record& record) { return record.fields; }

template <class Body>
EventBody decoded(std::string_view payload) {
  Body body;
  Reader reader(payload);
  fields(reader, body);
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
  const auto add = [&]<class Body>(const Body* body) {
    if constexpr (!std::is_same_v<Body, Record>) known[n++] = {type(body), &decoded<Body>};
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

std::optional<RecordKind> record_kind(std::int16_t number) {
  const int kind = number - first_record;
  if (kind < 0 || kind >= static_cast<int>(record_words.size())) return std::nullopt;
  return static_cast<RecordKind>(kind);
}

EventBody decoded_record(RecordKind kind, std::string_view payload) {
  const bool has_nul = payload.find('\0') != std::string_view::npos;
  if (has_nul || !payload.starts_with('{') || !Json::accept(payload)) throw NotOne{"it is not an object"};
  return Record{kind, JsonText(payload)};
}

Error of_a_newer_program(std::int16_t number, std::int16_t version) {
  return {Code::unsupported, "Expected an event of a known type, but found type " + std::to_string(number) +
                                 " version " + std::to_string(version) + ", written by a newer program."};
}

}  // namespace

std::string_view to_string(RunStatus status) { return run_status_words.at(static_cast<std::size_t>(status)); }
std::string_view to_string(GoalStatus status) { return goal_status_words.at(static_cast<std::size_t>(status)); }
std::string_view to_string(RecordKind kind) { return record_words.at(static_cast<std::size_t>(kind)); }

std::optional<RunStatus> parse_run_status(std::string_view word) { return enum_of<RunStatus>(run_status_words, word); }
std::optional<GoalStatus> parse_goal_status(std::string_view word) {
  return enum_of<GoalStatus>(goal_status_words, word);
}

std::string_view type_of(const EventBody& body) { return event_type(body).name; }

EventType event_type(const EventBody& body) {
  return std::visit([](const auto& one) { return type_of_body(one); }, body);
}

std::optional<std::string_view> event_type_name(std::int16_t number) {
  if (const Known* type = find_known(number)) return type->type.name;
  if (const auto kind = record_kind(number)) return to_string(*kind);
  return std::nullopt;
}

std::string encode_payload(const EventBody& body) {
  return std::visit([](const auto& one) { return encoded(one); }, body);
}

Result<EventBody> decode_payload(std::int16_t type, std::int16_t version, std::string_view payload) {
  const Known* known_type = find_known(type);
  const auto kind = record_kind(type);
  if (known_type == nullptr && !kind) return of_a_newer_program(type, version);
  const std::int16_t version_now = known_type != nullptr ? known_type->type.version : std::int16_t{1};
  if (version != version_now) return of_a_newer_program(type, version);
  try {
    return kind ? decoded_record(*kind, payload) : known_type->decode(payload);
  } catch (const NotOne& none) {
    return Error{Code::corrupt,
                 "Expected the payload of a " + std::string(*event_type_name(type)) + ", but " + none.says + "."};
  }
}

Json event_json(const RunId& run, const Event& event) {
  Json line = parse_stored(encode_payload(event.body));
  line["run"] = to_string(run);
  line["seq"] = event.seq;
  line["type"] = type_of(event.body);
  line["at"] = time_text(event.at_us);
  line["step"] = event.step;
  line["actor"] = event.actor;
  return line;
}

}  // namespace cairn
