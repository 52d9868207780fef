// Goal: the key that counts signs, wherever it is, and `muster init` makes a key once. Method: real
// key files in a scratch folder.

#include "cli/edge/person_signer.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "agent/edge/disk/host_key.h"
#include "cli/edge/ssh_key_file.h"
#include "tests/cli/edge/scratch_folder.h"

namespace muster::cli {
namespace {

constexpr char kPurposeOfOrders[] = "muster-request@1";

class PersonSignerTest : public ScratchFolder {
 protected:
  SignWish wish_for(const gossip::SshKey& key) const {
    SignWish wish;
    wish.default_file = path_;
    wish.name_space = kPurposeOfOrders;
    wish.choices = {{{gossip::SshKeyType::kEd25519, std::string(32, 'x'), ""}, "another message"},
                    {key, "the message"}};
    return wish;
  }

  const std::string path_ = path("config/muster/admin_key");
};

TEST_F(PersonSignerTest, MakesAKeyForItsOwnerOnceAndSignsWithIt) {
  const auto made = own_key(path_, "ann@h1");
  ASSERT_TRUE(made.has_value()) << made.error().text;
  struct stat found {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
  const auto again = own_key(path_, "bob@h2");
  ASSERT_TRUE(again.has_value()) << again.error().text;
  EXPECT_EQ(*again, *made);
  for (const std::string& source : {std::string(), path_}) {
    SignWish wish = wish_for(made->key);
    wish.sign_with = source;
    const auto signature = sign_as_person(wish, "");
    ASSERT_TRUE(signature.has_value()) << signature.error().text;
    EXPECT_TRUE(
        verify(*signature, made->key, kPurposeOfOrders, "the message", agent::HostKeyVerifier()));
  }
}

TEST_F(PersonSignerTest, AKeyThatDoesNotCountDoesNotSign) {
  ASSERT_TRUE(own_key(path_, "ann@h1").has_value());
  const SignWish wish = wish_for({gossip::SshKeyType::kEd25519, std::string(32, 'y'), ""});
  EXPECT_EQ(sign_as_person(wish, "").error().code, ErrorCode::kNotFound);
}

TEST_F(PersonSignerTest, WithoutAgentAndFileItSaysWhatToDo) {
  const SignWish wish = wish_for({gossip::SshKeyType::kEd25519, std::string(32, 'y'), ""});
  for (const std::string& socket : {std::string(), path("no.sock")}) {
    const auto signature = sign_as_person(wish, socket);
    ASSERT_FALSE(signature.has_value());
    EXPECT_NE(signature.error().text.find("give --sign-with FILE"), std::string::npos)
        << signature.error().text;
  }
  SignWish by_agent = wish;
  by_agent.sign_with = "agent";
  EXPECT_EQ(sign_as_person(by_agent, "").error().code, ErrorCode::kUnavailable);
}

TEST_F(PersonSignerTest, AKeyOfAnotherIsALineOrAFile) {
  const auto made = own_key(path_, "ann@h1");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(read_key(path_ + ".pub").value(), *made);
  EXPECT_EQ(read_key(to_line(*made)).value(), *made);
  EXPECT_EQ(read_key("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQC7 bob").error().code,
            ErrorCode::kInvalid);
  EXPECT_EQ(read_key(path("none.pub")).error().code, ErrorCode::kInvalid);
}

}  // namespace
}  // namespace muster::cli
