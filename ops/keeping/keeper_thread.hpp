// The keeper of a process, on a thread of its own: one pass a minute, one after the other while there is more. Used by
// the thread that made it.
#pragma once

#include <memory>

#include "ops/requests/requests.hpp"
#include "ops/service/database.hpp"

namespace cairn {

class KeeperThread {
 public:
  // Keeps in the folder that CAIRN_ARCHIVE names. Without it nothing runs, and the log (info) says so if a graph has a
  // policy. Refuses `invalid`: no such folder can be made; and as open_signing_key(). `opened` outlives it.
  static Result<std::unique_ptr<KeeperThread>> start(const Settings& settings, Opened& opened);

  ~KeeperThread();  // gives up a removal that is under way, which is gone on with later

 private:
  struct Parts;
  explicit KeeperThread(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
