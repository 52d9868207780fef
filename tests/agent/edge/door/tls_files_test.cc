// Goal: a site's own key and certificate are taken if they are good, and a change never breaks what
// is in force. Method: real files in a folder of the test; the times of files are set, not awaited.

#include "agent/edge/door/tls_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

#include "gossip/base/check.h"
#include "tests/agent/edge/door/host_certificate.h"

namespace muster::agent {
namespace {

constexpr std::int64_t kMadeAt = 1'795'867'200;  // 2026-11-28 12:00 UTC

class TlsFilesTest : public testing::Test {
 protected:
  TlsFilesTest() {
    CHECK(mkdtemp(folder_) != nullptr);
    authority_ = authority_of_secret("the secret of a cluster");
    first_ = host("one");
    second_ = host("two");
    put(first_);
  }
  ~TlsFilesTest() override { std::filesystem::remove_all(folder_); }

  HttpTls host(const std::string& name) const {
    return *make_host_certificate(authority_, {{name}, {}}, kMadeAt);
  }
  std::string certificate_path() const { return std::string(folder_) + "/https.pem"; }
  std::string key_path() const { return std::string(folder_) + "/https.key"; }

  /// As tools do: a new file takes the place of the old one.
  void put(const std::string& path, const std::string& text, mode_t mode) const {
    const std::string beside = path + ".new";
    std::ofstream(beside, std::ios::binary) << text;
    CHECK(chmod(beside.c_str(), mode) == 0);
    CHECK(rename(beside.c_str(), path.c_str()) == 0);
  }
  void put(const HttpTls& tls) const {
    put(certificate_path(), tls.certificates, 0644);
    put(key_path(), tls.key, 0600);
  }

  Result<TlsFiles> open() const { return TlsFiles::open({certificate_path(), key_path()}); }
  TlsFiles opened() const {
    auto files = open();
    CHECK(files.has_value());
    return *std::move(files);
  }
  void expect_refused(ErrorCode code, const std::string& words) const {
    const auto files = open();
    ASSERT_FALSE(files.has_value()) << words;
    EXPECT_EQ(files.error().code, code) << files.error().text;
    EXPECT_NE(files.error().text.find(words), std::string::npos) << files.error().text;
    EXPECT_EQ(files.error().text.find('\n'), std::string::npos);
  }

  char folder_[32] = "/tmp/muster-tls-XXXXXX";
  HttpTls authority_, first_, second_;
};

TEST_F(TlsFilesTest, ReadsTheFilesOfASite) {
  const TlsFiles files = opened();
  EXPECT_EQ(files.tls().key, first_.key);
  EXPECT_EQ(files.tls().certificates, first_.certificates);
  EXPECT_EQ(files.facts().names.dns, std::vector<std::string>{"one"});
}

TEST_F(TlsFilesTest, FollowsLinks) {
  std::filesystem::rename(key_path(), std::string(folder_) + "/real");
  std::filesystem::create_symlink("real", key_path());
  EXPECT_TRUE(open().has_value());
  EXPECT_FALSE(opened().look(kMadeAt).has_value());
}

TEST_F(TlsFilesTest, AMissingFileIsNamed) {
  unlink(key_path().c_str());
  expect_refused(ErrorCode::kNotFound, "cannot read " + key_path());
  put(first_);
  unlink(certificate_path().c_str());
  expect_refused(ErrorCode::kNotFound, "cannot read " + certificate_path());
}

TEST_F(TlsFilesTest, AKeyThatOthersCanReadIsRefused) {
  for (const mode_t mode : {0640U, 0604U, 0620U, 0601U, 0777U}) {
    ASSERT_EQ(chmod(key_path().c_str(), mode), 0);
    expect_refused(ErrorCode::kDenied, "run chmod 600 " + key_path());
  }
  for (const mode_t mode : {0600U, 0700U}) {
    ASSERT_EQ(chmod(key_path().c_str(), mode), 0);
    EXPECT_TRUE(open().has_value()) << mode;
  }
}

TEST_F(TlsFilesTest, AKeyOfAnotherUserIsRefused) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file to another user";
  }
  ASSERT_EQ(chown(key_path().c_str(), 12345, 12345), 0);
  expect_refused(ErrorCode::kDenied, "belongs to uid 12345");
}

