// The key that signs links of the console, shared by all servers of a database: made when the first link is, read by
// those that follow. Uses an Administration of its own, opened at the first use. Safe from any thread (one lock).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/result.hpp"
#include "storage/digest.hpp"

namespace cairn {

class SharedAdministration;

// HMAC with SHA-256 (RFC 2104).
Hash hmac_sha256(std::string_view key, std::string_view bytes);
// In a time that does not depend on where the two differ.
bool is_same_code(std::string_view a, std::string_view b);

class LinkKey {
 public:
  explicit LinkKey(std::string dsn);
  ~LinkKey();
  LinkKey(const LinkKey&) = delete;
  LinkKey& operator=(const LinkKey&) = delete;

  // 32 random bytes. Read from the database each time, so that a key that was removed there signs no more. Refuses
  // `unavailable`.
  Result<std::string> read();

 private:
  std::unique_ptr<SharedAdministration> database_;
};

}  // namespace cairn
