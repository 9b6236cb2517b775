#include "ops/http/transport/server_thread.hpp"

#include <utility>

namespace cairn {

ServerThread::ServerThread(std::unique_ptr<HttpServer> server, std::function<void()> give_up)
    : server_(std::move(server)), thread_([this, give_up = std::move(give_up)] { server_->run(give_up); }) {}

ServerThread::~ServerThread() {
  server_->stop();
  thread_.join();
}

std::string ServerThread::address() const { return to_string(server_->address()); }

}  // namespace cairn
