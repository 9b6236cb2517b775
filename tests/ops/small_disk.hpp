// A file system of its own that can be filled, below the tests' directory. Mounting is for root alone: without it
// `is_there` is false. Not thread-safe.
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

 private:
  std::filesystem::path place_;
  bool is_there_ = false;
};

}  // namespace cairn::program
