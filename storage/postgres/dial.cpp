#include "storage/postgres/dial.hpp"

#include <algorithm>
#include <charconv>
#include <libpq-fe.h>
#include <netdb.h>
#include <new>
#include <poll.h>
#include <set>
#include <string_view>
#include <sys/socket.h>

#include "storage/clock.hpp"

namespace cairn {
namespace {

using DialSettings = std::vector<std::pair<std::string, std::string>>;

constexpr TimeUs dial_slice_us = 100'000;   // how soon it is noticed that nothing is waited for any more
constexpr TimeUs share_min_us = 1'000'000;  // of one address

struct DialPlace {
  std::string host;     // a name, a folder of a socket, or "": libpq's own
  std::string address;  // "": to be looked up
  std::string port;
  auto operator<=>(const DialPlace&) const = default;
};

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

// Where libpq is now.
DialPlace dialled_place(const PGconn* connection) {
  return {text_of(PQhost(connection)), text_of(PQhostaddr(connection)), text_of(PQport(connection))};
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> parts(1);
  for (const char letter : list)
    if (letter == ',')
      parts.emplace_back();
    else
      parts.back() += letter;
  return parts;
}

// The settings that libpq has come to, from the DSN, its variables and its files.
struct Effective {
  explicit Effective(PGconn* connection) {
    const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> all(PQconninfo(connection), PQconninfoFree);
    if (all == nullptr) throw std::bad_alloc();
    for (const PQconninfoOption* one = all.get(); one->keyword != nullptr; ++one) {
      const std::string_view keyword = one->keyword;
      if (keyword == "host") hosts = text_of(one->val);
      if (keyword == "hostaddr") addresses = text_of(one->val);
      if (keyword == "port") ports = text_of(one->val);
      if (keyword == "connect_timeout") timeout = text_of(one->val);
    }
  }

  // Lists of one length, or empty; one port is that of all.
  std::vector<DialPlace> places() const {
    const std::vector<std::string> names = parts_of(hosts), numbers = parts_of(addresses), doors = parts_of(ports);
    std::vector<DialPlace> all(std::max(names.size(), numbers.size()));
    for (std::size_t at = 0; at < all.size(); ++at) {
      if (at < names.size()) all[at].host = names[at];
      if (at < numbers.size()) all[at].address = numbers[at];
      all[at].port = doors[std::min(at, doors.size() - 1)];
    }
    return all;
  }

  // As libpq has it: none, or two seconds at least.
  TimeUs timeout_us() const {
    int seconds = 0;
    std::from_chars(timeout.data(), timeout.data() + timeout.size(), seconds);
    return seconds <= 0 ? never_us : TimeUs{std::max(seconds, 2)} * 1'000'000;
  }

  std::string hosts, addresses, ports, timeout;
};

std::vector<std::string> addresses_of(const DialPlace& named) {
  std::vector<std::string> all;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(named.host.c_str(), named.port.c_str(), &hints, &found) != 0) return all;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0)
      all.emplace_back(text);
  }
  freeaddrinfo(found);
  return all;
}

bool is_name(const DialPlace& place) {
  return !place.host.empty() && place.address.empty() && !place.host.starts_with('/') && !place.host.starts_with('@');
}

// `met` as libpq says it: it has its own for a host or a port that is not named.
bool is_at(const DialPlace& place, const DialPlace& met) {
  if (!place.port.empty() && place.port != met.port) return false;
  if (!place.address.empty()) return place.address == met.address;
  return place.host.empty() || place.host == met.host || place.host == met.address;
}

class Dialling {
 public:
  Dialling(DialSettings settings, const DialLimits& limits) : settings_(std::move(settings)), limits_(limits) {}

  Result<DialledConnection> run() {
    for (;;) {
      DialledConnection connection = start();
      if (PQstatus(connection.get()) == CONNECTION_BAD) return failure(text_without_end(connection.get()));
      read_settings(connection.get());
      switch (follow(connection.get())) {
        case End::connected:
          return connection;
        case End::refused:
          return failure(text_without_end(connection.get()));
        case End::given_up:
          return failure("nothing is waited for any more");
        case End::silent:
          break;
      }
      const std::vector<DialPlace> left = places_left();
      if (left.empty() || steady_us() >= limits_.until_us) return failure("no other host or no time is left");
      lead_to(left);
    }
  }

 private:
  enum class End : std::uint8_t { connected, refused, given_up, silent };

