#include "tests/faults/machine.hpp"

#include <filesystem>
#include <gtest/gtest.h>
#include <unistd.h>

namespace cairn::program {
namespace fs = std::filesystem;
namespace {

constexpr const char* ip_program = "/usr/sbin/ip";
constexpr const char* their_end = "cable";

// One of four addresses of a block of this process, in a network that is set aside for measurements (RFC 2544).
std::string address_in_block(int number) {
  const int block = static_cast<int>(getpid()) % (1 << 15);
  return "198." + std::to_string(18 + (block >> 14)) + "." + std::to_string(block >> 6 & 0xff) + "." +
         std::to_string((block & 0x3f) * 4 + number);
}

fs::path network_of(pid_t process) {
  std::error_code none;
  return fs::read_symlink("/proc/" + std::to_string(process) + "/ns/net", none);
}

}  // namespace

Machine::Machine()
    : cable_("cairn" + std::to_string(getpid())),
      ours_(address_in_block(1)),
      address_(address_in_block(2)),
      holder_("/usr/bin/setpriv", {"--pdeathsig", "KILL", "/usr/bin/unshare", "--net", "/usr/bin/sleep", "infinity"}) {
  if (geteuid() != 0 || !fs::exists(ip_program)) return;
  const auto is_apart = [&] {
    const fs::path network = network_of(holder_.pid());
    return !network.empty() && network != network_of(getpid());
  };
  is_there_ = wait_until([&] { return is_apart() || holder_.has_ended(); }) && is_apart() && lay_cable();
}

Machine::~Machine() {
  if (is_there_) run_program(ip_program, {"link", "delete", cable_});
}

Arguments Machine::inside() const {
  return {"/usr/bin/nsenter", "--net=/proc/" + std::to_string(holder_.pid()) + "/ns/net", "--"};
}

bool Machine::run_inside(const Arguments& command) const {
  Arguments words = inside();
  words.insert(words.end(), command.begin(), command.end());
  return run_program(words.front(), {words.begin() + 1, words.end()}).exit == 0;
}

// Our end knows the other one for good: else it would say after seconds without an answer that there is no such host.
bool Machine::lay_cable() const {
  const auto run = [](const Arguments& command) { return run_program(ip_program, command).exit == 0; };
  const std::string holder = std::to_string(holder_.pid()), theirs = "02:00:00:00:00:02";
  return run({"link", "add", cable_, "type", "veth", "peer", "name", their_end, "address", theirs, "netns", holder}) &&
         run({"address", "add", ours_ + "/30", "dev", cable_}) && run({"link", "set", cable_, "up"}) &&
         run({"neighbour", "replace", address_, "lladdr", theirs, "nud", "permanent", "dev", cable_}) &&
         run_inside({ip_program, "address", "add", address_ + "/30", "dev", their_end}) &&
         run_inside({ip_program, "link", "set", "lo", "up"}) &&
         run_inside({ip_program, "link", "set", their_end, "up"});
}

void Machine::cut() const { EXPECT_TRUE(run_inside({ip_program, "link", "set", their_end, "down"})); }
void Machine::join() const { EXPECT_TRUE(run_inside({ip_program, "link", "set", their_end, "up"})); }

}  // namespace cairn::program