TEST_F(TlsFilesTest, WhatIsNoKeyOrCertificateIsRefusedWithAReason) {
  const struct {
    std::string certificates;
    std::string key;
    std::string words;
  } kRows[] = {
      {"", first_.key, "https.pem is empty"},
      {first_.certificates, "", "https.key is empty"},
      {first_.certificates, std::string(TlsFiles::kBytesMax + 1, 'a'), "more than 1048576 bytes"},
      {std::string(TlsFiles::kBytesMax + 1, 'a'), first_.key, "more than 1048576 bytes"},
      {first_.key, first_.certificates, "holds no certificate"},
      {first_.certificates, first_.certificates, "holds no private key"},
      {first_.certificates, "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAA==\n", "passphrase"},
      {first_.certificates, second_.key, "cannot use the key"},
      {first_.certificates, "-----BEGIN PRIVATE KEY-----\nAA==\n-----END PRIVATE KEY-----\n",
       "cannot use"},
      {"-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n", first_.key, "cannot use"},
  };
  for (const auto& row : kRows) {
    put({row.key, row.certificates});
    expect_refused(ErrorCode::kInvalid, row.words);
  }
}

TEST_F(TlsFilesTest, AFileAtItsLimitIsRead) {
  put({first_.key + std::string(TlsFiles::kBytesMax - first_.key.size(), '\n'),
       first_.certificates + std::string(TlsFiles::kBytesMax - first_.certificates.size(), '\n')});
  EXPECT_TRUE(open().has_value());
}

TEST_F(TlsFilesTest, APipeOrAFolderStopsNobody) {
  unlink(key_path().c_str());
  ASSERT_EQ(mkfifo(key_path().c_str(), 0600), 0);
  expect_refused(ErrorCode::kInvalid, "is not a regular file");
  unlink(key_path().c_str());
  ASSERT_EQ(mkdir(key_path().c_str(), 0700), 0);
  expect_refused(ErrorCode::kInvalid, "is not a regular file");
}

TEST_F(TlsFilesTest, NewOnesAreTakenAtTheNextLook) {
  TlsFiles files = opened();
  EXPECT_FALSE(files.look(kMadeAt).has_value());
  put(second_);
  const auto change = files.look(kMadeAt);
  ASSERT_TRUE(change.has_value());
  EXPECT_TRUE(change->is_new);
  EXPECT_EQ(change->event.name, "https_certificate_taken");
  EXPECT_EQ(change->event.field("fingerprint"), facts_of(second_.certificates)->fingerprint);
  EXPECT_EQ(change->event.field("until"), "2027-02-26");
  EXPECT_EQ(files.tls().key, second_.key);
  EXPECT_EQ(files.facts().names.dns, std::vector<std::string>{"two"});
  EXPECT_FALSE(files.look(kMadeAt).has_value());
}

TEST_F(TlsFilesTest, TheSameTextInNewFilesIsNoNews) {
  TlsFiles files = opened();
  put(first_);
  EXPECT_FALSE(files.look(kMadeAt).has_value());
}

TEST_F(TlsFilesTest, AChangeOfEachPartOfTheMarkIsSeen) {
  TlsFiles files = opened();
  // Written into the same file, with the time of before: the size differs.
  struct stat before {};
  ASSERT_EQ(stat(certificate_path().c_str(), &before), 0);
  std::ofstream(certificate_path(), std::ios::app) << "\n";
  const timespec times[] = {before.st_atim, before.st_mtim};
  ASSERT_EQ(utimensat(AT_FDCWD, certificate_path().c_str(), times, 0), 0);
  ASSERT_TRUE(files.look(kMadeAt).has_value());
  EXPECT_EQ(files.tls().certificates, first_.certificates + "\n");
  // Of the same size: the time differs.
  std::string spaced = first_.certificates + " ";
  std::ofstream(certificate_path()) << spaced;
  const timespec later[] = {before.st_atim, {before.st_mtim.tv_sec + 1, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, certificate_path().c_str(), later, 0), 0);
  ASSERT_TRUE(files.look(kMadeAt).has_value());
  EXPECT_EQ(files.tls().certificates, spaced);
  // In a new file.
  put(certificate_path(), first_.certificates + "\t", 0644);
  ASSERT_TRUE(files.look(kMadeAt).has_value());
}

