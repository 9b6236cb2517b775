#include "ops/trials/stand_in.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

const std::set<std::string> fault_kinds = {"bad_json", "wrong_label", "refusal", "empty", "slow", "away", "prose"};
constexpr std::int64_t slow_ms = 2 * stand_in_patience_ms;

Json listed(const Json& value) { return value.is_array() ? value : Json::array({value}); }

bool are_texts(const Json& list) {
  return std::all_of(list.begin(), list.end(), [](const Json& one) { return one.is_string(); });
}

std::string last_message(const Json& body) {
  const Json messages = body.value("messages", Json::array());
  if (!messages.is_array() || messages.empty() || !messages.back().is_object()) return "";
  const Json content = messages.back().value("content", Json(""));
  return content.is_string() ? content.get<std::string>() : canonical(content);
}

// The page in a prompt, as text: the member `dom` of the JSON object in its last line.
std::string page_of(const std::string& prompt) {
  const std::size_t line = prompt.rfind('\n');
  const Result<Json> data = parse_json(prompt.substr(line == std::string::npos ? 0 : line + 1), "the prompt's data");
  if (!data || !data->is_object()) return "";
  const Json dom = data->value("dom", Json(""));
  return dom.is_string() ? dom.get<std::string>() : "";
}

// --- reading the prompt ----------------------------------------------------------------------------------------------
struct Unreadable {
  std::string says;
};

std::string word_at(const std::string& prompt, std::size_t from) {
  while (from < prompt.size() && (prompt[from] == ' ' || prompt[from] == '"' || prompt[from] == '\\')) ++from;
  const std::size_t end = std::min(prompt.find_first_of("\",<>}]\n\\", from), prompt.size());
  return prompt.substr(from, end - from);
}

// "A > B": the word after the last A before the first B.
std::string word_before(const std::string& prompt, const std::string& text) {
  const std::size_t arrow = text.find(" > ");
  const std::size_t later = arrow == std::string::npos ? arrow : prompt.find(text.substr(arrow + 3));
  const std::size_t at = later == std::string::npos ? later : prompt.rfind(text.substr(0, arrow), later);
  if (at == std::string::npos) throw Unreadable{"The prompt does not have \"" + text + "\"."};
  return word_at(prompt, at + arrow);
}

std::string word_after(const std::string& prompt, const std::string& text) {
  std::size_t from = 0;
  for (std::size_t part = 0; part <= text.size();) {
    const std::size_t end = std::min(text.find(" > ", part), text.size());
    const std::size_t at = prompt.find(text.substr(part, end - part), from);
    if (at == std::string::npos) throw Unreadable{"The prompt does not have \"" + text + "\"."};
    from = at + end - part;
    part = end + 3;
  }
  return word_at(prompt, from);
}

std::string element_of(const std::string& page, const std::string& text) {
  const std::size_t at = page.find(text);
  const std::size_t id = at == std::string::npos ? at : page.rfind("id=", at + text.size());
  if (id == std::string::npos) throw Unreadable{"The page has no element with \"" + text + "\"."};
  std::size_t from = id + 3;
  if (from < page.size() && page[from] == '"') ++from;
  const std::size_t end = page.find_first_not_of("0123456789", from);
  if (end == from) throw Unreadable{"The element with \"" + text + "\" has no number."};
  return page.substr(from, end - from);
}

std::string read_out(const std::string& what, const std::string& prompt, const std::string& page) {
  if (what.starts_with("after ")) return word_after(prompt + "\n" + page, what.substr(6));
  if (what.starts_with("before ")) return word_before(prompt + "\n" + page, what.substr(7));
  if (what.starts_with("element ")) return element_of(page, what.substr(8));
  throw Unreadable{"\"{{" + what + "}}\" is none of after, before, element."};
}

Json filled(const Json& value, const std::string& prompt, const std::string& page) {
  if (value.is_structured()) {
    Json made = value;
    for (Json& member : made) member = filled(member, prompt, page);
    return made;
  }
  if (!value.is_string()) return value;
  std::string text = value.get<std::string>();
  if (text.starts_with("{{#") && text.ends_with("}}")) {
    const std::string word = read_out(text.substr(3, text.size() - 5), prompt, page);
    const Result<Json> number = parse_json(word, "a number of the prompt");
    if (!number || !number->is_number()) throw Unreadable{"\"" + word + "\" is no number."};
    return *number;
  }
  for (std::size_t at = text.find("{{"); at != std::string::npos; at = text.find("{{", at)) {
    const std::size_t end = text.find("}}", at);
    if (end == std::string::npos) break;
    const std::string word = read_out(text.substr(at + 2, end - at - 2), prompt, page);
    text.replace(at, end + 2 - at, word);
    at += word.size();
  }
  return text;
}

// --- answers ---------------------------------------------------------------------------------------------------------
// The value with a word that its schema does not have, or without one of its members.
Json mislabelled(Json value, const Json& schema) {
  if (!value.is_object()) return "none_of_these";
  const Json properties = schema.is_object() ? schema.value("properties", Json::object()) : Json::object();
  for (const auto& [name, property] : properties.items()) {
    if (!property.is_object() || !property.contains("enum") || !value.contains(name)) continue;
    value[name] = "none_of_these";
    return value;
  }
  if (!value.empty()) value.erase(value.begin().key());
  return value;
}

