// The checkpointer: signs at intervals the heads that this process has committed, into the database and into a file
// outside of it, on a thread of its own. Heads that cannot be written stay gathered until they can. Safe from any
// thread.
#pragma once

#include <memory>
#include <string>

#include "storage/proof/gathered_heads.hpp"

namespace cairn {

struct CheckpointOptions {
  std::string folder;  // of the files and the public keys: what is collected where one verifies
  std::string key;     // a file; "": see signing_key_file()
  std::int64_t every_ms = 10'000;
  // An operator asked for these signatures after the events had been written: the process's number is below zero.
  bool by_hand = false;
};

// The file of the key that signs: the one that is named, else FOLDER_signing_key.pem, next to the folder and not in it.
// Older programs made it in the folder; it is used there until an operator moves it.
struct SigningKeyFile {
  std::string path;
  std::string better;  // where it belongs, if that is elsewhere; else ""
};
SigningKeyFile signing_key_file(const CheckpointOptions& options);

// The key that signs, made if there is none; its public half is put into the folder if that can be written. Refuses as
// SigningKey::open.
Result<SigningKey> open_signing_key(const CheckpointOptions& options);

class Checkpointer {
 public:
  // `heads` gains each committed batch from the store. Both outlive this.
  Checkpointer(Store& store, GatheredHeads& heads, CheckpointOptions options);
  // Signs what is left.
  ~Checkpointer();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cairn
