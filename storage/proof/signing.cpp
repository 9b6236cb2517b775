#include "storage/proof/signing.hpp"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <sstream>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "storage/chain.hpp"
#include "storage/ground/octets.hpp"

namespace cairn {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Bio = std::unique_ptr<BIO, Free>;
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Context = std::unique_ptr<EVP_MD_CTX, Free>;

std::string text_of(const Bio& bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string private_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return text_of(bio);
}

std::string public_pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  CHECK(PEM_write_bio_PUBKEY(bio.get(), key) == 1);
  return text_of(bio);
}

// Never asks a terminal for a pass phrase.
int no_phrase(char*, int, int, void*) { return 0; }

Key is_ed25519(Key key) {
  if (key != nullptr && EVP_PKEY_get_id(key.get()) != EVP_PKEY_ED25519) key.reset();
  return key;
}

PublicKey public_part(EVP_PKEY* key) {
  PublicKey bytes{};
  std::size_t size = bytes.size();
  CHECK(EVP_PKEY_get_raw_public_key(key, bytes.data(), &size) == 1 && size == bytes.size());
  return bytes;
}

// Atomic: written under a temporary name, then linked to the file's, which fails if another process was quicker.
bool write_once(const std::string& file, const std::string& text, mode_t mode) {
  std::string draft = file + ".XXXXXX";
  const int handle = mkostemp(draft.data(), O_CLOEXEC);  // readable by its owner alone
  if (handle < 0) return false;
  const bool written =
      fchmod(handle, mode) == 0 && ::write(handle, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  const bool kept = fsync(handle) == 0;
  ::close(handle);
  const bool linked = written && kept && (link(draft.c_str(), file.c_str()) == 0 || errno == EEXIST);
  unlink(draft.c_str());
  return linked;
}

Error no_key(const std::string& file, const std::string& what) {
  return {Code::invalid, "Expected " + what + " (Ed25519, PEM) in " + file + ", but found something else."};
}

std::optional<std::string> file_text(const std::string& file) {
  std::ifstream in(file);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// systemd gives each service a folder that no other user may enter. A file in it is root's, and an ACL lets the
// service's user read it, which shows as a right of the group.
bool is_credential(const std::string& file) {
  const char* const folder = std::getenv("CREDENTIALS_DIRECTORY");
  if (folder == nullptr || *folder == '\0') return false;
  std::error_code unknown;
  const std::filesystem::path place = std::filesystem::canonical(file, unknown).parent_path();
  return !unknown && place == std::filesystem::canonical(folder, unknown) && !unknown;
}

// A key that others may read signs nothing that only its owner can have signed.
Status check_owner(const std::string& file) {
  struct stat found {};
  if (stat(file.c_str(), &found) != 0) return Done{};  // reading it says what is wrong
  const std::string expected = "Expected the signing key " + file + " to be ";
  const mode_t readable = found.st_uid == 0 && is_credential(file) ? 0040 : 0;
  if ((found.st_mode & 077 & ~readable) != 0)
    return Error{Code::invalid, expected + "its owner's alone (chmod 600), but others have rights to it."};
  if (found.st_uid != geteuid() && found.st_uid != 0)
    return Error{Code::invalid, expected + "this user's or root's, but it belongs to another user (" +
                                    std::to_string(found.st_uid) + ")."};
  return Done{};
}

}  // namespace

struct SigningKey::Pair {
  Key key;
};

Hash fingerprint(const PublicKey& key) { return sha256({reinterpret_cast<const char*>(key.data()), key.size()}); }

bool is_signed_by(const PublicKey& key, std::string_view bytes, std::string_view signature) {
  const Key made(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  const Context context(EVP_MD_CTX_new());
  if (made == nullptr || EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, made.get()) != 1) return false;
  return EVP_DigestVerify(context.get(), octets(signature), signature.size(), octets(bytes), bytes.size()) == 1;
}

Result<PublicKey> read_public_key(const std::string& file) {
  const std::optional<std::string> text = file_text(file);
  if (!text) return Error{Code::not_found, "Expected a public key in " + file + ", but there is no such file."};
  const Bio bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  const Key key = is_ed25519(Key(PEM_read_bio_PUBKEY(bio.get(), nullptr, no_phrase, nullptr)));
  if (key == nullptr) return no_key(file, "a public key");
  return public_part(key.get());
}

SigningKey::SigningKey(std::shared_ptr<const Pair> pair)
    : pair_(std::move(pair)), public_key_(public_part(pair_->key.get())) {}

Result<SigningKey> SigningKey::read(const std::string& file) {
  if (Status owned = check_owner(file); !owned) return owned.error();
  const std::optional<std::string> text = file_text(file);
  if (!text)
    return Error{Code::unavailable,
                 "Expected to read the signing key " + file + ", but: " + std::strerror(errno) + "."};
  const Bio bio(BIO_new_mem_buf(text->data(), static_cast<int>(text->size())));
  Key key = is_ed25519(Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_phrase, nullptr)));
  if (key == nullptr) return no_key(file, "a private key");
  return SigningKey(std::make_shared<const Pair>(Pair{std::move(key)}));
}

Result<SigningKey> SigningKey::open(const std::string& file) {
  if (access(file.c_str(), F_OK) == 0) return read(file);
  const Key made(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  CHECK(made != nullptr);
  if (!write_once(file, private_pem(made.get()), 0600))
    return Error{Code::unavailable,
                 "Expected to make the signing key " + file + ", but: " + std::strerror(errno) + "."};
  return read(file);
}

Signature SigningKey::sign(std::string_view bytes) const {
  const Context context(EVP_MD_CTX_new());
  Signature signature{};
  std::size_t size = signature.size();
  CHECK(EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, pair_->key.get()) == 1);
  CHECK(EVP_DigestSign(context.get(), signature.data(), &size, octets(bytes), bytes.size()) == 1);
  return signature;
}

Status SigningKey::publish(const std::string& folder) const {
  const std::string file = folder + "/" + hex(fingerprint(public_key_)) + ".pub";
  if (access(file.c_str(), F_OK) == 0 || write_once(file, public_pem(pair_->key.get()), 0644)) return Done{};
  return Error{Code::unavailable,
               "Expected to write the public key of the checkpoints into " + folder + ", but could not."};
}

}  // namespace cairn
