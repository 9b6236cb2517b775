#include "storage/ground/library_versions.hpp"

#include <libpq-fe.h>
#include <openssl/crypto.h>
#include <pqxx/version>

namespace cairn {

std::map<std::string, std::string> storage_library_versions() {
  const int libpq = PQlibVersion();
  return {{"libpq", std::to_string(libpq / 10'000) + "." + std::to_string(libpq % 10'000)},
          {"libpqxx", PQXX_VERSION},
          {"openssl", OpenSSL_version(OPENSSL_VERSION_STRING)}};
}

}  // namespace cairn
