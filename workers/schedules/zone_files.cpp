#include "workers/schedules/zone_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sys/stat.h>

#include "engine/json.hpp"
#include "engine/nearest.hpp"
#include "storage/digest.hpp"

namespace cairn {
namespace {

constexpr std::size_t zone_name_bytes_max = 64;
constexpr std::size_t zone_file_bytes_max = 1'000'000;
constexpr std::size_t mark_digits = 16;

std::string zone_folder() {
  const char* named = std::getenv("TZDIR");
  return named == nullptr || *named == '\0' ? "/usr/share/zoneinfo" : named;
}

// A path below the folder, as all names of zones are.
bool is_zone_name(const std::string& name) {
  const auto may_stand = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '+' || c == '/';
  };
  return !name.empty() && name.size() <= zone_name_bytes_max && name.front() != '/' && name.back() != '/' &&
         std::all_of(name.begin(), name.end(), may_stand);
}

// The names in the third column of the table that comes with the files.
std::vector<std::string> known_zones(const std::string& folder) {
  std::vector<std::string> names{"UTC"};
  std::ifstream table(folder + "/zone1970.tab");
  for (std::string line; std::getline(table, line) && names.size() < 2'000;) {
    if (line.empty() || line.front() == '#') continue;
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::size_t end = std::min(line.find('\t', second + 1), line.size());
    names.push_back(line.substr(second + 1, end - second - 1));
  }
  return names;
}

}  // namespace

ZoneFiles::ZoneFiles(std::string folder) : folder_(folder.empty() ? zone_folder() : std::move(folder)) {}

std::optional<ZoneFiles::Stamp> ZoneFiles::stamp_of(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
  return Stamp{static_cast<std::int64_t>(found.st_dev), static_cast<std::int64_t>(found.st_ino), found.st_size,
               found.st_mtim.tv_sec * 1'000'000'000 + found.st_mtim.tv_nsec};
}

Error ZoneFiles::no_such_zone(const std::string& name) const {
  const bool is_name = is_zone_name(name);
  return {Code::not_found, "Expected a time zone of the system's database, but found " +
                               excerpt(Json(name), zone_name_bytes_max) +
                               (is_name ? did_you_mean(name, known_zones(folder_)) : "") + "."};
}

Result<std::shared_ptr<const KnownZone>> ZoneFiles::find(const std::string& name) {
  if (const auto known = read_.find(name); known != read_.end()) return known->second.zone;
  if (name == "UTC") {
    const auto utc = std::make_shared<const KnownZone>(KnownZone{TimeZone::utc(), "utc"});
    read_[name] = {utc, {}};
    return utc;
  }
  const std::optional<Stamp> stamp = is_zone_name(name) ? stamp_of(path_of(name)) : std::nullopt;
  if (!stamp) return no_such_zone(name);
  std::ifstream in(path_of(name), std::ios::binary);
  std::string bytes(std::min(static_cast<std::size_t>(stamp->bytes), zone_file_bytes_max + 1), '\0');
  in.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (!bytes.starts_with("TZif")) return no_such_zone(name);
  Result<TimeZone> zone = TimeZone::parse(bytes);
  if (!zone) return Error{Code::invalid, "In the file of time zone " + name + ": " + zone.error().message};
  const auto read =
      std::make_shared<const KnownZone>(KnownZone{*std::move(zone), hex(sha256(bytes)).substr(0, mark_digits)});
  read_[name] = {read, *stamp};
  return read;
}

void ZoneFiles::check_for_changes() {
  std::erase_if(read_, [this](const auto& one) {
    return one.first != "UTC" && stamp_of(path_of(one.first)) != one.second.stamp;
  });
}

}  // namespace cairn