TEST_F(TlsFilesTest, TheOldOnesStayWhileTheNewDoNotMatch) {
  TlsFiles files = opened();
  put(certificate_path(), second_.certificates, 0644);
  // The key may be under way.
  EXPECT_FALSE(files.look(kMadeAt).has_value());
  const auto refusal = files.look(kMadeAt);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_FALSE(refusal->is_new);
  EXPECT_EQ(refusal->event.severity, Severity::kWarn);
  EXPECT_EQ(refusal->event.name, "https_certificate_refused");
  EXPECT_NE(refusal->event.field("reason").find(key_path()), std::string::npos);
  EXPECT_EQ(files.tls().certificates, first_.certificates);
  EXPECT_EQ(files.facts().names.dns, std::vector<std::string>{"one"});
  EXPECT_FALSE(files.look(kMadeAt).has_value());
  put(key_path(), second_.key, 0600);
  const auto taken = files.look(kMadeAt);
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE(taken->is_new);
  EXPECT_EQ(files.tls().key, second_.key);
}

TEST_F(TlsFilesTest, ACertificateThatDoesNotHoldTakesNoPlaceOfOneThatDoes) {
  for (const std::int64_t days : {-100, 30}) {
    put(first_);
    TlsFiles files = opened();
    const std::int64_t made_at = kMadeAt + days * kDayS;
    put(*make_host_certificate(authority_, {{"two"}, {}}, made_at));
    EXPECT_FALSE(files.look(kMadeAt).has_value());
    const auto refusal = files.look(kMadeAt);
    ASSERT_TRUE(refusal.has_value());
    EXPECT_EQ(refusal->event.name, "https_certificate_refused");
    EXPECT_NE(refusal->event.field("reason").find(date_text(made_at + kHostLifeS)),
              std::string::npos);
    EXPECT_EQ(files.tls().key, first_.key);
    // Neither holds then, or the new one alone.
    const auto taken = files.look(kMadeAt + kHostLifeS);
    ASSERT_TRUE(taken.has_value());
    EXPECT_TRUE(taken->is_new);
    EXPECT_EQ(files.facts().names.dns, std::vector<std::string>{"two"});
  }
}

TEST_F(TlsFilesTest, AtTheStartDatesAreNotJudged) {
  put(*make_host_certificate(authority_, {{"two"}, {}}, kMadeAt - 100 * kDayS));
  TlsFiles files = opened();
  EXPECT_EQ(files.facts().names.dns, std::vector<std::string>{"two"});
  EXPECT_FALSE(files.look(kMadeAt).has_value());
}

TEST_F(TlsFilesTest, AReplacementInTwoStepsIsNoAlarm) {
  TlsFiles files = opened();
  put(certificate_path(), second_.certificates, 0644);
  EXPECT_FALSE(files.look(kMadeAt).has_value());
  put(key_path(), second_.key, 0600);
  const auto taken = files.look(kMadeAt);
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->event.name, "https_certificate_taken");
}

TEST_F(TlsFilesTest, AChmodIsSeenInBothDirections) {
  TlsFiles files = opened();
  ASSERT_EQ(chmod(key_path().c_str(), 0644), 0);
  EXPECT_FALSE(files.look(kMadeAt).has_value());
  const auto refusal = files.look(kMadeAt);
  ASSERT_TRUE(refusal.has_value());
  EXPECT_NE(refusal->event.field("reason").find("chmod 600"), std::string::npos);
  ASSERT_EQ(chmod(key_path().c_str(), 0600), 0);
  // The same text is good again: told, because the refusal was.
  const auto taken = files.look(kMadeAt);
  ASSERT_TRUE(taken.has_value());
  EXPECT_FALSE(taken->is_new);
  EXPECT_EQ(taken->event.name, "https_certificate_taken");
  EXPECT_FALSE(files.look(kMadeAt).has_value());
}

TEST_F(TlsFilesTest, FilesThatGoAreToldOnceAndTheirKeyServesOn) {
  TlsFiles files = opened();
  unlink(key_path().c_str());
  unlink(certificate_path().c_str());
  EXPECT_FALSE(files.look(kMadeAt).has_value());
  EXPECT_TRUE(files.look(kMadeAt).has_value());
  for (int looks = 0; looks < 10; ++looks) {
    EXPECT_FALSE(files.look(kMadeAt).has_value());
  }
  EXPECT_EQ(files.tls().key, first_.key);
}

}  // namespace
}  // namespace muster::agent
