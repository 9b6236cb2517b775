// Result: the one form in which a function says no. A refusal is a value, never an exception, in every layer; a bug is
// a CHECK. A reader of nested data may unwind with a private type that its own entry point catches and turns into a
// Result. Plain values: copies may go to any thread.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace cairn {

// The nine reasons for which something asked may not be done.
enum class Code : std::uint8_t {
  invalid,      // the request itself is wrong
  not_found,    // what it names does not exist
  conflict,     // it contradicts what is already recorded
  stale,        // the asker no longer holds what it speaks for
  limit,        // a stated bound would be passed
  closed,       // the run, step or question has already ended
  unavailable,  // something outside (database, model, tool) cannot be reached now
  unsupported,  // written by a newer program than this one
  corrupt,      // a history that cannot be what it claims to be
};

// The code's one word, as it stands in JSON and in logs.
std::string_view to_string(Code code);

// One sentence for a person: "Expected ..., but ...". Carries ids, never secrets.
struct Error {
  Code code = Code::invalid;
  std::string message;
  bool operator==(const Error&) const = default;
};

// For simulations, a failed CHECK throws a CheckFailure instead of ending the process. It is no std::exception, so that
// no `catch` mistakes it for another. Set before anything runs.
struct CheckFailure {
  std::string says;
};
void throw_on_check_failures();

[[noreturn]] void check_failed(const char* condition, const char* file, int line);

// A bug, not a refusal: the process ends, its holds lapse, another worker takes over.
#define CHECK(condition) ((condition) ? static_cast<void>(0) : ::cairn::check_failed(#condition, __FILE__, __LINE__))

// Either a T or the E that says why there is none: an Error for a refusal (the usual case), a Failure (command.hpp)
// for a failed attempt of a step.
template <class T, class E = Error>
class [[nodiscard]] Result {
 public:
  // A default T: Asio's co_spawn makes one to hand on with an exception.
  Result() requires std::default_initializable<T>
  = default;
  Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}
  Result(E error) : value_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return value_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  T& operator*() & { return get(); }
  const T& operator*() const& { return get(); }
  T&& operator*() && { return std::move(get()); }
  T* operator->() { return &get(); }
  const T* operator->() const { return &get(); }

  // REQUIRES: !ok().
  E& error() & {
    CHECK(!ok());
    return *std::get_if<1>(&value_);
  }
  const E& error() const& {
    CHECK(!ok());
    return *std::get_if<1>(&value_);
  }
  E&& error() && {
    CHECK(!ok());
    return std::move(*std::get_if<1>(&value_));
  }

 private:
  T& get() {
    CHECK(ok());
    return *std::get_if<0>(&value_);
  }
  const T& get() const {
    CHECK(ok());
    return *std::get_if<0>(&value_);
  }
  std::variant<T, E> value_;
};

struct Done {
  bool operator==(const Done&) const = default;
};
using Status = Result<Done>;

}  // namespace cairn
