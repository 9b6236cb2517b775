// Keys and signatures.
#include "storage/proof/signing.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "tests/storage/test_database.hpp"

namespace cairn {
namespace {

namespace fs = std::filesystem;

std::string new_folder() {
  static int count = 0;
  const std::string folder = test::scratch_directory() + "/keys" + std::to_string(++count);
  fs::create_directories(folder);
  return folder;
}

std::string text_of(const Signature& signature) { return {signature.begin(), signature.end()}; }

TEST(Signing, what_was_signed_verifies_and_nothing_else_does) {
  const std::string folder = new_folder();
  const Result<SigningKey> key = SigningKey::open(folder + "/a.pem");
  const Result<SigningKey> other = SigningKey::open(folder + "/b.pem");
  ASSERT_TRUE(key && other);
  const std::string signature = text_of(key->sign("the heads"));
  EXPECT_TRUE(is_signed_by(key->public_key(), "the heads", signature));
  EXPECT_FALSE(is_signed_by(key->public_key(), "the heads!", signature));
  EXPECT_FALSE(is_signed_by(other->public_key(), "the heads", signature));
  EXPECT_FALSE(is_signed_by(key->public_key(), "the heads", signature.substr(1)));
  EXPECT_FALSE(is_signed_by(key->public_key(), "the heads", ""));
}

TEST(Signing, a_key_is_made_once_for_its_owner_alone) {
  const std::string folder = new_folder();
  const std::string file = folder + "/key.pem";
  const Result<SigningKey> made = SigningKey::open(file);
  const Result<SigningKey> again = SigningKey::open(file);
  ASSERT_TRUE(made && again);
  EXPECT_EQ(made->public_key(), again->public_key());
  struct stat found {};
  ASSERT_EQ(stat(file.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1) << "no draft is left";
}

// systemd 254 gives it as root's, readable by an ACL for the service's user, which shows as a right of the group.
TEST(Signing, a_key_that_systemd_gave_a_service_may_be_readable_by_a_group) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make a file of root's";
  const std::string folder = new_folder();
  const std::string elsewhere = new_folder();
  for (const std::string& place : {folder, elsewhere}) {
    ASSERT_TRUE(SigningKey::open(place + "/key.pem"));
    ASSERT_EQ(chmod((place + "/key.pem").c_str(), 0440), 0);
  }
  EXPECT_FALSE(SigningKey::open(folder + "/key.pem"));
  setenv("CREDENTIALS_DIRECTORY", folder.c_str(), 1);
  EXPECT_TRUE(SigningKey::open(folder + "/key.pem"));
  EXPECT_FALSE(SigningKey::open(elsewhere + "/key.pem"));
  for (const mode_t mode : {0460u, 0444u}) {
    ASSERT_EQ(chmod((folder + "/key.pem").c_str(), mode), 0);
    EXPECT_FALSE(SigningKey::open(folder + "/key.pem")) << mode;
  }
  ASSERT_EQ(chmod((folder + "/key.pem").c_str(), 0440), 0);
  ASSERT_EQ(chown((folder + "/key.pem").c_str(), 1, 0), 0);
  EXPECT_FALSE(SigningKey::open(folder + "/key.pem")) << "it is not root's";
  unsetenv("CREDENTIALS_DIRECTORY");
}

TEST(Signing, those_who_make_a_key_at_once_get_the_same) {
  const std::string file = new_folder() + "/key.pem";
  constexpr int count = 8;
  std::vector<PublicKey> keys(count);
  std::vector<std::thread> threads;
  for (PublicKey& key : keys)
    threads.emplace_back([&] {
      if (const Result<SigningKey> opened = SigningKey::open(file)) key = opened->public_key();
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(keys[0], PublicKey{});
  for (const PublicKey& key : keys) EXPECT_EQ(key, keys[0]);
}

TEST(Signing, a_public_key_is_found_by_its_name) {
  const std::string folder = new_folder();
  const Result<SigningKey> key = SigningKey::open(folder + "/key.pem");
  ASSERT_TRUE(key);
  ASSERT_TRUE(key->publish(folder));
  ASSERT_TRUE(key->publish(folder));
  const Result<PublicKey> read = read_public_key(folder + "/" + hex(fingerprint(key->public_key())) + ".pub");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, key->public_key());
  const Status refused = key->publish(folder + "/nowhere");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unavailable);
}

TEST(Signing, what_is_no_key_is_refused) {
  const std::string folder = new_folder();
  std::ofstream(folder + "/a.pem") << "not a key";
  EXPECT_EQ(SigningKey::open(folder + "/a.pem").error().code, Code::invalid);
  EXPECT_EQ(read_public_key(folder + "/a.pem").error().code, Code::invalid);
  EXPECT_EQ(read_public_key(folder + "/b.pem").error().code, Code::not_found);
  EXPECT_EQ(SigningKey::open(folder + "/nowhere/a.pem").error().code, Code::unavailable);
}

}  // namespace
}  // namespace cairn
