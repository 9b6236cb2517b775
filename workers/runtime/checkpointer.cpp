#include "workers/runtime/checkpointer.hpp"

#include <algorithm>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <spdlog/spdlog.h>

#include "storage/clock.hpp"
#include "storage/proof/checkpoint_files.hpp"
#include "workers/ids.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr std::int64_t pause_ms_max = 1'000;
constexpr std::size_t unwritten_max = 100;  // checkpoints, kept for a file without room

}  // namespace

struct Checkpointer::Parts {
  Parts(Store& store_of, GatheredHeads& heads_of, CheckpointOptions options_of)
      : store(store_of),
        heads(heads_of),
        options(std::move(options_of)),
        files(options.folder, store.identity()),
        process(options.by_hand ? -new_session_id() : new_session_id()) {}

  long write_if_due();
  void write_left() {
    write_while([this] { return next || !heads.empty(); });
  }
  void write_while(const std::function<bool()>& there_is_more);
  void write();
  void prepare();
  bool open_key();
  void put_into_file();
  void warn_once(const std::string& sentence);

  Store& store;
  GatheredHeads& heads;
  const CheckpointOptions options;
  CheckpointFiles files;
  const std::int64_t process;
  std::optional<SigningKey> key;
  std::optional<Checkpoint> next;    // signed, and not yet in the database
  std::deque<Checkpoint> unwritten;  // into the file: it had no room; in their order, as a file never has a gap
  bool files_end = false;            // too many of these: no more are written
  std::int64_t n = 0;                // of the last one in the database
  Hash previous{};
  std::set<std::string> warned;
  std::optional<PeriodicThread> thread;
};

// Logs each sentence once: a full disk stays full.
void Checkpointer::Parts::warn_once(const std::string& sentence) {
  if (warned.insert(sentence).second) spdlog::warn("{}", sentence);
}

long Checkpointer::Parts::write_if_due() {
  write_while([this] { return next || heads.is_due(steady_us(), options.every_ms * 1'000); });
  return static_cast<long>(std::clamp<std::int64_t>(options.every_ms, 1, pause_ms_max));
}

void Checkpointer::Parts::write_while(const std::function<bool()>& there_is_more) {
  try {
    while (there_is_more()) write();
  } catch (const std::exception& fault) {
    warn_once(std::string("Expected to write a checkpoint into the database, but ") + fault.what());
  }
}

bool Checkpointer::Parts::open_key() {
  if (key) return true;
  Result<SigningKey> opened = open_signing_key(options);
  if (!opened) {
    warn_once(opened.error().message + " Nothing is signed.");
    return false;
  }
  key = *std::move(opened);
  return true;
}

// The time is asked for first: if the database fails, the heads stay gathered.
void Checkpointer::Parts::prepare() {
  Checkpoint made{process, n + 1, store.database_time(), {}, {}, previous, {}};
  made.heads = heads_text(heads.take());
  sign(made, files.database(), *key);
  next = std::move(made);
  if (!files_end) unwritten.push_back(*next);
}

void Checkpointer::Parts::put_into_file() {
  for (; !unwritten.empty(); unwritten.pop_front()) {
    const Status appended = files.append(unwritten.front());
    if (appended) continue;
    warn_once(appended.error().message);
    files_end = unwritten.size() > unwritten_max;
    if (files_end) unwritten.clear();
    return;
  }
}

// Into the file first, so that the file has all that the database has, unless it could not be written.
void Checkpointer::Parts::write() {
  if (!open_key()) {
    heads.take();
    return;
  }
  if (!next) prepare();
  put_into_file();
  store.put_checkpoint(*next);
  n = next->n;
  previous = checkpoint_hash(*next, files.database());
  next.reset();
}

SigningKeyFile signing_key_file(const CheckpointOptions& options) {
  if (!options.key.empty()) return {options.key, ""};
  std::string folder = options.folder;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  const std::string beside = folder + "_signing_key.pem";
  const std::string inside = folder + "/signing_key.pem";
  std::error_code ignored;
  if (!std::filesystem::exists(beside, ignored) && std::filesystem::exists(inside, ignored)) return {inside, beside};
  return {beside, ""};
}

Result<SigningKey> open_signing_key(const CheckpointOptions& options) {
  std::error_code ignored;  // a folder that cannot be made cannot be written to either
  std::filesystem::create_directories(options.folder, ignored);
  Result<SigningKey> key = SigningKey::open(signing_key_file(options).path);
  if (!key) return key;
  if (const Status published = key->publish(options.folder); !published) spdlog::warn("{}", published.error().message);
  return key;
}

Checkpointer::Checkpointer(Store& store, GatheredHeads& heads, CheckpointOptions options)
    : parts_(std::make_unique<Parts>(store, heads, std::move(options))) {
  parts_->thread.emplace([this] { return parts_->write_if_due(); });
}

Checkpointer::~Checkpointer() {
  parts_->thread.reset();
  parts_->write_left();
  parts_->put_into_file();
}

}  // namespace cairn
