#include "workers/ports/log.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <spdlog/formatter.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "engine/id.hpp"
#include "workers/ports/log_file.hpp"
#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

std::atomic<LogForm> form_now = LogForm::text;

// Before the fields of an entry, which are JSON; no text of an entry begins so.
constexpr char fields_follow = '\x1e';

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

std::string_view view_of(const spdlog::string_view_t& text) { return {text.data(), text.size()}; }

// An object a line; what a terminal obeys in it is escaped, which changes no value.
class JsonFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& entry, spdlog::memory_buf_t& out) override {
    std::string_view text = view_of(entry.payload);
    Json line = Json::object();
    if (!text.empty() && text.front() == fields_follow) {
      const std::size_t end = text.find(fields_follow, 1);
      line = Json::parse(text.substr(1, end - 1), nullptr, false);
      text.remove_prefix(end + 1);
    }
    const auto at = std::chrono::duration_cast<std::chrono::microseconds>(entry.time.time_since_epoch());
    line["at"] = time_text(at.count());
    line["level"] = std::string(view_of(spdlog::level::to_string_view(entry.level)));
    line["pid"] = getpid();
    line["message"] = std::string(text);
    const std::string dumped = visible(line.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
    out.append(dumped.data(), dumped.data() + dumped.size());
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<JsonFormatter>(); }
};

// A line for people. Texts from outside, such as PostgreSQL's, may have several: a break and what indents the next line
// become a space; what a terminal obeys is escaped.
class TextFormatter final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& entry, spdlog::memory_buf_t& out) override {
    const std::string line = visible(one_line(view_of(entry.payload)));
    spdlog::details::log_msg flat = entry;
    flat.payload = line;
    form_.format(flat, out);
  }
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<TextFormatter>(); }

 private:
  static std::string one_line(std::string_view text) {
    std::string line;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find_first_of("\r\n", at), text.size());
      line += text.substr(at, end - at);
      at = std::min(text.find_first_not_of("\r\n\t ", end), text.size());
      if (at < text.size() && !line.empty()) line += ' ';
    }
    return line;
  }

  spdlog::pattern_formatter form_{"%Y-%m-%dT%H:%M:%S.%e%z %P %l %v"};
};

// A line that cannot be written is left out: the log on stderr has it.
class FileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit FileSink(const std::string& path) : file_(path) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& entry) override {
    spdlog::memory_buf_t line;
    formatter_->format(entry, line);
    file_.write({line.data(), line.size()});
  }
  void flush_() override {}

 private:
  LogFile file_;
};

}  // namespace

std::optional<LogLevel> parse_log_level(const std::string& word) {
  if (word == "debug" || word == "trace") return LogLevel::debug;
  if (word == "info") return LogLevel::info;
  if (word == "warn" || word == "warning") return LogLevel::warning;
  if (word == "error" || word == "err" || word == "critical") return LogLevel::error;
  return word == "off" ? std::optional(LogLevel::off) : std::nullopt;
}

bool is_logged(LogLevel level) { return spdlog::should_log(level_of(level)); }

void open_log(LogForm form, LogLevel level, const std::string& file, LogLevel level_of_file) {
  form_now = form;
  spdlog::set_default_logger(spdlog::stderr_logger_mt("cairn"));
  std::vector<spdlog::sink_ptr>& sinks = spdlog::default_logger()->sinks();
  sinks.front()->set_level(level_of(level));
  if (!file.empty()) {
    sinks.push_back(std::make_shared<FileSink>(file));
    sinks.back()->set_level(level_of(level_of_file));
    level = std::min(level, level_of_file);
  }
  spdlog::set_level(level_of(level));
  if (form == LogForm::json)
    spdlog::set_formatter(std::make_unique<JsonFormatter>());
  else
    spdlog::set_formatter(std::make_unique<TextFormatter>());
}

void log_about(LogLevel level, const std::string& text, const Json& fields) {
  if (!is_logged(level)) return;
  if (form_now == LogForm::json) {
    const std::string json = fields.dump(-1, ' ', false, Json::error_handler_t::replace);
    return spdlog::log(level_of(level), "{}{}{}{}", fields_follow, json, fields_follow, text);
  }
  std::string line = text;
  for (const auto& [name, value] : fields.items())
    line += " " + name + "=" + (value.is_string() ? value.get<std::string>() : value.dump());
  spdlog::log(level_of(level), "{}", line);
}

}  // namespace cairn
