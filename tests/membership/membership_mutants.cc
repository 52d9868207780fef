// Goal: the tests of membership find bugs. Method: plant one known bug at a time, and run the tests
// until one fails; without a bug all pass.
//
// `membership_mutants [NAME]`: plants the named bug alone. The output of gtest is dropped unless a
// name is given.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "membership/mutants.h"

namespace muster::membership {
namespace {

/// Prints the failed test, on the stream that is not dropped.
class FirstFailure final : public ::testing::EmptyTestEventListener {
 public:
  FirstFailure(int out, std::string mutant) : out_(out), mutant_(std::move(mutant)) {}

  void OnTestEnd(const ::testing::TestInfo& info) override {
    if (info.result()->Failed() && !is_told_) {
      is_told_ = true;
      dprintf(out_, "mutant %s found test=%s.%s\n", mutant_.c_str(), info.test_suite_name(),
              info.name());
    }
  }

 private:
  int out_;
  std::string mutant_;
  bool is_told_ = false;
};

/// Runs the tests in a process of their own: a planted bug may also end it at a CHECK, which does
/// not count. True if a test failed.
bool is_failed(const MembershipMutantName& planted, bool is_loud) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    const int out = dup(STDOUT_FILENO);
    const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (!is_loud) {
      dup2(nowhere, STDOUT_FILENO);
    }
    planted_membership_mutant = planted.mutant;
    ::testing::UnitTest::GetInstance()->listeners().Append(
        new FirstFailure(out, std::string(planted.name)));
    const int failed = RUN_ALL_TESTS();
    std::fflush(stdout);
    _exit(failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return false;
  }
  if (WIFSIGNALED(status)) {
    std::printf("mutant %s ended at a CHECK, not at a test\n", planted.name.data());
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_FAILURE;
}

int run_all(const std::string& only) {
  if (is_failed({MembershipMutant::kNone, "none"}, !only.empty())) {
    std::printf("without any planted bug a test fails, too\n");
    return EXIT_FAILURE;
  }
  std::size_t found = 0;
  std::size_t planted = 0;
  for (const MembershipMutantName& each : kMembershipMutants) {
    if (only.empty() || only == each.name) {
      ++planted;
      const bool is_found = is_failed(each, !only.empty());
      found += is_found ? 1U : 0U;
      if (!is_found) {
        std::printf("mutant %s not found\n", each.name.data());
      }
    }
  }
  std::printf("figure mutants_found %zu count\nfigure mutants_planted %zu count\n", found, planted);
  return found == planted ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace
}  // namespace muster::membership

int main(int argc, char** argv) {
  GTEST_FLAG_SET(fail_fast, true);
  ::testing::InitGoogleTest(&argc, argv);
  return muster::membership::run_all(argc > 1 ? argv[1] : "");
}
