// A server on a thread of its own, as long as it lives: for probes and metrics of a process that has other work. Used
// from one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "ops/http/transport/server.hpp"

namespace cairn {

class ServerThread {
 public:
  // `give_up`: as HttpServer::run() has it.
  ServerThread(std::unique_ptr<HttpServer> server, std::function<void()> give_up);
  ~ServerThread();
  ServerThread(const ServerThread&) = delete;
  ServerThread& operator=(const ServerThread&) = delete;

  std::string address() const;  // with the port it got

 private:
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

}  // namespace cairn
