// The system's time zones: files of the zone database, read when they are first asked for and again when they have
// changed, so that a process takes up a new edition while it runs. Not thread-safe.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/time_zone.hpp"

namespace cairn {

struct KnownZone {
  TimeZone zone;
  std::string mark;  // names the file's bytes
};

class ZoneFiles {
 public:
  // `folder` "": what TZDIR names, else /usr/share/zoneinfo. UTC needs no file.
  explicit ZoneFiles(std::string folder = "");

  // Refuses `not_found`: no such zone (with the name that is nearest); `invalid`: its file cannot be read.
  Result<std::shared_ptr<const KnownZone>> find(const std::string& name);

  // Looks whether files that were read have changed; those are read again when they are next asked for.
  void check_for_changes();

 private:
  struct Stamp {
    std::int64_t device = 0, inode = 0, bytes = 0, changed_ns = 0;
    bool operator==(const Stamp&) const = default;
  };
  struct Read {
    std::shared_ptr<const KnownZone> zone;
    Stamp stamp;
  };

  std::string path_of(const std::string& name) const { return folder_ + "/" + name; }
  static std::optional<Stamp> stamp_of(const std::string& path);
  Error no_such_zone(const std::string& name) const;

  const std::string folder_;
  std::map<std::string, Read> read_;
};

}  // namespace cairn
