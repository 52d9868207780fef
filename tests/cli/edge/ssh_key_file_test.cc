// Goal: our key files are those of OpenSSH, and only their owner reads them. Method: files in a new
// folder, which ssh-keygen reads and judges.

#include "cli/edge/ssh_key_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gossip/ssh/ssh_signature.h"
#include "tests/cli/edge/scratch_folder.h"
#include "tests/gossip/ssh/ssh_samples.h"

namespace muster::cli {
namespace {

class SshKeyFile : public ScratchFolder {
 protected:
  static unsigned mode_of(const std::string& path) {
    struct stat facts {};
    EXPECT_EQ(stat(path.c_str(), &facts), 0);
    return facts.st_mode & 07777;
  }
  /// The judgement of ssh-keygen about the signature of "me" under "m\n".
  Ran judged(const gossip::SshSignature& signature) const {
    write("allowed", "me " + gossip::to_line({signature.key, ""}) + "\n");
    write("sig", gossip::armor_of(signature));
    return run_line("printf 'm\\n' | ssh-keygen -Y verify -f " + path("allowed") +
                    " -I me -n muster-request -s " + path("sig"));
  }
};

TEST_F(SshKeyFile, OneThatWeMadeIsReadByUsAndForItsOwnerAlone) {
  const mode_t before = umask(022);
  const auto made = make_key_file(path("k"), "ada@n1");
  umask(before);
  ASSERT_TRUE(made.has_value()) << made.error().text;
  EXPECT_EQ(mode_of(path("k")), 0600U);
  EXPECT_EQ(mode_of(path("k.pub")), 0644U);
  const auto key = read_key_file(path("k"));
  ASSERT_TRUE(key.has_value()) << key.error().text;
  EXPECT_EQ(key->key, made->key);
  EXPECT_EQ(key->comment, "ada@n1");
  EXPECT_EQ(read_public_key_file(path("k.pub")).value(), *made);
  EXPECT_NE(make_key_file(path("other"), "")->key, made->key);
}

TEST_F(SshKeyFile, OneThatWeMadeIsReadBySshKeygen) {
  if (!has_program("ssh-keygen")) {
    GTEST_SKIP() << "there is no ssh-keygen here";
  }
  const auto made = make_key_file(path("k"), "ada@n1");
  ASSERT_TRUE(made.has_value()) << made.error().text;
  EXPECT_EQ(run_line("ssh-keygen -y -f " + path("k")).output, text_of("k.pub"));
  EXPECT_NE(run_line("ssh-keygen -l -f " + path("k.pub"))
                .output.find(gossip::fingerprint(made->key, gossip::testing::kRealKeys)),
            std::string::npos);
}

TEST_F(SshKeyFile, SignaturesOfOursCountForSshKeygen) {
  if (!has_program("ssh-keygen")) {
    GTEST_SKIP() << "there is no ssh-keygen here";
  }
  using gossip::testing::kRealKeys;
  const auto plain =
      gossip::sign_ssh(*gossip::testing::real_signer('a'), "muster-request", "m\n", kRealKeys);
  const auto touched = gossip::testing::touch('s', "muster-request", "m\n");
  for (const gossip::SshSignature& signature : {plain, touched}) {
    const Ran good = judged(signature);
    EXPECT_EQ(good.code, 0) << good.output;
    gossip::SshSignature bad = signature;
    bad.bytes[0] = static_cast<char>(bad.bytes[0] ^ 1);
    EXPECT_NE(judged(bad).code, 0);
  }
}

TEST_F(SshKeyFile, AFileThatIsThereStays) {
  write("k", "mine");
  EXPECT_EQ(make_key_file(path("k"), "").error().code, ErrorCode::kConflict);
  EXPECT_EQ(text_of("k"), "mine");
  write("l.pub", "mine");
  EXPECT_EQ(make_key_file(path("l"), "").error().code, ErrorCode::kConflict);
  EXPECT_EQ(text_of("l.pub"), "mine");
  EXPECT_FALSE(std::filesystem::exists(path("l"))) << "a private key without its .pub file";
  std::filesystem::create_symlink(path("nowhere"), path("link"));
  EXPECT_EQ(make_key_file(path("link"), "").error().code, ErrorCode::kConflict);
  EXPECT_FALSE(std::filesystem::exists(path("nowhere")));
  EXPECT_EQ(make_key_file(path("no/such/folder"), "").error().code, ErrorCode::kIo);
  EXPECT_EQ(make_key_file(path("n"), "two\nlines").error().code, ErrorCode::kInvalid);
}

TEST_F(SshKeyFile, ThatOthersCanReadIsRefused) {
  write("k", gossip::testing::kAdaKeyFile);
  EXPECT_TRUE(read_key_file(path("k")).has_value());
  ASSERT_EQ(chmod(path("").c_str(), 0755), 0);
  for (const mode_t mode : {0640U, 0604U, 0666U}) {
    ASSERT_EQ(chmod(path("k").c_str(), mode), 0);
    const auto key = read_key_file(path("k"));
    ASSERT_FALSE(key.has_value()) << mode;
    EXPECT_EQ(key.error().code, ErrorCode::kDenied);
    EXPECT_NE(key.error().text.find("can sign in your name"), std::string::npos);
    EXPECT_NE(key.error().text.find("chmod 600"), std::string::npos);
  }
}

TEST_F(SshKeyFile, ALockedOneNamesTheWayToTheAgent) {
  write("k", gossip::testing::kLockedKeyFile);
  EXPECT_EQ(
      read_key_file(path("k")).error().text,
      path("k") + " is locked with a passphrase: add it to ssh-agent (ssh-add " + path("k") + ")");
}

TEST_F(SshKeyFile, OneWhoseSeedIsOfAnotherKeyIsRefused) {
  gossip::SshPrivateKey key = gossip::ssh_private_key_in(gossip::testing::kAdaKeyFile, "k").value();
  key.seed[0] = static_cast<char>(key.seed[0] ^ 1);
  write("k", gossip::to_text(key, 1));
  EXPECT_NE(read_key_file(path("k")).error().text.find("do not belong together"),
            std::string::npos);
}

TEST_F(SshKeyFile, OtherFilesAreRefusedWithTheirName) {
  write("k.pub", "ssh-rsa AAAA");
  EXPECT_TRUE(read_public_key_file(path("k.pub"))
                  .error()
                  .text.starts_with(path("k.pub") + ": keys of type ssh-rsa"));
  EXPECT_FALSE(read_public_key_file(path("none")).has_value());
  EXPECT_FALSE(read_key_file(path("none")).has_value());
  write("long", std::string(gossip::kSshKeyFileMax + 100, 'x'));
  EXPECT_FALSE(read_key_file(path("long")).has_value());
}

}  // namespace
}  // namespace muster::cli
