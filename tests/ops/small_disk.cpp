#include "tests/ops/small_disk.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/ops/program.hpp"

namespace cairn::program {
namespace fs = std::filesystem;
namespace {

std::string size_of(int megabytes) { return "size=" + std::to_string(megabytes) + "m"; }

}  // namespace

SmallDisk::SmallDisk(const std::string& name, int megabytes) : place_(directory() / name) {
  fs::create_directory(place_);
  is_there_ = mount("cairn-test", place_.c_str(), "tmpfs", 0, ("mode=755," + size_of(megabytes)).c_str()) == 0;
}

SmallDisk::~SmallDisk() {
  if (is_there_) umount2(place_.c_str(), MNT_DETACH);
}

void SmallDisk::grow(int megabytes) const {
  EXPECT_EQ(mount("cairn-test", place_.c_str(), "tmpfs", MS_REMOUNT, size_of(megabytes).c_str()), 0);
}

void SmallDisk::fill() const {
  std::ofstream file(place_ / "filler", std::ios::binary);
  const std::string block(4096, 'x');
  while (file.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

void SmallDisk::empty() const { fs::remove(place_ / "filler"); }

void SmallDisk::mount_read_only(bool is_read_only) const {
  const unsigned long flags = MS_REMOUNT | (is_read_only ? MS_RDONLY : 0);
  EXPECT_TRUE(wait_until([&] { return mount("cairn-test", place_.c_str(), "tmpfs", flags, nullptr) == 0; }));
}

}  // namespace cairn::program
