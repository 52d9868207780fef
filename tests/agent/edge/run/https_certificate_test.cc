// The certificate of HTTPS that a host makes by itself: kept, made again when due, never mistaken.

#include "agent/edge/run/https_certificate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "agent/edge/door/tls_watch.h"

namespace muster::agent {
namespace {

constexpr std::int64_t kDayOfTests = 1'795'000'000;  ///< 2026-11

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
  Result<HttpsCertificate> open(std::int64_t now = kDayOfTests,
                                HostNames names = {{"node1"}, {"10.0.0.1"}}) const {
    return HttpsCertificate::open({{}, home_ + "/https", "of node1", std::move(names)}, now);
  }

  std::string home_;
};

TEST_F(HttpsCertificateTest, ItIsMadeOnceAndKept) {
  const auto made = open();
  ASSERT_TRUE(made) << made.error().text;
  EXPECT_TRUE(check_tls(made->tls()));
  EXPECT_EQ(made->facts().names, (HostNames{{"node1"}, {"10.0.0.1"}}));
  EXPECT_EQ(made->root_path(), path("root.pem"));
  for (const char* name : {"authority.pem", "host.pem", "root.pem"}) {
    struct stat facts {};
    ASSERT_EQ(stat(path(name).c_str(), &facts), 0) << name;
    EXPECT_EQ(facts.st_mode & 0777U, 0600U) << name;
  }
  EXPECT_EQ(text_of("root.pem").find("PRIVATE KEY"), std::string::npos);
  const std::string authority = text_of("authority.pem");
  const auto again = open();
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->facts().fingerprint, made->facts().fingerprint);
  EXPECT_EQ(again->tls().key, made->tls().key);
  EXPECT_EQ(text_of("authority.pem"), authority);
}

TEST_F(HttpsCertificateTest, OneThatIsDueOrForOtherNamesIsMadeAgainByTheSameAuthority) {
  const auto made = open();
  ASSERT_TRUE(made) << made.error().text;
  const std::string authority = text_of("authority.pem");
  const auto later = open(kDayOfTests + 61 * kDayS);
  ASSERT_TRUE(later) << later.error().text;
  EXPECT_NE(later->facts().fingerprint, made->facts().fingerprint);
  const auto renamed = open(kDayOfTests + 61 * kDayS, {{"node2"}, {}});
  ASSERT_TRUE(renamed) << renamed.error().text;
  EXPECT_EQ(renamed->facts().names, (HostNames{{"node2"}, {}}));
  EXPECT_EQ(text_of("authority.pem"), authority);
}

TEST_F(HttpsCertificateTest, ItIsRenewedWhileTheAgentRuns) {
  auto made = open();
  ASSERT_TRUE(made) << made.error().text;
  const std::string before = made->facts().fingerprint;
  EXPECT_FALSE(made->look(kDayOfTests + kDayS).has_value());
  const auto change = made->look(kDayOfTests + 61 * kDayS);
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->is_new);
  EXPECT_EQ(change->event.name, "https_certificate_taken");
  EXPECT_NE(made->facts().fingerprint, before);
  EXPECT_TRUE(check_tls(made->tls()));
  EXPECT_FALSE(made->look(kDayOfTests + 61 * kDayS).has_value());
}

TEST_F(HttpsCertificateTest, AReasonIsToldOnce) {
  auto made = open();
  ASSERT_TRUE(made) << made.error().text;
  std::ofstream(path("authority.pem")) << "damaged";
  const auto change = made->look(kDayOfTests + 61 * kDayS);
  ASSERT_TRUE(change.has_value());
  EXPECT_FALSE(change->is_new);
  EXPECT_EQ(change->event.name, "https_certificate_refused");
  EXPECT_FALSE(made->look(kDayOfTests + 61 * kDayS + 5).has_value());
}

TEST_F(HttpsCertificateTest, AnAuthorityNearItsEndIsFollowedByAnother) {
  ASSERT_TRUE(open());
  const std::string root = text_of("root.pem");
  const auto later = open(kDayOfTests + kAuthorityLifeS - 30 * kDayS);
  ASSERT_TRUE(later) << later.error().text;
  EXPECT_NE(text_of("root.pem"), root);
  EXPECT_TRUE(check_tls(later->tls()));
}

TEST_F(HttpsCertificateTest, ADamagedHostCertificateIsMadeAgain) {
  ASSERT_TRUE(open());
  std::ofstream(path("host.pem")) << "damaged";
  const auto again = open();
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_TRUE(check_tls(again->tls()));
}

TEST_F(HttpsCertificateTest, AnAuthorityThatCannotBeUsedIsNeverReplaced) {
  ASSERT_TRUE(open());
  std::ofstream(path("authority.pem")) << "damaged";
  const auto damaged = open();
  ASSERT_FALSE(damaged);
  EXPECT_NE(damaged.error().text.find("remove it"), std::string::npos) << damaged.error().text;
  EXPECT_EQ(text_of("authority.pem"), "damaged");
}

TEST_F(HttpsCertificateTest, TheFilesOfASiteComeFirst) {
  const auto own = open();
  ASSERT_TRUE(own) << own.error().text;
  std::ofstream(home_ + "/cert") << own->tls().certificates;
  std::ofstream(home_ + "/key") << own->tls().key;
  chmod((home_ + "/key").c_str(), 0600);
  const auto site = HttpsCertificate::open(
      {{home_ + "/cert", home_ + "/key"}, home_ + "/unused", "of node1", {}}, kDayOfTests);
  ASSERT_TRUE(site) << site.error().text;
  EXPECT_EQ(site->tls().certificates, own->tls().certificates);
  EXPECT_EQ(site->root_path(), "");
  EXPECT_FALSE(std::filesystem::exists(home_ + "/unused"));
  const auto missing =
      HttpsCertificate::open({{home_ + "/no", home_ + "/key"}, home_ + "/unused", "a", {}}, 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace muster::agent
