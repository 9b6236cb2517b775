#include "ops/http/serve.hpp"

#include <cstdlib>
#include <iostream>

#include "ops/database.hpp"
#include "ops/http/api.hpp"
#include "ops/terminal/print.hpp"

namespace cairn {
namespace {

void print_ready(const Settings& settings, const std::string& address) {
  if (settings.json)
    print_json({{"ready", true}, {"listen", address}});
  else
    print_line("The API listens on http://" + address + ".");
  std::cout.flush();
}

}  // namespace

Result<Guard> guard_of(const ListenAddress& address) {
  const char* token = std::getenv("CAIRN_TOKEN");
  return Guard::make(address, token == nullptr ? "" : token);
}

Exit serve(const Settings& settings, const ServeOptions& options) {
  Result<Guard> guard = guard_of(options.listen);
  if (!guard) return guard.error();
  Result<Opened> opened = open_database(settings);
  if (!opened) return opened.error();
  Api api(*opened, *std::move(guard), options.limits.threads);
  Result<std::unique_ptr<HttpServer>> server =
      HttpServer::open(options.listen, options.limits,
                       {[&api](const ApiRequest& request) { return api.at_once(request); },
                        [&api](const ApiRequest& request) { return api.is_look(request); },
                        [&api](const ApiRequest& request) { return api.worked_out(request); }});
  if (!server) return server.error();
  print_ready(settings, to_string((*server)->address()));
  (*server)->run();
  return 0;
}

}  // namespace cairn
