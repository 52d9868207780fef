#include "agent/edge/run/audit_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "agent/edge/own_path.h"

namespace muster::agent {
namespace {

constexpr mode_t kAuditFileMode = 0600;
/// Each line begins so.
constexpr std::string_view kLineHead = "{\"prev\":\"";

Error failed(const std::string& what, const std::string& path) {
  return {ErrorCode::kIo, "cannot " + what + " " + path + ": " + std::strerror(errno)};
}

/// A new file is found after a crash only if its directory is synced.
void sync_directory_of(const std::string& path) {
  const std::string folder = std::filesystem::absolute(path).parent_path().string();
  if (const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); fd >= 0) {
    fsync(fd);
    close(fd);
  }
}

Result<std::string> read_at(int fd, const std::string& path, std::uint64_t from,
                            std::size_t size_bytes) {
  std::string bytes(size_bytes, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t got =
        pread(fd, bytes.data() + have, bytes.size() - have, static_cast<off_t>(from + have));
    if (got < 0 && errno != EINTR) {
      return failed("read", path);
    }
    if (got == 0) {
      return Error{ErrorCode::kIo, path + " was cut while it was read: look at who else writes it"};
    }
    have += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  return bytes;
}

}  // namespace

Result<std::unique_ptr<AuditFile>> AuditFile::open(Options options) {
  std::unique_ptr<AuditFile> file(new AuditFile(std::move(options)));
  Status opened = file->open_path();
  if (opened && file->is_damaged_) {
    opened = file->set_aside("its last line is no line of the audit of this cluster");
    opened = opened ? file->open_path() : opened;
  }
  if (!opened) {
    return opened.error();
  }
  return file;
}

AuditFile::~AuditFile() {
  if (fd_ >= 0) {
    close(fd_);
  }
}

Status AuditFile::open_path() {
  const std::string& path = options_.path;
  if (const Status own = check_own_file(path); !own) {
    return own;
  }
  // Not blocking: a pipe without a reader would hold the thread.
  fd_ = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, kAuditFileMode);
  if (fd_ < 0) {
    return failed("open", path);
  }
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0) {
    return Error{ErrorCode::kConflict,
                 "another agent writes to " + path + ": give each agent a file of its own"};
  }
  return make_ready();
}

