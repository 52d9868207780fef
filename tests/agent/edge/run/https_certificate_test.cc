// The certificate of HTTPS of a host: asked for when it is due, kept, and never mistaken.

#include "agent/edge/run/https_certificate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "agent/edge/door/tls_watch.h"
#include "agent/edge/run/derived_signer.h"

namespace muster::agent {
namespace {

constexpr std::int64_t kDayOfTests = 1'795'000'000;  ///< 2026-11
const HttpSigner::Authority kAuthority{"the secret of the cluster", "0123abcd"};

class HttpsCertificateTest : public testing::Test {
 protected:
  HttpsCertificateTest() {
    std::string name = testing::TempDir() + "muster_https_XXXXXX";
    home_ = mkdtemp(name.data());
  }
  ~HttpsCertificateTest() override { std::filesystem::remove_all(home_); }

  std::string path(const std::string& name) const { return home_ + "/https/" + name; }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  HttpsCertificate open(HostNames names = {{"node1"}, {"10.0.0.1"}}) const {
    auto opened = HttpsCertificate::open({{}, home_ + "/https", std::move(names)});
    EXPECT_TRUE(opened) << opened.error().text;
    return *std::move(opened);
  }
  /// Its wish; nullopt: it asks for nothing.
  static std::optional<CertifyArgs> wish(HttpsCertificate& of, std::int64_t now = kDayOfTests,
                                         std::uint64_t authority = 1) {
    auto wish = of.wish(now, authority);
    EXPECT_TRUE(wish) << wish.error().text;
    return *std::move(wish);
  }
  /// A voter's answer to it. False if nothing is asked for, or the answer is not taken.
  bool certify(HttpsCertificate& of, std::int64_t now = kDayOfTests,
               std::uint64_t authority = 1) const {
    const auto asked = wish(of, now, authority);
    if (!asked.has_value()) {
      return false;
    }
    const auto change =
        of.take({*signer_.certify(kAuthority, *asked, now), *signer_.root(kAuthority), authority});
    return change.has_value() && change->is_new;
  }

