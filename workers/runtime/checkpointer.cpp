#include "workers/runtime/checkpointer.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <spdlog/spdlog.h>

#include "storage/clock.hpp"
#include "storage/proof/checkpoint_files.hpp"
#include "workers/client.hpp"
#include "workers/runtime/periodic_thread.hpp"

namespace cairn {
namespace {

constexpr std::int64_t look_ms_max = 1'000;

}  // namespace

struct Checkpointer::Parts {
  Parts(Store& store_of, GatheredHeads& heads_of, CheckpointOptions options_of)
      : store(store_of),
        heads(heads_of),
        options(std::move(options_of)),
        files(options.folder, store.identity()),
        process(new_session_id()) {}

  long look();
  void write_left() {
    write_while([this] { return next || !heads.empty(); });
  }
  void write_while(const std::function<bool()>& there_is_more);
  void write();
  void prepare();
  bool open_key();
  void put_into_file();
  void tell_once(const std::string& sentence);

  Store& store;
  GatheredHeads& heads;
  const CheckpointOptions options;
  CheckpointFiles files;
  const std::int64_t process;
  std::optional<SigningKey> key;
  std::optional<Checkpoint> next;  // signed, and not yet in the database
  bool is_in_file = false;         // the next one, or it cannot be
  bool files_end = false;          // one could not be written: a file never has a gap
  std::int64_t n = 0;              // of the last one in the database
  Hash previous{};
  std::set<std::string> told;
  std::optional<Repeating> looks;
};

// A complaint is made once, for a disk that is full stays so.
void Checkpointer::Parts::tell_once(const std::string& sentence) {
  if (told.insert(sentence).second) spdlog::warn("{}", sentence);
}

long Checkpointer::Parts::look() {
  write_while([this] { return next || heads.is_due(steady_us(), options.every_ms * 1'000); });
  return static_cast<long>(std::clamp<std::int64_t>(options.every_ms, 1, look_ms_max));
}

void Checkpointer::Parts::write_while(const std::function<bool()>& there_is_more) {
  try {
    while (there_is_more()) write();
  } catch (const std::exception& fault) {
    tell_once(std::string("Expected to write a checkpoint into the database, but ") + fault.what());
  }
}

bool Checkpointer::Parts::open_key() {
  if (key) return true;
  Result<SigningKey> opened = open_signing_key(options);
  if (!opened) {
    tell_once(opened.error().message + " Nothing is signed.");
    return false;
  }
  key = *std::move(opened);
  return true;
}

// The time first, for it is the database that may fail.
void Checkpointer::Parts::prepare() {
  Checkpoint made{process, n + 1, store.database_time(), {}, {}, previous, {}};
  made.heads = heads_text(heads.take());
  sign(made, files.database(), *key);
  next = std::move(made);
  is_in_file = false;
}

void Checkpointer::Parts::put_into_file() {
  if (is_in_file || files_end) return;
  const Status appended = files.append(*next);
  is_in_file = appended.ok();
  files_end = !appended;
  if (!appended) tell_once(appended.error().message);
}

// Into the file first: what the database has, the file has too, unless it could not be written.
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

Result<SigningKey> open_signing_key(const CheckpointOptions& options) {
  std::error_code ignored;  // what cannot be made cannot be written to either
  std::filesystem::create_directories(options.folder, ignored);
  Result<SigningKey> key = SigningKey::open(options.key.empty() ? options.folder + "/signing_key.pem" : options.key);
  if (key && !key->publish(options.folder))
    spdlog::warn("Expected to write the public key of the checkpoints into {}, but could not.", options.folder);
  return key;
}

Checkpointer::Checkpointer(Store& store, GatheredHeads& heads, CheckpointOptions options)
    : parts_(std::make_unique<Parts>(store, heads, std::move(options))) {
  parts_->looks.emplace([this] { return parts_->look(); });
}

Checkpointer::~Checkpointer() {
  parts_->looks.reset();
  parts_->write_left();
}

}  // namespace cairn
