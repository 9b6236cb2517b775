#include "workers/tools/page/devtools.hpp"

#include <cerrno>
#include <chrono>
#include <exception>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "workers/ports/untrusted_text.hpp"

namespace cairn {
namespace {

constexpr auto command_max = std::chrono::seconds(30);
constexpr int write_ms_max = 30'000;
constexpr int look_at_end_ms = 500;
constexpr std::size_t chunk_bytes = 64 * 1024;

// A socket in place of two pipes: writing to one whose other end is gone need not raise SIGPIPE.
std::pair<int, int> new_line() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::system_error(errno, std::generic_category(), "making a line to a browser");
  return {ends[0], ends[1]};
}

bool is_ready(int line, short wanted, int ms) {
  pollfd look{line, wanted, 0};
  return ::poll(&look, 1, ms) > 0;
}

bool write_all(int line, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::send(line, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (written > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      if (!is_ready(line, POLLOUT, write_ms_max)) return false;
    } else if (written == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

void replace_escapes(std::string& text, const std::function<bool(std::string_view)>& is_bad) {
  for (std::size_t at = text.find("\\u"); at != std::string::npos && at + 6 <= text.size();
       at = text.find("\\u", at + 2)) {
    if (is_bad(std::string_view(text).substr(at + 2, 4))) text.replace(at + 2, 4, "fffd");
  }
}

// A page may make texts with NUL or half characters in them, which JSON of ours has not.
Result<Json> read_message(std::string_view text) {
  static constexpr const char* what = "Chromium's message";
  Result<Json> read = parse_json(text, what);
  if (read || read.error().code == Code::limit) return read;
  std::string clean(text);
  replace_escapes(clean, [](std::string_view digits) { return digits == "0000"; });
  read = parse_json(clean, what);
  if (read) return read;
  replace_escapes(clean, [](std::string_view digits) {
    return (digits[0] == 'd' || digits[0] == 'D') &&
           std::string_view("89abcdefABCDEF").find(digits[1]) != std::string_view::npos;
  });
  return parse_json(clean, what);
}

DevTools::Answer answer_of(const Json& message) {
  const auto error = message.find("error");
  if (error == message.end()) return message.value("result", Json::object());
  const std::string says = error->is_object() ? error->value("message", "") : std::string();
  return BrowserFault{"failed", readable_line(says, 300)};
}

}  // namespace

DevTools::DevTools(const std::vector<std::string>& argv, const std::string& log, OnEvent on_event)
    : on_event_(std::move(on_event)) {
  const auto [ours, its] = new_line();
  line_ = ours;
  try {
    program_.emplace(argv, its, its, log);
  } catch (...) {
    ::close(ours);
    ::close(its);
    throw;
  }
  ::close(its);
  reader_ = std::thread([this] { read_all(); });
}

DevTools::~DevTools() {
  send("Browser.close");
  stops_ = true;
  reader_.join();
  ::close(line_);
}

DevTools::Answer DevTools::call(const std::string& method, Json params, const std::string& session,
                                const std::function<bool()>& gives_up) {
  return finish(begin(method, std::move(params), session), gives_up);
}

std::vector<DevTools::Answer> DevTools::call_all(const std::string& method, std::vector<Json> params,
                                                 const std::string& session, const std::function<bool()>& gives_up) {
  std::vector<std::int64_t> ids;
  ids.reserve(params.size());
  for (Json& one : params) ids.push_back(begin(method, std::move(one), session));
  std::vector<Answer> answers;
  answers.reserve(ids.size());
  for (const std::int64_t id : ids) answers.push_back(finish(id, gives_up));
  return answers;
}

std::int64_t DevTools::begin(const std::string& method, Json params, const std::string& session) {
  std::int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
    awaited_[id] = std::nullopt;
  }
  write(id, method, std::move(params), session);
  return id;
}

DevTools::Answer DevTools::finish(std::int64_t id, const std::function<bool()>& gives_up) {
  std::unique_lock lock(mutex_);
  const auto is_interrupted = [&gives_up] { return gives_up && gives_up(); };
  const bool is_in_time = heard_.wait_for(
      lock, command_max, [&] { return fault_.has_value() || awaited_.at(id).has_value() || is_interrupted(); });
  std::optional<Answer> answer = std::move(awaited_.at(id));
  awaited_.erase(id);
  if (answer) return *std::move(answer);
  if (!fault_ && is_interrupted()) return BrowserFault{"interrupted", "A dialog of the page is open."};
  if (!is_in_time && !fault_) fault_ = BrowserFault{"gone", "Expected Chromium to answer within 30 s, but it did not."};
  return *fault_;
}

void DevTools::send(const std::string& method, Json params, const std::string& session) {
  std::int64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = ++last_id_;
  }
  write(id, method, std::move(params), session);
}

bool DevTools::wait(const std::function<bool()>& holds, std::int64_t ms_max) {
  std::unique_lock lock(mutex_);
  heard_.wait_for(lock, std::chrono::milliseconds(ms_max), [&] { return fault_.has_value() || holds(); });
  return !fault_ && holds();
}

void DevTools::end(BrowserFault fault) {
  const std::lock_guard lock(mutex_);
  if (!fault_) fault_ = std::move(fault);
  heard_.notify_all();
}

std::optional<BrowserFault> DevTools::ended() const {
  const std::lock_guard lock(mutex_);
  return fault_;
}

void DevTools::write(std::int64_t id, const std::string& method, Json params, const std::string& session) {
  Json message = {{"id", id}, {"method", method}, {"params", std::move(params)}};
  if (!session.empty()) message["sessionId"] = session;
  std::string text = canonical(message);
  text += '\0';
  const std::lock_guard lock(writing_);
  if (!write_all(line_, text)) end({"gone", "Expected Chromium to take a command, but it has ended."});
}

void DevTools::read_all() {
  std::string heard;
  std::string chunk(chunk_bytes, '\0');
  while (!stops_ && !ended()) {
    if (!is_ready(line_, POLLIN, look_at_end_ms)) continue;
    const ssize_t bytes = ::recv(line_, chunk.data(), chunk.size(), 0);
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) break;
    std::size_t looked = heard.size();
    heard.append(chunk, 0, static_cast<std::size_t>(bytes));
    std::size_t from = 0;
    for (std::size_t to = 0; (to = heard.find('\0', looked)) != std::string::npos; looked = from = to + 1)
      take(std::string_view(heard).substr(from, to - from));
    heard.erase(0, from);
    if (heard.size() > json_bytes_max)
      end({"gone", "Expected messages of at most 16 MiB from Chromium, but got a longer one."});
  }
  end({"gone", "Expected Chromium to run, but it has ended."});
  program_.reset();  // at once, not when a call asks next
}

void DevTools::take(std::string_view text) {
  try {
    const Result<Json> message = read_message(text);
    if (message && message->is_object()) return hand_on(*message);
  } catch (const std::exception&) {  // a message of another form than the protocol's, or one beyond the memory
  }
  end({"gone", "Expected a message of Chromium, but it cannot be read."});
}

void DevTools::hand_on(const Json& message) {
  if (message.contains("method")) {
    const DevToolsEvent event{message.value("method", ""), message.value("sessionId", ""),
                              message.value("params", Json::object())};
    on_event_(*this, event);
  }
  const std::int64_t id = message.value("id", std::int64_t{0});
  const std::lock_guard lock(mutex_);
  const auto awaited = awaited_.find(id);
  if (awaited != awaited_.end()) awaited->second = answer_of(message);
  heard_.notify_all();
}

}  // namespace cairn