Status AuditFile::make_ready() {
  struct stat facts {};
  if (fstat(fd_, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    return Error{ErrorCode::kInvalid, options_.path + " is no regular file: name another path"};
  }
  if ((facts.st_mode & ~S_IFMT) != kAuditFileMode && fchmod(fd_, kAuditFileMode) != 0) {
    return failed("set the mode of", options_.path);
  }
  size_bytes_ = static_cast<std::uint64_t>(facts.st_size);
  end_ = chain_begin();
  last_ = {};
  is_damaged_ = false;
  if (size_bytes_ == 0) {
    sync_directory_of(options_.path);
    return ok();
  }
  return read_end();
}

Status AuditFile::read_end() {
  const std::string& path = options_.path;
  const auto head = read_at(fd_, path, 0, std::min<std::uint64_t>(size_bytes_, kLineHead.size()));
  const std::size_t tail_bytes = std::min<std::uint64_t>(size_bytes_, kTailBytes);
  const auto tail = read_at(fd_, path, size_bytes_ - tail_bytes, tail_bytes);
  if (!head || !tail) {
    return head ? tail.error() : head.error();
  }
  if (!kLineHead.starts_with(*head)) {
    return Error{ErrorCode::kInvalid, path + " is no audit file: name another path"};
  }
  // A crash of the machine leaves zeros where a block was not written yet.
  const std::size_t hole = std::min(tail->find('\0'), tail->size());
  const std::size_t feed = tail->substr(0, hole).rfind('\n');
  if (feed == std::string::npos && tail_bytes < size_bytes_) {
    is_damaged_ = true;
    return ok();
  }
  const std::size_t kept = feed == std::string::npos ? 0 : feed + 1;
  if (kept < tail->size()) {
    if (const Status done = cut(size_bytes_ - (tail->size() - kept)); !done) {
      return done;
    }
  }
  if (kept == 0) {
    return ok();
  }
  const std::size_t before = feed == 0 ? std::string::npos : tail->rfind('\n', feed - 1);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::string line = tail->substr(begin, feed - begin);
  const auto end = end_of_line(*options_.verifier, line);
  const auto facts = read_audit_file_line(line);
  is_damaged_ = !end.has_value() || !facts.has_value() || facts->number != end->number ||
                facts->cluster != options_.cluster.hex();
  end_ = is_damaged_ ? chain_begin() : *end;
  last_ = is_damaged_ ? AuditFileLine() : *facts;
  return ok();
}

Status AuditFile::cut(std::uint64_t size_bytes) {
  if (ftruncate(fd_, static_cast<off_t>(size_bytes)) != 0 || fdatasync(fd_) != 0) {
    return failed("mend the end of", options_.path);
  }
  events_.push_back({Severity::kWarn,
                     "audit_file_mended",
                     {{"path", options_.path},
                      {"bytes", std::to_string(size_bytes_ - size_bytes)},
                      {"why", "the last line was written in part: the log has it whole"}}});
  size_bytes_ = size_bytes;
  return ok();
}

bool AuditFile::contradicts(const AuditInfo& line) const {
  return end_.number == line.number && last_.missing_from == 0 &&
         (last_.unix_ms != line.unix_ms || last_.index != line.index.value());
}

bool AuditFile::is_as_left() const {
  struct stat own {};
  struct stat at_path {};
  return fstat(fd_, &own) == 0 && stat(options_.path.c_str(), &at_path) == 0 &&
         own.st_dev == at_path.st_dev && own.st_ino == at_path.st_ino &&
         static_cast<std::uint64_t>(own.st_size) == size_bytes_;
}

Status AuditFile::append(std::span<const AuditInfo> lines) {
  std::string text;
  const auto add = [&](const std::string& line) {
    end_ = *end_of_line(*options_.verifier, line);
    text.append(line).append("\n");
  };
  for (const AuditInfo& line : lines) {
    CHECK(line.number > end_.number);
    if (line.number > end_.number + 1) {
      add(audit_gap_line(end_, options_.cluster, line.number - 1));
    }
    add(audit_file_line(end_, options_.cluster, line));
    last_ = {line.number, options_.cluster.hex(), line.unix_ms, line.index.value(), 0};
    if (text.size() >= kBatchBytesMax || &line == &lines.back()) {
      if (const Status done = write(text); !done) {
        return done;
      }
      text.clear();
    }
  }
  return ok();
}

Status AuditFile::write(std::string_view text) {
  const std::uint64_t before = size_bytes_;
  while (!text.empty()) {
    const ssize_t written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      const Error error = failed("write to", options_.path);
      // On a full disk the file then ends with a whole line; else the next open() mends it.
      static_cast<void>(ftruncate(fd_, static_cast<off_t>(before)) == 0);
      return error;
    }
    const auto bytes = static_cast<std::size_t>(std::max<ssize_t>(written, 0));
    size_bytes_ += bytes;
    text.remove_prefix(bytes);
  }
  return fdatasync(fd_) == 0 ? ok() : Status(failed("sync", options_.path));
}

Status AuditFile::set_aside(const std::string& why) {
  for (int number = 1; number <= kAsideMax; ++number) {
    const std::string to = options_.path + "." + std::to_string(number);
    struct stat facts {};
    if (lstat(to.c_str(), &facts) == 0) {
      continue;
    }
    if (rename(options_.path.c_str(), to.c_str()) != 0) {
      return failed("rename", options_.path);
    }
    sync_directory_of(options_.path);
    close(std::exchange(fd_, -1));
    events_.push_back(
        {Severity::kAlarm,
         "audit_file_set_aside",
         {{"path", options_.path},
          {"to", to},
          {"why", why},
          {"advice", "look at its end with muster audit verify; a new file begins"}}});
    return ok();
  }
  return Error{ErrorCode::kIo, options_.path + ".1 to ." + std::to_string(kAsideMax) +
                                   " are taken: move them away"};
}

}  // namespace muster::agent
