#pragma once
// The reason why a program could not be executed, in words for the person who submitted it. The
// kernel says "no such file" of a script that is there when the interpreter of its first line is
// not.

#include <optional>
#include <string>

namespace muster::agent {

/// The file that exec means by `program`: itself when it is a path, else the first of that name in
/// the directories of `path`, whether it can be executed or not. nullopt if there is no such file.
std::optional<std::string> file_of_program(const std::string& program, const std::string& path);

struct ExecFailure {
  int code = 0;      ///< errno, ENOENT for a name that is nowhere on the path.
  std::string text;  ///< Fits into a RankResult's detail.
};
/// `code` is what exec said, in the working directory and with the PATH of the program.
ExecFailure exec_failure(const std::string& program, const std::string& path, int code);

/// `name`, or "..." and its end when it is longer than `size_max`, which is at least 4.
std::string end_of(const std::string& name, std::size_t size_max);

}  // namespace muster::agent
