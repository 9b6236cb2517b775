#include "workers/ids.hpp"

#include <algorithm>
#include <chrono>
#include <string>

#include "storage/chain.hpp"

namespace cairn {
namespace {

RunId with_version(RunId id, std::uint8_t version) {
  id.bytes[6] = static_cast<std::uint8_t>((id.bytes[6] & 0x0f) | version << 4);
  id.bytes[8] = static_cast<std::uint8_t>((id.bytes[8] & 0x3f) | 0x80);
  return id;
}

}  // namespace

std::mt19937_64& thread_random() {
  thread_local std::mt19937_64 random{(std::uint64_t{std::random_device{}()} << 32) | std::random_device{}()};
  return random;
}

RunId keyed_run_id(std::string_view graph, std::string_view key) {
  std::string name(graph);
  name.push_back('\0');
  name += key;
  const Hash hash = sha256(name);
  RunId id;
  std::copy_n(hash.begin(), id.bytes.size(), id.bytes.begin());
  return with_version(id, 8);
}

RunId new_run_id() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  const std::uint64_t high = thread_random()();
  const std::uint64_t low = thread_random()();
  RunId id;
  for (std::size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  for (std::size_t i = 6; i < 8; ++i) id.bytes[i] = static_cast<std::uint8_t>(high >> (8 * i));
  for (std::size_t i = 8; i < 16; ++i) id.bytes[i] = static_cast<std::uint8_t>(low >> (8 * (i - 8)));
  return with_version(id, 7);
}

SessionId new_session_id() {
  const auto id = static_cast<SessionId>(thread_random()() >> 11);
  return id == 0 ? 1 : id;
}

}  // namespace cairn