  DialledConnection start() {
    std::vector<const char*> keywords, values;
    for (const auto& [keyword, value] : settings_) {
      keywords.push_back(keyword.c_str());
      values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    DialledConnection connection(PQconnectStartParams(keywords.data(), values.data(), 1));
    if (connection == nullptr) throw std::bad_alloc();
    return connection;
  }

  void read_settings(PGconn* connection) {
    const Effective effective(connection);
    places_ = effective.places();
    if (is_twice_) places_.pop_back();
    timeout_us_ = effective.timeout_us();
    next_ = 0;
  }

  // Until the connection is made, none can be, or a host that has taken it says no more. libpq goes on from one place
  // to the next by itself where one refuses.
  End follow(PGconn* connection) {
    PostgresPollingStatusType wanted = PGRES_POLLING_WRITING;
    begin_at(dialled_place(connection));
    for (;;) {
      if (limits_.is_given_up != nullptr && *limits_.is_given_up) return End::given_up;
      if (is_ready(PQsocket(connection), wanted)) {
        wanted = PQconnectPoll(connection);
        if (wanted == PGRES_POLLING_OK) return End::connected;
        if (wanted == PGRES_POLLING_FAILED) return End::refused;
        if (const DialPlace now = dialled_place(connection); now != here_) {
          begin_at(now);
          if (silent_.contains(here_)) return End::silent;  // libpq has come back to it
        }
      } else if (steady_us() >= here_until_us_) {
        const bool is_new = note_silence();
        const bool is_over = steady_us() >= limits_.until_us;
        if (is_over || PQstatus(connection) != CONNECTION_STARTED || !is_new) return End::silent;
        // Nothing came back from there, not even that it is reached: libpq takes this for a refusal, and goes on.
        shutdown(PQsocket(connection), SHUT_RDWR);
        begin_at(here_);
      }
    }
  }

  // False after a while.
  bool is_ready(int socket, PostgresPollingStatusType wanted) const {
    pollfd wait{socket, static_cast<short>(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
    const TimeUs left_us = std::clamp<TimeUs>(here_until_us_ - steady_us(), 0, dial_slice_us);
    return poll(&wait, 1, static_cast<int>((left_us + 999) / 1'000)) > 0;
  }

  void begin_at(DialPlace place) {
    here_ = std::move(place);
    for (std::size_t step = 0; step < places_.size(); ++step)
      if (const std::size_t at = (next_ + step) % places_.size(); is_at(places_[at], here_)) {
        next_ = at;
        break;
      }
    const TimeUs now_us = steady_us();
    TimeUs mine_us = timeout_us_;
    if (limits_.until_us != never_us) {
      const TimeUs share_us = (limits_.until_us - now_us) / static_cast<TimeUs>(places_.size() - next_);
      mine_us = std::min(mine_us, std::max(share_us, share_min_us));
    }
    here_until_us_ = mine_us == never_us ? never_us : std::min(now_us + mine_us, limits_.until_us);
    begun_us_ = now_us;
  }

  bool note_silence() {
    const std::string address = here_.address.empty() || here_.address == here_.host ? "" : " (" + here_.address + ")";
    says_ += here_.host + address + ", port " + here_.port + ", said nothing for " +
             std::to_string((steady_us() - begun_us_) / 1'000) + " ms; ";
    return silent_.insert(here_).second;
  }

  // All but those that said nothing, and the other addresses of a silent one's name. libpq comes back to the first
  // place where it prefers some kind of server and has found none.
  std::vector<DialPlace> places_left() const {
    std::vector<DialPlace> left;
    for (const DialPlace& place : places_) {
      const auto is_there = [&](const DialPlace& met) { return is_at(place, met); };
      if (std::none_of(silent_.begin(), silent_.end(), is_there))
        left.push_back(place);
      else if (is_name(place))
        for (const std::string& address : addresses_of(place))
          if (!silent_.contains({place.host, address, here_.port})) left.push_back({place.host, address, place.port});
    }
    return left;
  }

  // libpq passes over an empty setting, and a comma is none: a single place with something empty stands there twice.
  void lead_to(std::vector<DialPlace> places) {
    const DialPlace first = places.front();
    is_twice_ = places.size() == 1 && (first.host.empty() || first.address.empty() || first.port.empty());
    if (is_twice_) places.push_back(first);
    std::string hosts, addresses, ports;
    for (std::size_t at = 0; at < places.size(); ++at) {
      const char* comma = at == 0 ? "" : ",";
      hosts += comma + places[at].host;
      addresses += comma + places[at].address;
      ports += comma + places[at].port;
    }
    for (const auto& [keyword, list] : {std::pair("host", hosts), {"hostaddr", addresses}, {"port", ports}})
      settings_.emplace_back(keyword, list);
  }

  // libpq ends its sentences with a line feed.
  static std::string text_without_end(const PGconn* connection) {
    std::string text = PQerrorMessage(connection);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  Error failure(const std::string& text) const { return {Code::unavailable, says_ + text}; }

  DialSettings settings_;
  const DialLimits limits_;
  std::vector<DialPlace> places_;
  std::size_t next_ = 0;   // the one of them that libpq is at
  bool is_twice_ = false;  // the only place
  TimeUs timeout_us_ = never_us;
  DialPlace here_;
  TimeUs begun_us_ = 0;
  TimeUs here_until_us_ = never_us;
  std::set<DialPlace> silent_;
  std::string says_;  // of them
};

}  // namespace

void CloseConnection::operator()(pg_conn* connection) const { PQfinish(connection); }

Result<DialledConnection> dial(const std::vector<std::pair<std::string, std::string>>& settings,
                               const DialLimits& limits) {
  return Dialling(settings, limits).run();
}

}  // namespace cairn
