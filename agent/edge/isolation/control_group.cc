#include "agent/edge/isolation/control_group.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <sstream>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

constexpr char kProcesses[] = "/cgroup.procs";

Status write_to(const std::string& file, const std::string& text) {
  const Fd fd(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  const bool is_written = fd.is_open() && write(fd.get(), text.data(), text.size()) ==
                                              static_cast<ssize_t>(text.size());
  return is_written ? ok() : Status(Error{ErrorCode::kIo, file + ": " + errno_text(errno)});
}

/// Mount points write a space as \040.
std::string unescaped(const std::string& text) {
  static constexpr int kDigits = 3;
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + kDigits < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(i + 1, kDigits), nullptr, 8));
      i += kDigits;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

}  // namespace

std::string mount_of_groups() {
  const std::optional<std::string> mounts = read_file("/proc/self/mountinfo");
  std::istringstream lines(mounts.value_or(""));
  for (std::string line; std::getline(lines, line);) {
    // "ID PARENT DEVICE ROOT MOUNT OPTIONS ... - TYPE SOURCE OPTIONS"
    const std::size_t dash = line.find(" - ");
    if (dash == std::string::npos || line.compare(dash, 11, " - cgroup2 ") != 0) {
      continue;
    }
    std::istringstream words(line);
    std::array<std::string, 5> word;
    for (std::string& one : word) {
      words >> one;
    }
    return unescaped(word[4]);
  }
  return "";
}

Status make_group(const std::string& group) {
  if (mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) {
    return Error{ErrorCode::kIo, group + ": " + errno_text(errno)};
  }
  return ok();
}

Status join_group(const std::string& group) {
  return write_to(group + kProcesses, "0");
}

std::optional<bool> is_group_empty(const std::string& group) {
  const std::optional<std::string> events = read_file(group + "/cgroup.events");
  if (!events.has_value()) {
    return errno == ENOENT ? std::optional(true) : std::nullopt;
  }
  return events->find("populated 0") != std::string::npos;
}

void kill_group(const std::string& group) {
  static_cast<void>(write_to(group + "/cgroup.kill", "1"));
}

bool remove_group_of_grant(const std::string& group) {
  bool is_gone = true;
  for (const char* part : {"/ranks", "/supervisor", ""}) {
    is_gone = (rmdir((group + part).c_str()) == 0 || errno == ENOENT) && is_gone;
  }
  return is_gone;
}

void remove_empty_groups(const std::string& root) {
  DIR* const folder = opendir(root.c_str());
  if (folder == nullptr) {
    return;
  }
  for (const dirent* entry = readdir(folder); entry != nullptr; entry = readdir(folder)) {
    const std::string group = root + "/" + entry->d_name;
    if (entry->d_name[0] != '.' && is_group_empty(group) == std::optional(true)) {
      remove_group_of_grant(group);
    }
  }
  closedir(folder);
}

}  // namespace muster::agent
