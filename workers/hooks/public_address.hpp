// Addresses of the public internet, as opposed to those of this machine and of networks around it. Pure functions,
// safe from any thread.
#pragma once

#include <string>

namespace cairn {

// False for a text that is no address, and for loopback, private, link-local (where clouds keep their metadata),
// shared, reserved and multicast ones, also where an IPv6 address carries such an IPv4 address.
bool is_public_address(const std::string& text);

}  // namespace cairn
