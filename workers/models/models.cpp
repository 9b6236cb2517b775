#include "workers/models/models.hpp"

#include <algorithm>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/ports/failures.hpp"
#include "workers/schemas/schema_check.hpp"

namespace cairn {
namespace {

// --- scripted -------------------------------------------------------------------------------------------------------

class ScriptedModel final : public Model {
 public:
  explicit ScriptedModel(const Json& script) : usable_(check_script(script)) {
    if (usable_) entries_ = script["replies"].get<std::vector<Json>>();
    used_.resize(entries_.size());
  }

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override { co_return next(request); }

 private:
  ModelAnswer next(const ModelRequest& request) {
    if (!usable_) return failure("bad_script", usable_.error().message, false);
    while (first_unused_ < used_.size() && used_[first_unused_]) ++first_unused_;
    for (std::size_t i = first_unused_; i < entries_.size(); ++i) {
      const std::string node = text_at(entries_[i], "node");
      if (used_[i] || (!node.empty() && node != request.node)) continue;
      used_[i] = true;
      return answer(request, entries_[i]);
    }
    return failure("script_ended", "Expected a scripted reply for node \"" + request.node + "\", but none is left.",
                   false);
  }

  static ModelAnswer answer(const ModelRequest& request, const Json& entry) {
    if (const Json* error = member_at(entry, "error")) {
      const Json* retryable = member_at(*error, "retryable");
      return failure(error->value("error", "error"), text_at(*error, "message"),
                     retryable == nullptr || retryable->get<bool>());
    }
    ModelReply reply;
    reply.model = "scripted";
    if (const Json* message = member_at(entry, "reply")) {
      reply.message = *message;
      if (auto read = read_value(request, reply); !read) return {std::move(read).error(), std::move(reply)};
      return reply;
    }
    reply.value = entry["value"];
    const std::string content = reply.value.is_string() ? reply.value.get<std::string>() : canonical(reply.value);
    reply.message = {{"role", "assistant"}, {"content", content}};
    if (Status fits = check_value(request.schema, reply.value); !fits)
      return {bad_reply(std::move(fits).error().message), std::move(reply)};
    return reply;
  }

  Status usable_;
  std::vector<Json> entries_;
  std::vector<bool> used_;
  std::size_t first_unused_ = 0;
};

Status check_entry(const Json& entry, std::size_t position) {
  const auto refused = [position](const std::string& but) {
    return Error{Code::invalid, "Expected scripted reply " + std::to_string(position) + " to be one, but " + but + "."};
  };
  if (!entry.is_object()) return refused("it is no object");
  for (const auto& [key, value] : entry.items()) {
    if (key != "node" && key != "reply" && key != "value" && key != "error")
      return refused("it has an unknown \"" + key + "\"");
  }
  const auto kinds = entry.count("reply") + entry.count("value") + entry.count("error");
  if (kinds != 1) return refused("it needs exactly one of reply, value and error");
  if (entry.contains("node") && !entry["node"].is_string()) return refused("its node is no string");
  if (entry.contains("reply") && !entry["reply"].is_object()) return refused("its reply is no message");
  if (!entry.contains("error")) return Done{};
  const Json& error = entry["error"];
  const bool fits = error.is_object() && error.value("error", Json("error")).is_string() &&
                    error.value("message", Json("")).is_string() && error.value("retryable", Json(true)).is_boolean();
  if (!fits) return refused("its error is not like {\"error\", \"message\", \"retryable\"}");
  return Done{};
}

// --- rules ----------------------------------------------------------------------------------------------------------

class YieldingModel final : public Model {
 public:
  YieldingModel(Model& rules, const std::atomic<bool>& is_elsewhere) : rules_(rules), is_elsewhere_(is_elsewhere) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    if (is_elsewhere_) throw ModelIsElsewhere();
    co_return co_await rules_.ask(std::move(request));
  }

 private:
  Model& rules_;
  const std::atomic<bool>& is_elsewhere_;
};

class RuleModel final : public Model {
 public:
  RuleModel(std::string name, Rules rules) : name_(std::move(name)), rules_(std::move(rules)) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override { co_return answer(request); }

 private:
  ModelAnswer answer(const ModelRequest& request) const {
    ModelAnswer answer = rules_(request);
    if (answer.failure) return answer;
    ModelReply& reply = answer.reply;
    reply.model = name_;
    if (reply.message.is_null()) {
      const std::string content = reply.value.is_string() ? reply.value.get<std::string>() : canonical(reply.value);
      reply.message = {{"role", "assistant"}, {"content", content}};
    }
    if (has_tool_calls(reply.message)) return answer;
    if (Status fits = check_value(request.schema, reply.value); !fits)
      answer.failure = bad_reply(std::move(fits).error().message);
    return answer;
  }

  std::string name_;
  Rules rules_;
};

}  // namespace

Status check_script(const Json& script) {
  const Json* replies = member_at(script, "replies");
  if (replies == nullptr || !replies->is_array()) {
    return Error{Code::invalid, "Expected a script like {\"replies\": [...]}, but got " + excerpt(script, 300) + "."};
  }
  for (std::size_t i = 0; i < replies->size(); ++i) {
    if (Status fits = check_entry((*replies)[i], i + 1); !fits) return fits;
  }
  return Done{};
}

std::unique_ptr<Model> make_scripted_model(const Json& script) { return std::make_unique<ScriptedModel>(script); }

ModelReply rule_reply(Json value) {
  ModelReply reply;
  reply.model = rule_book_name;
  reply.message = {{"role", "assistant"}, {"content", canonical(value)}};
  reply.value = std::move(value);
  return reply;
}

std::unique_ptr<Model> make_rule_model(std::string name, Rules rules) {
  return std::make_unique<RuleModel>(std::move(name), std::move(rules));
}

std::unique_ptr<Model> make_yielding_model(Model& rules, const std::atomic<bool>& is_elsewhere) {
  return std::make_unique<YieldingModel>(rules, is_elsewhere);
}

}  // namespace cairn
