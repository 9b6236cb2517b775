// Compression of answers with gzip (RFC 1952), for clients that accept it. Safe from any thread.
#pragma once

#include <string>
#include <string_view>

#include "ops/http/transport/message.hpp"

namespace cairn {

inline constexpr std::size_t compressed_bytes_min = 8 << 10;  // of a body; a smaller one gains little

// Whether Accept-Encoding names gzip, or "*", and not with a weight of 0.
bool accepts_gzip(std::string_view accept_encoding);

std::string gzipped(std::string_view bytes);

// A body of JSON, lines of JSON or text that is large enough becomes smaller, for a client that accepts it; caches
// learn by Vary that it is so. Its tag becomes a weak one: the same content in other bytes. Any other response as it
// is.
ApiResponse compressed_response(const ApiRequest& request, ApiResponse response);

}  // namespace cairn
