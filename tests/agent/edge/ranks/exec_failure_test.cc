// The message when a program could not be executed: of a script that is there, why.

#include "agent/edge/ranks/exec_failure.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "scheduler/protocol/codec.h"

namespace muster::agent {
namespace {

class ExecFailures : public testing::Test {
 protected:
  ExecFailures() {
    char path[] = "/tmp/muster-exec-XXXXXX";
    directory_ = mkdtemp(path);
  }
  ~ExecFailures() override { std::filesystem::remove_all(directory_); }

  std::string make(const std::string& name, const std::string& content, mode_t mode = 0700) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path) << content;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }
  /// The message about a script that is found on the path, its name aside.
  std::string said(const std::string& content) {
    make("x", content);
    const ExecFailure failure = exec_failure("x", directory_, ENOENT);
    EXPECT_EQ(failure.code, ENOENT);
    EXPECT_LE(failure.text.size(), scheduler::kDetailBytesMax);
    EXPECT_TRUE(failure.text.starts_with("command x")) << failure.text;
    return failure.text.substr(std::string("command x").size());
  }

  std::string directory_;
};

TEST_F(ExecFailures, AMissingInterpreterIsNamed) {
  EXPECT_EQ(said("#!/nonexistent\necho\n"),
            ": no interpreter '/nonexistent', which its first line names");
  EXPECT_EQ(said("#! \t/no/python3 -u\n"),
            ": no interpreter '/no/python3', which its first line names");
  EXPECT_EQ(said("#!/no/end"), ": no interpreter '/no/end', which its first line names");
  EXPECT_EQ(said("#!"), ": no interpreter '', which its first line names");
  EXPECT_EQ(said("#!/bin/bash\r\necho\r\n"),
            ": no interpreter '/bin/bash\\r'; a carriage return ends line 1: dos2unix");
  EXPECT_EQ(said("#!/a\x1b[31m\xff\n"), ": no interpreter '/a?[31m?', which its first line names");
  EXPECT_EQ(said("\x7f"
                 "ELF"),
            " exists, but the loader that it needs does not: it may be built for another system");
}

TEST_F(ExecFailures, TheLongestTextFitsIntoADetail) {
  const std::string script = make(std::string(200, 's'), "#!/" + std::string(240, 'i') + "\r\n");
  const std::string text = exec_failure(script, "", ENOENT).text;
  EXPECT_LE(text.size(), scheduler::kDetailBytesMax);
  EXPECT_TRUE(text.ends_with("\\r'; a carriage return ends line 1: dos2unix") ||
              text.ends_with("i', which its first line names"))
      << text;
  const std::string nowhere = "/" + std::string(300, 'n');
  EXPECT_LE(exec_failure(nowhere, "", ENOENT).text.size(), scheduler::kDetailBytesMax);
}

TEST_F(ExecFailures, WhatIsNowhereIsNotFoundEvenWhereAFolderIsClosed) {
  EXPECT_EQ(exec_failure("no-such", directory_, EACCES).code, ENOENT);
  EXPECT_EQ(exec_failure("no-such", directory_, EACCES).text,
            "command no-such: No such file or directory");
  EXPECT_EQ(exec_failure("/no/such", directory_, ENOENT).text,
            "command /no/such: No such file or directory");
}

TEST_F(ExecFailures, AFileThatIsNotExecutableIsToldSo) {
  const std::string plain = make("plain", "#!/bin/sh\n", 0600);
  const ExecFailure failure = exec_failure("plain", directory_, EACCES);
  EXPECT_EQ(failure.code, EACCES);
  EXPECT_EQ(failure.text, "command plain: Permission denied (it is not executable: chmod +x)");
  EXPECT_EQ(exec_failure(directory_, "", EACCES).text.find("chmod"), std::string::npos);
}

}  // namespace
}  // namespace muster::agent
