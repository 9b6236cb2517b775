// The part of a page that matters to a task, where the whole is too long for a prompt. Pure functions, safe from any
// thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cairn {

// The DOM as it is, if it has at most so many bytes. Else its elements that lie over the rest or show errors, those
// with words of `task`, those around them, and of the others first what can be acted upon; in their order, each within
// what encloses it, with "..." in the place of what is left out. A word counts the more, the fewer elements have it.
std::string relevant_dom(std::string_view dom, std::string_view task, std::size_t bytes_max);

}  // namespace cairn
