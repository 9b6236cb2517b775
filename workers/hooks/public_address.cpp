#include "workers/hooks/public_address.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/ip/address.hpp>
#include <cstdint>

namespace cairn {
namespace {

namespace ip = boost::asio::ip;

struct Range4 {
  std::uint32_t first;
  int bits;
};

// IANA's registry of special addresses of IPv4.
constexpr std::array<Range4, 14> special4 = {{{0x00000000, 8},
                                              {0x0A000000, 8},
                                              {0x64400000, 10},
                                              {0x7F000000, 8},
                                              {0xA9FE0000, 16},
                                              {0xAC100000, 12},
                                              {0xC0000000, 24},
                                              {0xC0000200, 24},
                                              {0xC0A80000, 16},
                                              {0xC6120000, 15},
                                              {0xC6336400, 24},
                                              {0xCB007100, 24},
                                              {0xE0000000, 4},
                                              {0xF0000000, 4}}};

bool is_public4(std::uint32_t address) {
  return std::none_of(special4.begin(), special4.end(), [address](const Range4& range) {
    return (address >> (32 - range.bits)) == (range.first >> (32 - range.bits));
  });
}

std::uint32_t number_at(const ip::address_v6::bytes_type& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t n = at; n < at + 4; ++n) number = (number << 8) | bytes[n];
  return number;
}

// Only 2000::/3 is in public use. Its 6to4 and Teredo carry IPv4 addresses, and 2001:db8 is for documents.
bool is_public6(const ip::address_v6& address) {
  const ip::address_v6::bytes_type bytes = address.to_bytes();
  const bool is_mapped = address.is_v4_mapped();
  const bool is_translated = number_at(bytes, 0) == 0x0064FF9B && number_at(bytes, 4) == 0 && number_at(bytes, 8) == 0;
  if (is_mapped || is_translated) return is_public4(number_at(bytes, 12));
  if ((bytes[0] & 0xE0) != 0x20) return false;
  if (bytes[0] == 0x20 && bytes[1] == 0x02) return is_public4(number_at(bytes, 2));
  return number_at(bytes, 0) != 0x20010000 && number_at(bytes, 0) != 0x20010DB8;
}

}  // namespace

bool is_public_address(const std::string& text) {
  boost::system::error_code fault;
  const ip::address address = ip::make_address(text, fault);
  if (fault) return false;
  return address.is_v4() ? is_public4(address.to_v4().to_uint()) : is_public6(address.to_v6());
}

}  // namespace cairn
