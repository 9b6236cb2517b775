#include "tests/ops/free_port.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <random>
#include <sys/socket.h>
#include <unistd.h>

namespace cairn::program {

std::string free_port() {
  std::random_device random;
  for (int tries = 0; tries < 100; ++tries) {
    const auto port = static_cast<std::uint16_t>(std::uniform_int_distribution<int>(15'000, 31'999)(random));
    const int listening = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool is_free = bind(listening, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    close(listening);
    if (is_free) return std::to_string(port);
  }
  ADD_FAILURE() << "no port is free";
  return "0";
}

}  // namespace cairn::program