LocalAnswer completion(const Json& body, const Json& message, std::int64_t after_ms = 0) {
  const std::size_t in = canonical(body.value("messages", Json())).size() / 4;  // four bytes a token, about
  const std::size_t out = canonical(message).size() / 4;
  Json answer = {{"id", "stand-in"}, {"object", "chat.completion"}, {"model", body.value("model", "stand-in")}};
  answer["choices"] = {{{"index", 0}, {"message", message}, {"finish_reason", "stop"}}};
  answer["usage"] = {{"prompt_tokens", in}, {"completion_tokens", out}, {"total_tokens", in + out}};
  LocalAnswer made;
  made.body = canonical(answer);
  made.after_ms = after_ms;
  return made;
}

LocalAnswer answer_with(const Json& body, const std::string& content, std::int64_t after_ms = 0) {
  return completion(body, {{"role", "assistant"}, {"content", content}}, after_ms);
}

LocalAnswer faulty(const std::string& kind, const Json& body, const Json& value, const Json& schema) {
  const std::string text = canonical(value);
  if (kind == "bad_json") return answer_with(body, text.substr(0, text.size() / 2));
  if (kind == "wrong_label") return answer_with(body, canonical(mislabelled(value, schema)));
  if (kind == "empty") return answer_with(body, "");
  if (kind == "slow") return answer_with(body, text, slow_ms);
  if (kind == "prose")
    return answer_with(body, "<think>It asks for {JSON}.</think>Here it is:\n```json\n" + text + "\n```\nDone.");
  if (kind == "away") return {503, "application/json", R"({"error": {"message": "overloaded"}})"};
  return completion(body, {{"role", "assistant"}, {"content", nullptr}, {"refusal", "I cannot help with that."}});
}

std::string schema_name(const Json& body) {
  const Json::json_pointer at("/response_format/json_schema/name");
  return body.contains(at) && body.at(at).is_string() ? body.at(at).get<std::string>() : "";
}

bool is_for(const Json& reply, const std::string& schema, const std::string& prompt) {
  const Json texts = listed(reply.value("if", Json::array()));
  return reply["to"] == schema && std::all_of(texts.begin(), texts.end(), [&prompt](const Json& text) {
           return prompt.find(text.get<std::string>()) != std::string::npos;
         });
}

Error no_reply(const std::string& fault) { return {Code::invalid, "Expected a reply, but " + fault + "."}; }

Status verify_reply(const Json& reply) {
  static const std::set<std::string> members = {"to", "if", "says", "times", "faults"};
  if (!reply.is_object() || !reply.value("to", Json()).is_string()) return no_reply("one does not say what it is to");
  for (const auto& [name, value] : reply.items())
    if (!members.contains(name)) return no_reply("one has an unknown \"" + name + "\"");
  if (!reply.contains("says")) return no_reply("one says nothing");
  if (!are_texts(listed(reply.value("if", Json::array())))) return no_reply("the \"if\" of one is no text");
  if (!reply.value("times", Json(1)).is_number_integer()) return no_reply("the \"times\" of one are no number");
  const Json faults = reply.value("faults", Json::array());
  if (!faults.is_array() || !are_texts(faults)) return no_reply("the faults of one are no list of words");
  for (const Json& kind : faults)
    if (!fault_kinds.contains(kind.get<std::string>())) return no_reply("there is no fault " + kind.get<std::string>());
  return Done{};
}

}  // namespace

Status verify_replies(const Json& replies) {
  if (!replies.is_array()) return no_reply("there is no list of replies");
  for (const Json& reply : replies)
    if (Status verified = verify_reply(reply); !verified) return verified;
  return Done{};
}

void StandIn::begin(const Json& replies) {
  const std::lock_guard lock(mutex_);
  replies_ = replies;
  left_.clear();
  for (const Json& reply : replies_) left_.push_back(reply.value("times", std::int64_t{1}));
  complaints_.clear();
  given_ = 0;
}

std::vector<std::string> StandIn::complaints() const {
  const std::lock_guard lock(mutex_);
  return complaints_;
}

int StandIn::faults_given() const {
  const std::lock_guard lock(mutex_);
  return given_;
}

int StandIn::faults_left() const {
  const std::lock_guard lock(mutex_);
  int count = 0;
  for (const Json& reply : replies_) count += static_cast<int>(reply.value("faults", Json::array()).size());
  return count;
}

LocalAnswer StandIn::answer(const LocalRequest& request) {
  const std::lock_guard lock(mutex_);
  const Result<Json> body = parse_json(request.body, "the request");
  if (request.method != "POST" || !body || !body->is_object()) return complain("Got something else than a request.");
  return reply_to(*body);
}

LocalAnswer StandIn::complain(const std::string& sentence) {
  complaints_.push_back(sentence);
  return {400, "application/json", canonical({{"error", {{"message", sentence}}}})};
}

LocalAnswer StandIn::reply_to(const Json& body) {
  const std::string schema = schema_name(body);
  const std::string prompt = last_message(body);
  for (std::size_t i = 0; i < replies_.size(); ++i) {
    Json& reply = replies_[i];
    if (left_[i] <= 0 || !is_for(reply, schema, prompt)) continue;
    try {
      const Json value = filled(reply["says"], prompt, page_of(prompt));
      const Json form = body.at(Json::json_pointer("/response_format/json_schema/schema"));
      if (const Status fits = check_value(form, value); !fits) return complain(schema + ": " + fits.error().message);
      if (reply.contains("faults") && !reply["faults"].empty()) {
        const std::string kind = reply["faults"].front().get<std::string>();
        reply["faults"].erase(0);
        ++given_;
        if (kind == "prose") --left_[i];
        return faulty(kind, body, value, form);
      }
      --left_[i];
      return answer_with(body, canonical(value));
    } catch (const Unreadable& fault) {
      return complain(schema + ": " + fault.says);
    }
  }
  return complain("There is no reply to " + schema + " for: " + prompt.substr(0, 1'500));
}

}  // namespace cairn
