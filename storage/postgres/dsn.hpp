// PostgreSQL connection strings (DSNs) as texts. Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/result.hpp"

namespace cairn {

// Refuses `invalid` a text, given in `place`, that is no connection string or URL, and one whose port is no number or
// whose host or database has an "@": what libpq, which quotes these, takes from a password with an unescaped "/". The
// sentence shows nothing of the text but the name of an unknown option, because it may hold a password.
Status check_dsn(const std::string& dsn, const std::string& place);

// "host='a' dbname='b'": the settings without secrets. "" for a text that cannot be read.
std::string public_dsn(const std::string& dsn);

// The settings of a DSN as libpq's variables, and as a DSN those for which there are none, without secrets. REQUIRES:
// check_dsn().
struct DsnVariables {
  std::vector<std::pair<std::string, std::string>> variables;  // name and value
  std::string rest;
};
DsnVariables variables_of(const std::string& dsn);

// The DSN with limits on a network that loses everything, where it has none of its own and neither has the environment:
// 5 s to connect to a host, 3 s to each of several, and a silent peer is given up after about 15 s. Without them a
// connection to a machine that is gone is waited for two hours. A text that cannot be read is returned as it is.
std::string with_network_limits(const std::string& dsn);

// The same for the server's end, as settings of a session. Without them the server keeps the connection of a client
// whose machine is gone for two hours: it counts for max_connections, and its session's locks stay.
inline constexpr std::string_view limits_of_server_end =
    "SET tcp_keepalives_idle = '5s'; SET tcp_keepalives_interval = '3s'; SET tcp_keepalives_count = 3; "
    "SET tcp_user_timeout = '10s'; ";

// The DSN, with another host and port; one that names several hosts then names this one alone.
std::string with_host(const std::string& dsn, const std::string& host, const std::string& port);

// The pooler between this program and the server, as CAIRN_POOLER says: `transaction`, a pooler that gives each
// transaction another connection of the server; `session`, one that does not. Without it a pooler is found out, and
// taken for the first kind. Refuses `invalid` any other word.
enum class Pooler : std::uint8_t { found_out, session, transaction };
Result<Pooler> pooler_of_environment();

// Connection strings besides that of the database, given by the environment; "": none.
// CAIRN_DSN_DIRECT: the same server without the pooler, where notifications are listened to.
std::string direct_dsn_of_environment();
// CAIRN_READ_DSN: a replica of the database, for reads that may lag.
std::string read_dsn_of_environment();
// Refuses `invalid` one of them that check_dsn refuses.
Status check_dsns_of_environment();

// The folder of the server's socket, if the DSN names the server by it; otherwise "".
std::string socket_folder_of(const std::string& dsn);

// The way to the server that libpq would take, its variables included.
struct ServerWay {
  bool is_local = true;  // a socket of this machine, or loopback addresses alone
  std::string sslmode = "prefer";
};
ServerWay way_to_server(const std::string& dsn);

}  // namespace cairn
