#include "agent/edge/ranks/exec_failure.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string_view>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

/// As much of a file as the kernel looks at for its first line.
constexpr std::size_t kHeadBytes = 256;
// With the words around them they fit into scheduler::kDetailBytesMax.
constexpr std::size_t kProgramBytesMax = 64;
constexpr std::size_t kScriptBytesMax = 28;
constexpr std::size_t kInterpreterBytesMax = 28;

std::string head_of(const std::string& file) {
  std::array<char, kHeadBytes> bytes{};
  std::ifstream in(file, std::ios::binary);
  in.read(bytes.data(), bytes.size());
  return {bytes.data(), static_cast<std::size_t>(in.gcount())};
}

/// The word behind "#!"; nullopt if the file does not begin so.
std::optional<std::string> interpreter_in(const std::string& head) {
  if (!head.starts_with("#!")) {
    return std::nullopt;
  }
  const std::string line = head.substr(2, head.find('\n') - 2);
  const std::size_t begin = std::min(line.find_first_not_of(" \t"), line.size());
  return line.substr(begin, line.find_first_of(" \t", begin) - begin);
}

/// As people can read it: a carriage return would turn their line into another.
std::string shown(const std::string& word) {
  std::string text;
  for (const char byte : end_of(word, kInterpreterBytesMax)) {
    const bool is_plain = byte >= ' ' && byte <= '~';
    text += byte == '\r' ? "\\r" : is_plain ? std::string(1, byte) : "?";
  }
  return "'" + text + "'";
}

/// The file is there, and exec says that something is not.
std::string text_of_missing(const std::string& program, const std::string& file) {
  const std::string name = "command " + end_of(program, kScriptBytesMax);
  const std::optional<std::string> interpreter = interpreter_in(head_of(file));
  if (!interpreter.has_value()) {
    return name +
           " exists, but the loader that it needs does not: it may be built for another system";
  }
  const std::string missing = name + ": no interpreter " + shown(*interpreter);
  return missing + (interpreter->ends_with('\r') ? "; a carriage return ends line 1: dos2unix"
                                                 : ", which its first line names");
}

}  // namespace

std::string end_of(const std::string& name, std::size_t size_max) {
  static constexpr std::string_view kCut = "...";
  return name.size() <= size_max
             ? name
             : std::string(kCut) + name.substr(name.size() - (size_max - kCut.size()));
}

std::optional<std::string> file_of_program(const std::string& program, const std::string& path) {
  const auto is_there = [](const std::string& file) { return access(file.c_str(), F_OK) == 0; };
  if (program.find('/') != std::string::npos) {
    return is_there(program) ? std::optional(program) : std::nullopt;
  }
  std::istringstream directories(path);
  for (std::string one; std::getline(directories, one, ':');) {
    const std::string file = (one.empty() ? "." : one) + "/" + program;
    if (is_there(file)) {
      return file;
    }
  }
  return std::nullopt;
}

/// exec says EACCES for a name that is nowhere on the path when one directory of it may not be
/// read; for people that is "not found".
ExecFailure exec_failure(const std::string& program, const std::string& path, int code) {
  const std::optional<std::string> file = file_of_program(program, path);
  const bool is_name = program.find('/') == std::string::npos;
  const int reason = code == EACCES && is_name && !file.has_value() ? ENOENT : code;
  if (reason == ENOENT && file.has_value()) {
    return {reason, text_of_missing(program, *file)};
  }
  struct stat info {};
  const bool is_file = file.has_value() && stat(file->c_str(), &info) == 0 && S_ISREG(info.st_mode);
  const bool is_plain = reason == EACCES && is_file && access(file->c_str(), X_OK) != 0;
  return {reason, "command " + end_of(program, kProgramBytesMax) + ": " + errno_text(reason) +
                      (is_plain ? " (it is not executable: chmod +x)" : "")};
}

}  // namespace muster::agent
