// A verb's own process: where it stands, and what its shell left it.

#include "cli/edge/system_world.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace muster::cli {
namespace {

class SystemWorld : public testing::Test {
 protected:
  SystemWorld() {
    char path[] = "/tmp/muster-world-XXXXXX";
    base_ = mkdtemp(path);
    std::filesystem::create_directory(base_ + "/real");
    std::filesystem::create_directory_symlink(base_ + "/real", base_ + "/link");
  }
  ~SystemWorld() override {
    std::filesystem::current_path("/");
    std::filesystem::remove_all(base_);
  }
  static std::string directory() {
    const Result<std::string> found = system_world().shell.directory();
    return found ? *found : "error: " + found.error().text;
  }

  std::string base_;
};

TEST_F(SystemWorld, ADirectoryIsNamedAsTheShellReachedIt) {
  std::filesystem::current_path(base_ + "/link");
  setenv("PWD", (base_ + "/link").c_str(), 1);
  EXPECT_EQ(directory(), base_ + "/link");
}

TEST_F(SystemWorld, ANameThatLeadsElsewhereIsNotBelieved) {
  std::filesystem::current_path(base_ + "/link");
  for (const std::string& pwd :
       {base_, std::string("."), base_ + "/real/../link", base_ + "/no-such", std::string()}) {
    setenv("PWD", pwd.c_str(), 1);
    EXPECT_EQ(directory(), base_ + "/real") << pwd;
  }
  unsetenv("PWD");
  EXPECT_EQ(directory(), base_ + "/real");
}

TEST_F(SystemWorld, ADirectoryThatIsGoneIsAnError) {
  std::filesystem::current_path(base_ + "/real");
  setenv("PWD", (base_ + "/real").c_str(), 1);
  std::filesystem::remove(base_ + "/real");
  EXPECT_NE(directory().find("was it removed?"), std::string::npos) << directory();
  // Another one of that name is not the one where the shell stands.
  std::filesystem::create_directory(base_ + "/real");
  EXPECT_NE(directory().find("was it removed?"), std::string::npos) << directory();
}

TEST_F(SystemWorld, TheShellsMaskAndSoftLimitsAreTold) {
  const mode_t before = umask(027);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  rlimit fewer = files;
  fewer.rlim_cur = 300;
  setrlimit(RLIMIT_NOFILE, &fewer);
  const scheduler::SubmitShell shell = system_world().shell.settings();
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_EQ(umask(before), mode_t{027}) << "asking changes nothing";
  EXPECT_EQ(shell.umask, 027U);
  EXPECT_EQ(shell.open_files, 300U);
}

}  // namespace
}  // namespace muster::cli
