// A file system of its own that can be filled or made read-only, below the tests' directory. Mounting is for root
// alone: without it `is_there` is false. Not thread-safe.
#pragma once

#include <filesystem>
#include <string>

namespace cairn::program {

class SmallDisk {
 public:
  SmallDisk(const std::string& name, int megabytes);
  ~SmallDisk();
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_there() const { return is_there_; }
  const std::filesystem::path& place() const { return place_; }
  void grow(int megabytes) const;
  void fill() const;
  void empty() const;
  // Mounts it again, where nothing may be written or where it may. Waits until no file is open to be written there.
  void mount_read_only(bool is_read_only) const;

 private:
  std::filesystem::path place_;
  bool is_there_ = false;
};

}  // namespace cairn::program
