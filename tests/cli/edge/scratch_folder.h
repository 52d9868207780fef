#pragma once
// A new folder for one test, which is gone with it, and the output of a command.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace muster::cli {

class ScratchFolder : public ::testing::Test {
 protected:
  /// Short, because the path of a socket is.
  ScratchFolder() { EXPECT_NE(mkdtemp(folder_.data()), nullptr); }
  ~ScratchFolder() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    std::filesystem::permissions(path(name), std::filesystem::perms(0600));
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

 private:
  std::string folder_ = "/tmp/muster-ssh-XXXXXX";
};

/// The output of a line of the shell, stderr too, and its exit code.
struct Ran {
  std::string output;
  int code = -1;
};
inline Ran run_line(const std::string& line) {
  Ran ran;
  FILE* pipe = popen((line + " 2>&1").c_str(), "re");
  if (pipe == nullptr) {
    return ran;
  }
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) {
    ran.output += static_cast<char>(c);
  }
  const int status = pclose(pipe);
  ran.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ran;
}

inline bool has_program(const std::string& name) {
  return run_line("command -v " + name).code == 0;
}

}  // namespace muster::cli
