// A process that is short of descriptors, for tests of what it says then. Not thread-safe.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cairn::testing {

// While it lives, this process opens none.
class FewDescriptors {
 public:
  FewDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(STDIN_FILENO);
    ::close(next);
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(next);
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

// The undefined behaviour sanitizer opens a pipe to look at an exception.
#if defined(__has_feature)
inline constexpr bool needs_descriptors_itself = __has_feature(undefined_behavior_sanitizer);
#else
inline constexpr bool needs_descriptors_itself = false;
#endif

}  // namespace cairn::testing
