// Trouble with the calls of a simulated process: before or after a call has landed the process may die, or its database
// fail it. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "storage/store.hpp"
#include "workers/simulation/chance.hpp"

namespace cairn::simulation {

struct ProcessDied {};

class CallTrouble {
 public:
  // Counts in `had` what happened to `who`, at one in `rarity` of the points. REQUIRES: both references outlive it.
  CallTrouble(Chance& chance, std::map<std::string, std::int64_t>& had, std::string who, std::uint64_t rarity)
      : chance_(chance), had_(had), who_(std::move(who)), rarity_(rarity) {}

  // The call's result. Throws ProcessDied, StoreUnavailable.
  template <class Call>
  auto at(Call&& call) {
    may_fail("before");
    if constexpr (std::is_void_v<decltype(call())>) {
      call();
      may_fail("after");
    } else {
      auto answer = call();
      may_fail("after");
      return answer;
    }
  }

  bool is_on = true;
  std::function<bool()> is_out = [] { return false; };  // the database, for all

 private:
  void may_fail(const std::string& where) {
    if (!is_on) return;
    if (is_out()) throw StoreUnavailable("simulated");
    if (!chance_.one_in(rarity_)) return;
    const bool dies = chance_.one_in(2);
    ++had_[who_ + (dies ? " died " : "'s call failed ") + where];
    if (dies) throw ProcessDied{};
    throw StoreUnavailable("simulated");
  }

  Chance& chance_;
  std::map<std::string, std::int64_t>& had_;
  const std::string who_;
  const std::uint64_t rarity_;
};

}  // namespace cairn::simulation