  DerivedSigner signer_{"example.com"};
  std::string home_;
};

TEST_F(HttpsCertificateTest, ThereIsNoneUntilAVoterSigned) {
  HttpsCertificate own = open();
  EXPECT_FALSE(own.has_any());
  EXPECT_EQ(own.root(), "");
  const auto asked = wish(own);
  ASSERT_TRUE(asked.has_value());
  EXPECT_EQ(asked->dns, std::vector<std::string>{"node1"});
  EXPECT_EQ(asked->addresses, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(asked->public_key.find("PRIVATE"), std::string::npos);
  EXPECT_EQ(*wish(own), *asked) << "until an answer comes, it asks with the same key";
  ASSERT_TRUE(certify(own));
  EXPECT_TRUE(check_tls(own.tls()));
  EXPECT_EQ(own.root_path(), path("root.pem"));
  EXPECT_EQ(text_of("root.pem"), own.root());
  EXPECT_EQ(own.root(), *signer_.root(kAuthority));
  for (const char* name : {"host.pem", "root.pem"}) {
    struct stat facts {};
    ASSERT_EQ(stat(path(name).c_str(), &facts), 0) << name;
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << name;
  }
}

TEST_F(HttpsCertificateTest, ItIsKept) {
  HttpsCertificate own = open();
  ASSERT_TRUE(certify(own));
  HttpsCertificate again = open();
  EXPECT_EQ(again.facts().fingerprint, own.facts().fingerprint);
  EXPECT_EQ(again.tls().key, own.tls().key);
  EXPECT_EQ(again.root(), own.root());
  EXPECT_FALSE(wish(again).has_value());
}

TEST_F(HttpsCertificateTest, ItIsAskedForAgainWhenItIsDue) {
  HttpsCertificate own = open();
  ASSERT_TRUE(certify(own));
  const std::string before = own.facts().fingerprint;
  const std::string key = own.tls().key;
  EXPECT_FALSE(wish(own, kDayOfTests + 59 * kDayS).has_value());
  EXPECT_TRUE(wish(own, kDayOfTests - 2 * kDayS).has_value()) << "the clock went back";
  ASSERT_TRUE(certify(own, kDayOfTests + 61 * kDayS));
  EXPECT_NE(own.facts().fingerprint, before);
  EXPECT_NE(own.tls().key, key);
  EXPECT_FALSE(wish(own, kDayOfTests + 61 * kDayS).has_value());
}

TEST_F(HttpsCertificateTest, AnotherAuthorityOrOtherNamesMakeItDue) {
  HttpsCertificate own = open();
  ASSERT_TRUE(certify(own));
  EXPECT_TRUE(wish(own, kDayOfTests, 2).has_value());
  HttpsCertificate renamed = open({{"node2"}, {}});
  EXPECT_TRUE(renamed.has_any()) << "it shows the one before meanwhile";
  ASSERT_TRUE(certify(renamed, kDayOfTests, 2));
  EXPECT_EQ(renamed.facts().names, (HostNames{{"node2"}, {}}));
  EXPECT_FALSE(wish(renamed, kDayOfTests, 2).has_value());
}

TEST_F(HttpsCertificateTest, NamesThatAVoterLeftOutAreNotAskedForEachMinute) {
  HttpsCertificate own = open({{"node1", "other"}, {}});
  auto asked = wish(own);
  ASSERT_TRUE(asked.has_value());
  asked->dns = {"node1"};
  ASSERT_TRUE(
      own.take({*signer_.certify(kAuthority, *asked, kDayOfTests), *signer_.root(kAuthority), 1})
          .has_value());
  EXPECT_FALSE(wish(own).has_value());
  HttpsCertificate again = open({{"node1", "other"}, {}});
  EXPECT_FALSE(wish(again).has_value());
}

TEST_F(HttpsCertificateTest, AnAnswerForAnotherKeyOrToNoQuestionIsNotTaken) {
  HttpsCertificate own = open();
  CertifyArgs other{*public_key_of(*make_host_key()), {"node1"}, {}};
  const CertifiedInfo answer{*signer_.certify(kAuthority, other, kDayOfTests),
                             *signer_.root(kAuthority), 1};
  EXPECT_FALSE(own.take(answer).has_value()) << "nothing was asked";
  ASSERT_TRUE(wish(own).has_value());
  const auto change = own.take(answer);
  ASSERT_TRUE(change.has_value());
  EXPECT_FALSE(change->is_new);
  EXPECT_EQ(change->event.name, "https_certificate_refused");
  EXPECT_FALSE(own.has_any());
  EXPECT_FALSE(own.take(answer).has_value()) << "a reason is told once";
  EXPECT_TRUE(certify(own));
}

TEST_F(HttpsCertificateTest, OneThatIsDamagedIsAsGoodAsNone) {
  HttpsCertificate own = open();
  ASSERT_TRUE(certify(own));
  const std::string good = text_of("host.pem");
  for (const std::string& text :
       {std::string("damaged"), std::string("muster-https "), std::string("muster-https 1"),
        std::string(), good.substr(0, good.size() / 2)}) {
    std::ofstream(path("host.pem")) << text;
    HttpsCertificate again = open();
    EXPECT_FALSE(again.has_any()) << text;
    EXPECT_TRUE(wish(again).has_value());
  }
  HttpsCertificate again = open();
  EXPECT_TRUE(certify(again));
}

TEST_F(HttpsCertificateTest, TheFilesOfASiteComeFirst) {
  HttpsCertificate own = open();
  ASSERT_TRUE(certify(own));
  std::ofstream(home_ + "/cert") << own.tls().certificates;
  std::ofstream(home_ + "/key") << own.tls().key;
  chmod((home_ + "/key").c_str(), 0600);
  auto site = HttpsCertificate::open({{home_ + "/cert", home_ + "/key"}, home_ + "/unused", {}});
  ASSERT_TRUE(site) << site.error().text;
  EXPECT_EQ(site->tls().certificates, own.tls().certificates);
  EXPECT_EQ(site->root_path(), "");
  EXPECT_EQ(site->root(), "");
  EXPECT_FALSE(wish(*site).has_value());
  EXPECT_FALSE(std::filesystem::exists(home_ + "/unused"));
  const auto missing =
      HttpsCertificate::open({{home_ + "/no", home_ + "/key"}, home_ + "/unused", {}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace muster::agent
