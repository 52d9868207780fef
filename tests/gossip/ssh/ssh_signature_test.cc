// Goal: a signature counts for one key, one namespace and one message, and for no other. Method:
// signatures that ssh-keygen made, and a security key in software.

#include "gossip/ssh/ssh_signature.h"

#include <gtest/gtest.h>

#include "gossip/ssh/ssh_armor.h"
#include "gossip/ssh/ssh_wire.h"
#include "tests/gossip/base/stand_in_keys.h"
#include "tests/gossip/ssh/ssh_samples.h"

namespace muster::gossip {
namespace {

using testing::ada;
using testing::kAdaSha256Signature;
using testing::kAdaSignature;
using testing::kRealKeys;
using testing::kSignedMessage;
using testing::kSignedNamespace;
using testing::touch;

/// "" if it counts.
std::string why_not(const SshSignature& signature, const SshKey& key,
                    std::string_view name_space = kSignedNamespace,
                    std::string_view message = kSignedMessage) {
  const Status status = verify(signature, key, name_space, message, kRealKeys);
  return status.has_value() ? "" : status.error().text;
}

TEST(SshSignatureTest, KnownSignaturesOfSshKeygenCount) {
  for (const auto& [armor, hash] :
       {std::pair(kAdaSignature, SshHash::kSha512), {kAdaSha256Signature, SshHash::kSha256}}) {
    const auto signature = ssh_signature_of_armor(armor);
    ASSERT_TRUE(signature.has_value()) << signature.error().text;
    EXPECT_EQ(signature->hash, hash);
    EXPECT_EQ(signature->name_space, kSignedNamespace);
    EXPECT_EQ(why_not(*signature, ada()), "");
    EXPECT_EQ(armor_of(*signature), armor);
  }
}

TEST(SshSignatureTest, OursIsTheOneThatSshKeygenMakes) {
  // Ed25519 signatures are the same each time. The seed is that of the key file of the samples.
  const std::string list = from_armor(testing::kAdaKeyFile, "OPENSSH PRIVATE KEY").value();
  const std::string seed = list.substr(list.find(std::string("\0\0\0@", 4)) + 4, 32);
  const SshSignature ours =
      sign_ssh(*agent::HostKeyMaker().signer_of(seed), kSignedNamespace, kSignedMessage, kRealKeys);
  EXPECT_EQ(armor_of(ours), kAdaSignature);
}

TEST(SshSignatureTest, CountsForOneKeyOneNamespaceAndOneMessage) {
  const SshSignature signature = ssh_signature_of_armor(kAdaSignature).value();
  EXPECT_EQ(why_not(signature, testing::security_key('s')),
            "the SSH signature was made with another key: sign with the key that is registered");
  EXPECT_EQ(why_not(signature, ada(), "git"),
            "the SSH signature was made for another purpose: sign for this one");
  EXPECT_EQ(why_not(signature, ada(), kSignedNamespace, "drain host n8\n"),
            "the SSH signature does not fit the message: it was changed after it was signed; sign "
            "again");
}

TEST(SshSignatureTest, AForgerWhoNamesTheRightKeyOrNamespaceIsNotBelieved) {
  SshSignature forged =
      sign_ssh(*testing::real_signer('f'), kSignedNamespace, kSignedMessage, kRealKeys);
  forged.key = ada();
  EXPECT_NE(why_not(forged, ada()), "");
  SshSignature moved = sign_ssh(*testing::real_signer('f'), "git", kSignedMessage, kRealKeys);
  const SshKey key = moved.key;
  EXPECT_EQ(why_not(moved, key, "git"), "");
  moved.name_space = kSignedNamespace;
  EXPECT_NE(why_not(moved, key), "");
  SshSignature other_hash = ssh_signature_of_armor(kAdaSignature).value();
  other_hash.hash = SshHash::kSha256;
  EXPECT_NE(why_not(other_hash, ada()), "");
}

TEST(SshSignatureTest, OfASecurityKeyItCountsIfItWasTouched) {
  const SshKey key = testing::security_key('s');
  const SshSignature signature = touch('s', kSignedNamespace, kSignedMessage);
  EXPECT_EQ(why_not(signature, key), "");
  EXPECT_EQ(ssh_signature_of_blob(blob_of(signature)).value(), signature);
  EXPECT_EQ(why_not(touch('s', kSignedNamespace, kSignedMessage, 0x05), key), "") << "with a PIN";
  EXPECT_EQ(why_not(touch('s', kSignedNamespace, kSignedMessage, 0x04), key),
            "the SSH signature was made without a touch of the security key: sign again and touch "
            "it");
}

TEST(SshSignatureTest, OfASecurityKeyFlagsCounterAndApplicationAreSigned) {
  const SshKey key = testing::security_key('s');
  const SshSignature signature = touch('s', kSignedNamespace, kSignedMessage);
  SshSignature wrong = signature;
  wrong.flags |= 0x04;
  EXPECT_NE(why_not(wrong, key), "");
  wrong = signature;
  ++wrong.counter;
  EXPECT_NE(why_not(wrong, key), "");
  wrong = signature;
  wrong.key.application = "ssh:other";
  EXPECT_NE(why_not(wrong, key), "");
  EXPECT_NE(why_not(wrong, wrong.key), "");
  // A plain signature of the same Ed25519 key does not count as one of the security key.
  wrong = sign_ssh(*testing::real_signer('s'), kSignedNamespace, kSignedMessage, kRealKeys);
  wrong.key = key;
  wrong.flags = kSshUserPresent;
  EXPECT_NE(why_not(wrong, key), "");
}

/// A blob as ssh-keygen writes it, but for one field.
std::string blob_with(std::uint32_t version, std::string_view name_space, std::string_view reserved,
                      std::string_view hash) {
  const SshSignature signature = ssh_signature_of_armor(kAdaSignature).value();
  return SshWriter()
      .raw("SSHSIG")
      .u32(version)
      .string(blob_of(signature.key))
      .string(name_space)
      .string(reserved)
      .string(hash)
      .string(SshWriter().string("ssh-ed25519").string(signature.bytes).take())
      .take();
}

TEST(SshSignatureTest, OneFieldThatIsWrongRefusesTheBlob) {
  EXPECT_TRUE(ssh_signature_of_blob(blob_with(1, "git", "", "sha512")).has_value());
  const auto newer = ssh_signature_of_blob(blob_with(2, "git", "", "sha512"));
  ASSERT_FALSE(newer.has_value());
  EXPECT_NE(newer.error().text.find("version"), std::string::npos) << newer.error().text;
  for (const std::string& blob :
       {blob_with(1, "", "", "sha512"), blob_with(1, std::string(65, 'n'), "", "sha512"),
        blob_with(1, "git", "tag", "sha512"), blob_with(1, "git", "", "sha1"),
        blob_with(1, "git", "", "SHA512"), blob_with(1, "git", "", "")}) {
    EXPECT_FALSE(ssh_signature_of_blob(blob).has_value());
  }
}

TEST(SshSignatureTest, OfAnRsaKeyItIsRefusedByTheType) {
  const std::string blob = SshWriter()
                               .raw("SSHSIG")
                               .u32(1)
                               .string(SshWriter().string("ssh-rsa").string("e").string("n").take())
                               .string("git")
                               .string("")
                               .string("sha512")
                               .string(SshWriter().string("rsa-sha2-512").string("s").take())
                               .take();
  EXPECT_TRUE(ssh_signature_of_blob(blob).error().text.starts_with("keys of type ssh-rsa"));
}

TEST(SshSignatureTest, AKeyOfSmallOrderVerifiesNothing) {
  // The neutral point as the key and in the signature, and the scalar 0: a verifier that checks
  // only the equation believes this under every message.
  const std::string neutral = '\1' + std::string(31, '\0');
  SshSignature forged;
  forged.key.point = neutral;
  forged.name_space = kSignedNamespace;
  forged.bytes = neutral + std::string(32, '\0');
  EXPECT_NE(why_not(forged, forged.key), "");
}

TEST(SshSignatureTest, TheStandInsOfTheSimulatorSignToo) {
  const testing::StandInVerifier stand_in;
  const SshSignature signature =
      sign_ssh(*testing::signer_of_person("ada"), kSignedNamespace, kSignedMessage, stand_in);
  EXPECT_EQ(ssh_signature_of_blob(blob_of(signature)).value(), signature);
  const auto counts_for = [&](std::string_view message) {
    return verify(signature, signature.key, kSignedNamespace, message, stand_in).has_value();
  };
  EXPECT_TRUE(counts_for(kSignedMessage));
  EXPECT_FALSE(counts_for("another"));
  EXPECT_NE(signature.key.point, testing::signer_of_person("bob")->public_key());
}

TEST(SshSignatureTest, TheArmorMayHaveOtherBreaksAndNothingElse) {
  std::string text(kAdaSignature);
  std::string windows;
  for (const char c : text) {
    windows += c == '\n' ? "\r\n" : std::string(1, c);
  }
  EXPECT_TRUE(ssh_signature_of_armor(windows).has_value());
  EXPECT_TRUE(ssh_signature_of_armor("\n" + text + "\n").has_value());
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    EXPECT_FALSE(ssh_signature_of_armor(text.substr(0, size)).has_value()) << size;
  }
  EXPECT_FALSE(ssh_signature_of_armor(text + text).has_value());
  EXPECT_FALSE(ssh_signature_of_armor("Hello\n" + text).has_value());
  EXPECT_FALSE(ssh_signature_of_armor(text.insert(40, " ")).has_value());
  EXPECT_FALSE(ssh_signature_of_armor(std::string(100'000, '\n')).has_value());
}

}  // namespace
}  // namespace muster::gossip
