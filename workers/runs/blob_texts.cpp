#include "workers/runs/blob_texts.hpp"

namespace cairn {

BlobText BlobTexts::read(Store& store, Shard shard, const Hash& hash) {
  const Key key{shard, hash};
  if (BlobText kept = find(key)) return kept;
  BlobText text = blob_text(store.values().get(shard, hash));
  if (text != nullptr) keep(key, text);
  return text;
}

BlobText BlobTexts::find(const Key& key) {
  const std::lock_guard lock(mutex_);
  const auto found = kept_.find(key);
  if (found == kept_.end()) return nullptr;
  by_use_.splice(by_use_.begin(), by_use_, found->second.use);
  return found->second.text;
}

void BlobTexts::keep(const Key& key, const BlobText& text) {
  const std::lock_guard lock(mutex_);
  if (text->size() > bytes_max || kept_.contains(key)) return;
  by_use_.push_front(key);
  kept_.emplace(key, Kept{text, by_use_.begin()});
  bytes_ += text->size();
  while (bytes_ > bytes_max) {
    const auto oldest = kept_.find(by_use_.back());
    bytes_ -= oldest->second.text->size();
    kept_.erase(oldest);
    by_use_.pop_back();
  }
}

}  // namespace cairn
