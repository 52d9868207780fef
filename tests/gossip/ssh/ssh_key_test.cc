// Tests of SshKey: keys of OpenSSH are read and written as they are, all others are refused with
// their type.

#include "gossip/ssh/ssh_key.h"

#include <gtest/gtest.h>

#include "gossip/base/base64.h"
#include "gossip/ssh/ssh_wire.h"
#include "tests/gossip/ssh/ssh_samples.h"

namespace muster::gossip {
namespace {

using testing::kAdaLine;

std::string line_with(std::string_view type, std::string_view blob) {
  return std::string(type) + " " + to_base64(blob, Base64::kPadded) + " x";
}

std::string error_of(std::string_view line) {
  const Result<SshKeyLine> key = ssh_key_of_line(line);
  return key.has_value() ? "" : key.error().text;
}

TEST(SshKeyTest, ALineOfSshKeygenComesBackAsItWas) {
  const auto line = ssh_key_of_line(kAdaLine);
  ASSERT_TRUE(line.has_value()) << line.error().text;
  EXPECT_EQ(line->comment, "ada@example");
  EXPECT_EQ(line->key.type, SshKeyType::kEd25519);
  EXPECT_EQ(to_line(*line), kAdaLine);
  EXPECT_EQ(ssh_key_of_blob(blob_of(line->key)).value(), line->key);
}

TEST(SshKeyTest, TheFingerprintIsThatOfSshKeygen) {
  EXPECT_EQ(fingerprint(testing::ada(), testing::kRealKeys), testing::kAdaFingerprint);
}

TEST(SshKeyTest, ASecurityKeyComesBackWithItsApplication) {
  const SshKeyLine line{testing::security_key('s'), ""};
  EXPECT_TRUE(to_line(line).starts_with("sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9w"));
  EXPECT_EQ(ssh_key_of_line(to_line(line)).value(), line);
  for (const std::string& wrong : {std::string(), std::string(129, 'a'), std::string("a\0b", 3)}) {
    const std::string blob =
        SshWriter().string(name_of(line.key.type)).string(line.key.point).string(wrong).take();
    EXPECT_FALSE(ssh_key_of_blob(blob).has_value()) << wrong.size();
  }
}

TEST(SshKeyTest, BlanksAroundAndBetweenDoNotCountAndTheCommentMayBeLong) {
  const std::string letters(kAdaLine.substr(12, 68));
  EXPECT_EQ(ssh_key_of_line("  ssh-ed25519 \t " + letters + "\r\n").value().comment, "");
  EXPECT_EQ(ssh_key_of_line("ssh-ed25519 " + letters + "  of the lab ").value().comment,
            "of the lab");
  EXPECT_EQ(error_of("ssh-ed25519 " + letters + " " + std::string(256, 'c')), "");
  for (const std::string& comment : {std::string(257, 'c'), std::string("a\x1b[2J"),
                                     std::string("caf\xe9"), std::string("a\0b", 3)}) {
    EXPECT_NE(error_of("ssh-ed25519 " + letters + " " + comment).find("comment"),
              std::string::npos);
  }
}

TEST(SshKeyTest, OtherTypesAreRefusedByTheirName) {
  for (const char* type :
       {"ssh-rsa", "ssh-dss", "ecdsa-sha2-nistp256", "sk-ecdsa-sha2-nistp256@openssh.com"}) {
    const std::string expected =
        "keys of type " + std::string(type) +
        " are not accepted: give an ssh-ed25519 or sk-ssh-ed25519@openssh.com key (ssh-keygen -t "
        "ed25519 makes one)";
    EXPECT_EQ(error_of(std::string(type) + " AAAA x"), expected);
    EXPECT_EQ(error_of(std::string(type) + " " + std::string(5000, 'A')), expected);
    EXPECT_EQ(ssh_key_of_blob(SshWriter().string(type).string("e").string("n").take()).error().text,
              expected);
  }
  for (const char* type : {"ssh-ed25519-cert-v01@openssh.com",
                           "sk-ssh-ed25519-cert-v01@openssh.com", "ssh-rsa-cert-v01@openssh.com"}) {
    EXPECT_TRUE(error_of(std::string(type) + " AAAA").starts_with("SSH certificates are not"))
        << type;
  }
}

TEST(SshKeyTest, SaysWhatIsGivenInPlaceOfAKey) {
  EXPECT_NE(error_of("").find("not an SSH public key"), std::string::npos);
  EXPECT_NE(error_of("command=\"x\" " + std::string(kAdaLine)).find("begins with its type"),
            std::string::npos);
  EXPECT_NE(error_of(testing::kAdaKeyFile).find("that is a private key"), std::string::npos);
  EXPECT_NE(error_of(std::string(kAdaLine) + "\n" + std::string(kAdaLine)).find("one SSH key at"),
            std::string::npos);
  const std::string hostile = error_of("\x1b[2J evil");
  EXPECT_EQ(hostile.find('\x1b'), std::string::npos) << "it obeys no escape of the input";
}

TEST(SshKeyTest, ALineOfOneTypeWithABlobOfAnotherIsRefused) {
  const std::string blob = blob_of(testing::security_key('s'));
  EXPECT_NE(error_of(line_with("ssh-ed25519", blob)).find("cut off or mistyped"),
            std::string::npos);
}

TEST(SshKeyTest, CutOffAnywhereOrWithATailABlobIsRefused) {
  for (const SshKey& key : {testing::ada(), testing::security_key('s')}) {
    const std::string blob = blob_of(key);
    EXPECT_LE(blob.size(), kSshKeyBlobMax);
    for (std::size_t size = 0; size < blob.size(); ++size) {
      EXPECT_FALSE(ssh_key_of_blob(blob.substr(0, size)).has_value()) << size;
    }
    EXPECT_FALSE(ssh_key_of_blob(blob + '\0').has_value());
  }
  for (std::size_t size = 0; size < 80; ++size) {
    EXPECT_FALSE(ssh_key_of_line(kAdaLine.substr(0, size)).has_value()) << size;
  }
}

TEST(SshKeyTest, AStringThatClaimsFourGigabytesIsRefused) {
  const std::string claim("\xff\xff\xff\xff", 4);
  EXPECT_FALSE(ssh_key_of_blob(claim).has_value());
  EXPECT_FALSE(ssh_key_of_blob(SshWriter().string("ssh-ed25519").raw(claim).take()).has_value());
}

}  // namespace
}  // namespace muster::gossip
