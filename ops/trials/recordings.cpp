#include "ops/trials/recordings.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "workers/models/chat_message.hpp"
#include "workers/ports/failures.hpp"
#include "workers/ports/text_file.hpp"

namespace cairn {
namespace {

Json replaced_texts(Json value, const Places& places, bool is_back) {
  if (value.is_structured()) {
    for (Json& member : value) member = replaced_texts(std::move(member), places, is_back);
    return value;
  }
  if (!value.is_string()) return value;
  std::string text = value.get<std::string>();
  for (const auto& [place, name] : places) {
    const std::string& from = is_back ? name : place;
    const std::string& to = is_back ? place : name;
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  }
  return text;
}

Json asked_of(const ModelRequest& request, const Places& places) {
  Json asked = {{"messages", request.messages}, {"schema", request.schema}};
  if (!request.tools.is_null()) asked["tools"] = request.tools;
  return replaced_texts(std::move(asked), places, false);
}

Json exchange_of(const ModelRequest& request, Json asked, const ModelAnswer& answer, const Places& places) {
  const ModelReply& reply = answer.reply;
  Json exchange = {{"schema", request.schema_name}, {"node", request.node}, {"request", std::move(asked)}};
  exchange["latency_ms"] = reply.latency_ms;
  if (!reply.message.is_null())
    exchange["reply"] = replaced_texts({{"message", reply.message},
                                        {"model", reply.model},
                                        {"finish_reason", reply.finish_reason},
                                        {"tokens_in", reply.tokens_in},
                                        {"tokens_out", reply.tokens_out},
                                        {"cost", reply.cost}},
                                       places, false);
  if (answer.failure)
    exchange["error"] = {{"error", answer.failure->error},
                         {"message", answer.failure->message},
                         {"retryable", answer.failure->retryable}};
  return exchange;
}

class RecordingModel final : public Model {
 public:
  RecordingModel(Model& model, const Places& places, Recorded& into) : model_(model), places_(places), into_(into) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override {
    Json asked = asked_of(request, places_);
    ModelAnswer answer = co_await model_.ask(request);
    into_.exchanges.push_back(exchange_of(request, std::move(asked), answer, places_));
    co_return answer;
  }

 private:
  Model& model_;
  const Places& places_;
  Recorded& into_;
};

class RecordedModel final : public Model {
 public:
  RecordedModel(Recorded& from, const Places& places)
      : from_(from), places_(places), is_used_(from_.exchanges.size(), false) {}

  boost::asio::awaitable<ModelAnswer> ask(ModelRequest request) override { co_return answer(request); }

 private:
  ModelAnswer answer(const ModelRequest& request) {
    const Json asked = asked_of(request, places_);
    std::size_t found = from_.exchanges.size();
    for (std::size_t i = from_.exchanges.size(); i-- > 0;) {
      const Json& exchange = from_.exchanges[i];
      if (is_used_[i] || exchange["schema"] != request.schema_name) continue;
      const bool is_same = exchange["request"] == asked;
      const bool is_found_same = found < from_.exchanges.size() && from_.exchanges[found]["request"] == asked;
      if (is_same || !is_found_same) found = i;
    }
    if (found == from_.exchanges.size())
      return failure("refused", "Expected a recorded reply to " + request.schema_name + ", but there is none left.",
                     false);
    is_used_[found] = true;
    if (from_.exchanges[found]["request"] != asked) ++from_.changed;
    return recorded_answer(request, from_.exchanges[found]);
  }

  ModelAnswer recorded_answer(const ModelRequest& request, const Json& exchange) const {
    ModelAnswer made;
    if (exchange.contains("reply")) {
      const Json said = replaced_texts(exchange["reply"], places_, true);
      ModelReply& reply = made.reply;
      reply.message = said.value("message", Json());
      reply.model = text_at(said, "model");
      reply.finish_reason = text_at(said, "finish_reason");
      reply.tokens_in = count_at(said, "tokens_in");
      reply.tokens_out = count_at(said, "tokens_out");
      reply.latency_ms = count_at(exchange, "latency_ms");
    }
    if (exchange.contains("error")) {
      const Json& error = exchange["error"];
      made.failure =
          failure(text_at(error, "error"), text_at(error, "message"), error.value("retryable", Json()) == true);
    } else if (Result<Done, Failure> fine = read_value(request, made.reply); !fine) {
      made.failure = std::move(fine).error();
    }
    return made;
  }

  Recorded& from_;
  const Places& places_;
  std::vector<bool> is_used_;
};

std::string recordings_path(const std::string& folder, const std::string& planner) {
  return (std::filesystem::path(folder) / (planner + ".jsonl")).string();
}

bool is_exchange(const Json& line) {
  const auto is_object = [&line](const char* name) { return line.value(name, Json()).is_object(); };
  return line.is_object() && line.value("task", Json()).is_string() && line.value("schema", Json()).is_string() &&
         is_object("request") && (is_object("reply") || is_object("error"));
}

}  // namespace

std::unique_ptr<Model> make_recording_model(Model& model, const Places& places, Recorded& into) {
  return std::make_unique<RecordingModel>(model, places, into);
}

std::unique_ptr<Model> make_recorded_model(Recorded& from, const Places& places) {
  return std::make_unique<RecordedModel>(from, places);
}

bool has_recordings(const std::string& folder, const std::string& planner) {
  return std::filesystem::exists(recordings_path(folder, planner));
}

Result<std::map<std::string, Recorded>> read_recordings(const std::string& folder, const std::string& planner) {
  const std::string path = recordings_path(folder, planner);
  const Result<std::string> text = read_text_file(path, "the recordings of " + planner);
  if (!text) return text.error();
  std::map<std::string, Recorded> recorded;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string line = text->substr(at, end - at);
    at = end + 1;
    if (line.empty()) continue;
    const Result<Json> exchange = parse_json(line, "a line of " + path);
    if (!exchange) return exchange.error();
    if (!is_exchange(*exchange))
      return Error{Code::invalid,
                   "Expected an exchange with a model in " + path + ", but got " + excerpt(*exchange, 200) + "."};
    recorded[exchange->at("task").get<std::string>()].exchanges.push_back(*exchange);
  }
  return recorded;
}

Status write_recordings(const std::string& folder, const std::string& planner,
                        const std::map<std::string, Recorded>& recorded) {
  std::error_code fault;
  std::filesystem::create_directories(folder, fault);
  std::string lines;
  for (const auto& [task, of_task] : recorded) {
    for (Json exchange : of_task.exchanges) {
      exchange["task"] = task;
      lines += canonical(exchange) + '\n';
    }
  }
  return write_text_file(recordings_path(folder, planner), lines, "the recordings of " + planner);
}

}  // namespace cairn
