#include "ops/service/log_folder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <sys/stat.h>
#include <vector>

#include "engine/json.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

// 2026-11-21T22:23:47.123+01:00 1350 warning Text
std::optional<LogLine> text_line(const std::string& text) {
  constexpr std::size_t time_bytes = 29, seconds_bytes = 23;
  if (text.size() <= time_bytes || text[time_bytes] != ' ') return std::nullopt;
  const std::optional<TimeUs> local = parse_time(text.substr(0, seconds_bytes) + "Z");
  int hours = 0, minutes = 0;
  char sign = '+';
  if (!local || std::sscanf(text.c_str() + seconds_bytes, "%c%2d:%2d", &sign, &hours, &minutes) != 3)
    return std::nullopt;
  const std::int64_t ahead_us = (sign == '-' ? -1 : 1) * (hours * 60 + minutes) * std::int64_t{60'000'000};
  char* after = nullptr;
  const std::int64_t pid = std::strtoll(text.c_str() + time_bytes, &after, 10);
  const std::string rest(after);
  if (rest.empty() || rest.front() != ' ') return std::nullopt;
  const std::optional<LogLevel> level = parse_log_level(rest.substr(1, rest.find(' ', 1) - 1));
  if (!level) return std::nullopt;
  return LogLine{*local - ahead_us, pid, *level, text};
}

std::optional<LogLine> json_line(const std::string& text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  const auto word = [&line](const char* name) {
    const auto found = line.find(name);
    return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  const std::optional<TimeUs> at = parse_time(word("at"));
  const std::optional<LogLevel> level = parse_log_level(word("level"));
  const auto pid = line.find("pid");
  if (!at || !level || pid == line.end() || !pid->is_number_integer()) return std::nullopt;
  return LogLine{*at, pid->get<std::int64_t>(), *level, text};
}

}  // namespace

std::string log_file_of(const std::string& folder, const std::string& name) {
  std::error_code ignored;  // without a folder the file is not written, and the log on stderr has it all
  if (fs::create_directories(folder, ignored)) fs::permissions(folder, fs::perms::owner_all, ignored);
  return folder + "/" + name + ".log";
}

std::optional<LogLine> parse_log_line(const std::string& text) {
  return text.starts_with('{') ? json_line(text) : text_line(text);
}

std::string message_of(const LogLine& line) {
  if (!parse_log_line(line.text)) return line.text;
  const std::size_t pid = line.text.find(' '), level = line.text.find(' ', pid + 1);
  const std::size_t text = line.text.find(' ', level + 1);
  return text == std::string::npos ? "" : line.text.substr(text + 1);
}

struct LogReader::Place {
  ino_t inode = 0;
  std::int64_t offset = 0;
};

class LogReader::File {
 public:
  explicit File(const std::string& path) : file_(std::fopen(path.c_str(), "re")) {
    struct stat here {};
    if (file_ != nullptr && fstat(fileno(file_), &here) == 0) place_.inode = here.st_ino;
  }
  ~File() {
    if (file_ != nullptr) std::fclose(file_);
    std::free(line_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool is_there() const { return file_ != nullptr; }
  const Place& place() const { return place_; }
  void go_on_at(std::int64_t offset) {
    if (std::fseek(file_, static_cast<long>(offset), SEEK_SET) == 0) place_.offset = offset;
  }
  // Without its end of line; nothing where no complete line follows.
  std::optional<std::string> next() {
    const ssize_t length = getline(&line_, &room_, file_);
    if (length <= 0 || line_[length - 1] != '\n') return std::nullopt;
    place_.offset += length;
    return std::string(line_, static_cast<std::size_t>(length - 1));
  }

 private:
  FILE* file_;
  Place place_;
  char* line_ = nullptr;
  std::size_t room_ = 0;
};

// One process's lines: those of the file before, then those of its present file.
class LogReader::Source {
 public:
  Source(const std::string& path, const Place& read) {
    auto now = std::make_unique<File>(path);  // first, so that a rename meanwhile shows the same file twice
    auto before = std::make_unique<File>(path + ".1");
    if (!now->is_there()) return;
    const bool goes_on = now->place().inode == read.inode;
    if (before->is_there() && !goes_on && before->place().inode != now->place().inode) {
      if (before->place().inode == read.inode) before->go_on_at(read.offset);
      files_.push_back(std::move(before));
    }
    if (goes_on) now->go_on_at(read.offset);
    files_.push_back(std::move(now));
    step();
  }

  const std::optional<LogLine>& front() const { return front_; }
  Place place() const { return files_.empty() ? Place{} : files_.back()->place(); }

  void step() {
    front_.reset();
    while (!files_.empty()) {
      if (const std::optional<std::string> text = files_.front()->next()) return begin(*text);
      if (files_.size() == 1) return;
      files_.pop_front();
    }
  }

 private:
  void begin(const std::string& text) {
    front_ = parse_log_line(text);
    if (!front_) front_ = LogLine{entry_.at_us, entry_.pid, entry_.level, text};
    entry_ = {front_->at_us, front_->pid, front_->level, ""};
  }

  std::deque<std::unique_ptr<File>> files_;
  std::optional<LogLine> front_;
  LogLine entry_;  // the last one, without its text
};

LogReader::LogReader(std::string folder) : folder_(std::move(folder)) {}
LogReader::~LogReader() = default;

bool LogReader::read(const std::function<void(const LogLine&)>& take) {
  std::map<std::string, Source> sources;
  std::error_code fault;
  for (const auto& entry : fs::directory_iterator(folder_, fault)) {
    const std::string path = entry.path().string();
    if (entry.path().extension() == ".log") sources.try_emplace(path, path, places_[path]);
  }
  for (;;) {
    Source* next = nullptr;
    for (auto& [path, source] : sources)
      if (source.front() && (next == nullptr || source.front()->at_us < next->front()->at_us)) next = &source;
    if (next == nullptr) break;
    take(*next->front());
    next->step();
  }
  for (const auto& [path, source] : sources) places_[path] = source.place();
  return !sources.empty();
}

}  // namespace cairn
