// The reader of hooks: reads the feed for hooks whose time has come, and keeps what it finds there as notices. Any
// number of processes may have one: a hook is read by the one that took it last, and each may die at any point. Without
// threads. Not thread-safe.
//
// Order of a scan: 1. take the hook; 2. read a page of its consumer; 3. keep the notices, in one transaction; 4.
// confirm the page. A process that dies before 4 leaves a page that is read again, and whose notices are there already.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "storage/store.hpp"
#include "workers/hooks/hook_feed.hpp"

namespace cairn {

// The run's questions wait: it was not started with `autonomy: full`, by which each is answered or expires at once.
// True of a run whose first event is gone, or cannot be read: rather one notice too many. Throws as the store.
bool waits_for_answers(Store& store, const RunId& run);

// The process around a reader.
struct HookReaderSurroundings {
  std::function<TimeUs()> steady_us;                  // a clock for the pauses of this process
  std::function<void(const std::string& says)> warn;  // for the log
};

class HookReader {
 public:
  // REQUIRES: what `calls`, `feed` and `around` refer to, and `store`, outlive this.
  HookReader(HookCalls calls, HookFeed feed, Store& store, HookReaderSurroundings around);

  // Reads the feed for one hook; false: none is due. Throws StoreUnavailable, PostgresError.
  bool scan();

 private:
  // This process's memory of a hook; all times are steady.
  struct Memory {
    TimeUs created_at = 0;  // of the hook: another one of its name begins with none
    std::string confirmed = {};
    TimeUs trimmed_at = 0;   // all that was over, or the first scan
    TimeUs searched_at = 0;  // when the search for standstills may begin again
  };

  void scan_for(HookRow row);
  void end_removal(const HookRow& row);
  void prepare(HookRow row, const HookDefinition& hook);
  void note_gap(HookRow row, const std::string& says);
  void search_stalled(HookScan& scan, const HookDefinition& hook, TimeUs now_us);
  void confirm(const HookRow& row, const std::string& cursor);
  void trim(const HookRow& row);
  void put_off(HookRow row, TimeUs pause_us);
  Memory& memory_of(const HookRow& row);
  void forget_gone();

  const HookCalls calls_;
  const HookFeed feed_;
  Store& store_;
  const HookReaderSurroundings around_;
  std::map<std::string, Memory> memory_;
};

}  // namespace cairn
