// Tests of SshPrivateKey: the text of a key file comes back as it was, or is refused with the next
// step.

#include "gossip/ssh/ssh_private_key.h"

#include <gtest/gtest.h>

#include "gossip/base/base64.h"
#include "gossip/base/rng.h"
#include "gossip/ssh/ssh_armor.h"
#include "gossip/ssh/ssh_wire.h"
#include "tests/gossip/ssh/ssh_samples.h"

namespace muster::gossip {
namespace {

constexpr std::string_view kPrivateLabel = "OPENSSH PRIVATE KEY";

/// A file whose cipher and public key are these, with an empty list.
std::string file_of(std::string_view cipher, std::string_view public_blob) {
  return to_armor(SshWriter()
                      .raw({"openssh-key-v1\0", 15})
                      .string(cipher)
                      .string(cipher == "none" ? "none" : "bcrypt")
                      .string("")
                      .u32(1)
                      .string(public_blob)
                      .string("")
                      .take(),
                  kPrivateLabel);
}

TEST(SshPrivateKeyTest, AFileOfSshKeygenIsReadAndItsKeySigns) {
  const auto key = ssh_private_key_in(testing::kAdaKeyFile, "k");
  ASSERT_TRUE(key.has_value()) << key.error().text;
  EXPECT_EQ(key->key, testing::ada());
  EXPECT_EQ(key->comment, "ada@example");
  EXPECT_EQ(agent::HostKeyMaker().signer_of(key->seed)->public_key(), key->key.point);
}

TEST(SshPrivateKeyTest, WrittenWithTheSameCheckItIsTheSameFile) {
  const SshPrivateKey key = ssh_private_key_in(testing::kAdaKeyFile, "k").value();
  const std::string bytes = from_armor(testing::kAdaKeyFile, kPrivateLabel).value();
  SshReader in(bytes);
  in.take(15);
  for (int i = 0; i < 3; ++i) {
    in.string();
  }
  in.u32();
  in.string();
  in.u32();
  EXPECT_EQ(to_text(key, in.u32()), testing::kAdaKeyFile);
}

TEST(SshPrivateKeyTest, EveryLengthOfACommentIsPadded) {
  SshPrivateKey key = ssh_private_key_in(testing::kAdaKeyFile, "k").value();
  for (std::size_t size = 0; size < 20; ++size) {
    key.comment = std::string(size, 'c');
    const auto back = ssh_private_key_in(to_text(key, 7), "k");
    ASSERT_TRUE(back.has_value()) << size;
    EXPECT_EQ(back->comment, key.comment);
    EXPECT_EQ(back->seed, key.seed);
  }
}

TEST(SshPrivateKeyTest, AKeyThatOnlyAnAgentCanUseSaysSo) {
  const auto locked = ssh_private_key_in(testing::kLockedKeyFile, "my/key");
  ASSERT_FALSE(locked.has_value());
  EXPECT_EQ(locked.error().code, ErrorCode::kImpossible);
  EXPECT_EQ(locked.error().text,
            "my/key is locked with a passphrase: add it to ssh-agent (ssh-add my/key)");
  const auto token = ssh_private_key_in(file_of("none", blob_of(testing::security_key('s'))), "k");
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().text, "k is kept in a security key: add it to ssh-agent (ssh-add k)");
}

TEST(SshPrivateKeyTest, OtherKeysAndFilesAreRefused) {
  const std::string rsa = SshWriter().string("ssh-rsa").string("e").string("n").take();
  for (const char* cipher : {"none", "aes256-ctr"}) {
    EXPECT_TRUE(ssh_private_key_in(file_of(cipher, rsa), "k")
                    .error()
                    .text.starts_with("k: keys of type ssh-rsa are not accepted"));
  }
  for (const std::string& text :
       {std::string(), std::string(testing::kAdaLine), std::string(kSshKeyFileMax + 1, 'x'),
        std::string("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")}) {
    EXPECT_NE(ssh_private_key_in(text, "k").error().text.find("is not a private key of OpenSSH"),
              std::string::npos);
  }
  EXPECT_NE(ssh_private_key_in(file_of("none", blob_of(testing::ada())), "k")
                .error()
                .text.find("is cut off or damaged"),
            std::string::npos);
}

TEST(SshPrivateKeyTest, ABrokenFileIsRefusedOrHoldsTheSameKey) {
  const std::string bytes = from_armor(testing::kAdaKeyFile, kPrivateLabel).value();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::string text = to_armor(std::string_view(bytes).substr(0, size), kPrivateLabel);
    EXPECT_FALSE(ssh_private_key_in(text, "k").has_value()) << size;
  }
  // The seed has no copy in the file: the reader of the file compares it with its public key.
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string wrong = bytes;
    wrong[at] = static_cast<char>(wrong[at] ^ 0x40);
    const auto key = ssh_private_key_in(to_armor(wrong, kPrivateLabel), "k");
    if (key.has_value()) {
      EXPECT_EQ(key->key, testing::ada()) << at;
    }
  }
}

TEST(SshPrivateKeyTest, RandomBytesAreNoFile) {
  Rng rng(1);
  const std::string head = SshWriter()
                               .raw({"openssh-key-v1\0", 15})
                               .string("none")
                               .string("none")
                               .string("")
                               .u32(1)
                               .take();
  for (int run = 0; run < 2'000; ++run) {
    std::string bytes = head;
    for (std::uint64_t left = rng.below(200); left > 0; --left) {
      bytes += static_cast<char>(rng.below(left % 3 == 0 ? 256 : 2));
    }
    EXPECT_FALSE(ssh_private_key_in(to_armor(bytes, kPrivateLabel), "k").has_value()) << run;
  }
}

}  // namespace
}  // namespace muster::gossip
