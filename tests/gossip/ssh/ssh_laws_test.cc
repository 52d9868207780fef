// The laws of signatures of people: a signature that is changed in any place is no signature of
// that key, and no bytes of others harm a reader.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "gossip/base/base64.h"
#include "gossip/ssh/ssh_private_key.h"
#include "gossip/ssh/ssh_signature.h"
#include "gossip/ssh/ssh_wire.h"
#include "tests/gossip/ssh/ssh_samples.h"

namespace muster::gossip {
namespace {

using testing::kRealKeys;

constexpr char kSeed = 's';
constexpr std::string_view kPurpose = "muster-request@example";

SshSignature any_signature(const std::string& message) {
  return *rc::gen::arbitrary<bool>()
             ? testing::touch(kSeed, kPurpose, message)
             : sign_ssh(*testing::real_signer(kSeed), kPurpose, message, kRealKeys);
}

/// Whether the blob is a signature of that key under that message.
bool counts(std::string_view blob, const SshKey& key, std::string_view message) {
  const Result<SshSignature> signature = ssh_signature_of_blob(blob);
  return signature.has_value() && verify(*signature, key, kPurpose, message, kRealKeys).has_value();
}

std::string any_bytes(int size_max) {
  std::string bytes;
  for (int left = *rc::gen::inRange(0, size_max + 1); left > 0; --left) {
    bytes += *rc::gen::arbitrary<char>();
  }
  return bytes;
}

TEST(SshLaws, ASignatureCountsAndHasOneBlob) {
  EXPECT_TRUE(rc::check([] {
    const std::string message = any_bytes(40);
    const SshSignature signature = any_signature(message);
    RC_ASSERT(counts(blob_of(signature), signature.key, message));
    RC_ASSERT(ssh_signature_of_blob(blob_of(signature)).value() == signature);
    RC_ASSERT(ssh_signature_of_armor(armor_of(signature)).value() == signature);
    RC_ASSERT(blob_of(signature).size() <= kSshSignatureBlobMax);
    RC_ASSERT(armor_of(signature).size() <= kSshSignatureArmorMax);
  }));
}

TEST(SshLaws, WithAnyOtherByteItDoesNotCount) {
  EXPECT_TRUE(rc::check([] {
    const std::string message = any_bytes(40);
    const SshSignature signature = any_signature(message);
    std::string blob = blob_of(signature);
    const auto at = *rc::gen::inRange<std::size_t>(0, blob.size());
    blob[at] = static_cast<char>(blob[at] ^ *rc::gen::inRange(1, 256));
    RC_ASSERT(!counts(blob, signature.key, message));
  }));
}

TEST(SshLaws, NoFlippedBitIsOverlooked) {
  for (const SshSignature& signature :
       {testing::touch(kSeed, kPurpose, "m"),
        sign_ssh(*testing::real_signer(kSeed), kPurpose, "m", kRealKeys)}) {
    const std::string blob = blob_of(signature);
    ASSERT_TRUE(counts(blob, signature.key, "m"));
    for (std::size_t bit = 0; bit < 8 * blob.size(); ++bit) {
      std::string wrong = blob;
      wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << bit % 8));
      EXPECT_FALSE(counts(wrong, signature.key, "m")) << bit;
    }
  }
}

TEST(SshLaws, CutOffOrWithATailItDoesNotCount) {
  EXPECT_TRUE(rc::check([] {
    const SshSignature signature = any_signature("m");
    const std::string blob = blob_of(signature);
    const auto size = *rc::gen::inRange<std::size_t>(0, blob.size());
    RC_ASSERT(!counts(std::string_view(blob).substr(0, size), signature.key, "m"));
    RC_ASSERT(!counts(blob + any_bytes(8) + "x", signature.key, "m"));
  }));
}

TEST(SshLaws, UnderAnotherMessageNamespaceOrKeyItDoesNotCount) {
  EXPECT_TRUE(rc::check([] {
    const std::string message = any_bytes(20);
    const SshSignature signature = any_signature(message);
    const std::string other = any_bytes(20);
    RC_PRE(other != message && other != kPurpose && !other.empty());
    RC_ASSERT(!counts(blob_of(signature), signature.key, other));
    RC_ASSERT(!verify(signature, signature.key, other, message, kRealKeys).has_value());
    SshKey key = signature.key;
    const auto at = *rc::gen::inRange<std::size_t>(0, key.point.size());
    key.point[at] = static_cast<char>(key.point[at] ^ *rc::gen::inRange(1, 256));
    SshSignature renamed = signature;
    renamed.key = key;
    RC_ASSERT(!verify(signature, key, kPurpose, message, kRealKeys).has_value());
    RC_ASSERT(!verify(renamed, key, kPurpose, message, kRealKeys).has_value());
  }));
}

TEST(SshLaws, RandomBytesHarmNoReader) {
  EXPECT_TRUE(rc::check([] {
    const std::string bytes = any_bytes(120);
    RC_ASSERT(!ssh_signature_of_blob(bytes).has_value());
    RC_ASSERT(!ssh_signature_of_blob("SSHSIG" + std::string("\0\0\0\1", 4) + bytes).has_value());
    RC_ASSERT(!ssh_signature_of_armor(bytes).has_value());
    RC_ASSERT(!ssh_key_of_blob(bytes).has_value());
    RC_ASSERT(!ssh_key_of_line(bytes).has_value());
    RC_ASSERT(!ssh_key_of_line("ssh-ed25519 " + to_base64(bytes, Base64::kPadded)).has_value());
    RC_ASSERT(!ssh_private_key_in(bytes, "k").has_value());
    SshReader in(bytes);
    for (int i = 0; i < 40; ++i) {
      in.string();
    }
    RC_ASSERT(in.at_end() || !in.ok());
  }));
}

}  // namespace
}  // namespace muster::gossip
