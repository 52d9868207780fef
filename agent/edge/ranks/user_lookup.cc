#include "agent/edge/ranks/user_lookup.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>
#include <vector>

#include "agent/edge/grant/supervise_protocol.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

/// Of a login's record, and of the lines that its fields point into.
constexpr std::size_t kRecordBytesFirst = 4096;
constexpr std::size_t kRecordBytesMax = 1 << 20;
constexpr int kGroupsFirst = 64;
/// One document holds no more of them (gossip/wire/wire.h); people have some hundred at most.
constexpr int kGroupsMax = 8000;
constexpr std::size_t kAnswerBytesMax = 256 * 1024;

Error unanswered(const std::string& name, const std::string& why) {
  return {ErrorCode::kIo, "user " + name + " cannot be looked up on this host: " + why};
}

/// getpwnam(3) and getgrgid(3) list the errors by which services say that there is no such entry.
bool says_unknown(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

/// getgrouplist() tells of no failure: it finds the gid alone then.
bool answers_for_groups(gid_t gid) {
  std::vector<char> record(kRecordBytesFirst);
  group entry{};
  group* found = nullptr;
  const int error = getgrgid_r(gid, &entry, record.data(), record.size(), &found);
  return says_unknown(error) || error == ERANGE;  // It has more members than fit there.
}

/// False if the service does not know them, or if they are too many.
bool add_groups(const std::string& name, RankIdentity& identity) {
  if (!answers_for_groups(identity.gid)) {
    return false;
  }
  int count = kGroupsFirst;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  while (getgrouplist(name.c_str(), identity.gid, groups.data(), &count) < 0) {
    if (count <= static_cast<int>(groups.size()) || count > kGroupsMax) {
      return false;
    }
    groups.resize(static_cast<std::size_t>(count));
  }
  identity.groups.assign(groups.begin(), groups.begin() + count);
  return true;
}

/// In the child: [true if the service answered, an identity or nothing].
std::string encode(const Result<std::optional<RankIdentity>>& answer) {
  gossip::Encoder out;
  if (!answer) {
    return out.array(2).boolean(false).text(answer.error().text).take();
  }
  if (!answer->has_value()) {
    return out.array(1).boolean(true).take();
  }
  const RankIdentity& identity = **answer;
  out.array(7).boolean(true).text(identity.name).u64(identity.uid).u64(identity.gid);
  out.text(identity.home).text(identity.shell).array(identity.groups.size());
  for (const std::uint32_t group : identity.groups) {
    out.u64(group);
  }
  return out.take();
}

std::uint32_t read_id(gossip::Reader& in) {
  return static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
}

Result<RankIdentity> decode(const std::string& name, std::string bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(std::move(bytes));
  if (!document) {
    return unanswered(name, "the name service crashed");
  }
  gossip::Reader in = document->root();
  const bool is_answered = in.boolean();
  if (is_answered && in.left() == 0) {
    return Error{ErrorCode::kNotFound, "user " + name + " is unknown on this host"};
  }
  if (!is_answered) {
    return unanswered(name, in.text());
  }
  RankIdentity identity;
  identity.name = in.text();
  identity.uid = read_id(in);
  identity.gid = read_id(in);
  identity.home = in.text();
  identity.shell = in.text();
  gossip::Reader groups = in.array();
  while (groups.ok() && groups.left() > 0) {
    identity.groups.push_back(read_id(groups));
  }
  return in.ok() ? Result<RankIdentity>(std::move(identity))
                 : unanswered(name, "the name service crashed");
}

[[noreturn]] void answer(const std::string& name, LoginSource source, int pipe) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string bytes = encode(source(name));
  for (std::size_t written = 0; written < bytes.size();) {
    const ssize_t count = write(pipe, bytes.data() + written, bytes.size() - written);
    if (count <= 0) {
      _exit(1);
    }
    written += static_cast<std::size_t>(count);
  }
  _exit(0);
}

/// True at the end of the answer, false when the time is up.
bool read_answer(int pipe, Instant deadline, std::string& bytes) {
  while (true) {
    const Duration left = deadline - boot_now();
    pollfd entry{pipe, POLLIN, 0};
    if (left <= Duration(0) || poll(&entry, 1, static_cast<int>(to_ms(left)) + 1) == 0) {
      return false;
    }
    char piece[4096];
    const ssize_t count = read(pipe, piece, sizeof piece);
    if (count == 0) {
      return true;
    }
    if (count > 0 && bytes.size() < kAnswerBytesMax) {
      bytes.append(piece, static_cast<std::size_t>(count));
    }
  }
}

}  // namespace

Result<std::optional<RankIdentity>> host_login(const std::string& name) {
  std::vector<char> record(kRecordBytesFirst);
  passwd entry{};
  passwd* found = nullptr;
  int error = 0;
  while ((error = getpwnam_r(name.c_str(), &entry, record.data(), record.size(), &found)) ==
             ERANGE &&
         record.size() < kRecordBytesMax) {
    record.resize(record.size() * 2);
  }
  if (found == nullptr && says_unknown(error)) {
    return std::optional<RankIdentity>();
  }
  if (found == nullptr) {
    return Error{ErrorCode::kIo, errno_text(error)};
  }
  RankIdentity identity{found->pw_name, found->pw_uid,  found->pw_gid, {},
                        found->pw_dir,  found->pw_shell};
  if (!add_groups(identity.name, identity)) {
    return Error{ErrorCode::kIo, "its groups are not known, or too many"};
  }
  return std::optional(std::move(identity));
}

Result<RankIdentity> look_up(const std::string& name, Duration patience, LoginSource source) {
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return unanswered(name, "pipe: " + errno_text(errno));
  }
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  const Instant deadline = boot_now() + patience;
  const pid_t child = fork();
  if (child == 0) {
    answer(name, source, write_end.get());
  }
  if (child < 0) {
    return unanswered(name, "fork: " + errno_text(errno));
  }
  write_end.reset();
  std::string bytes;
  if (!read_answer(read_end.get(), deadline, bytes)) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, WNOHANG);
    return unanswered(
        name, "the name service did not answer within " + std::to_string(to_ms(patience)) + " ms");
  }
  waitpid(child, nullptr, 0);
  return decode(name, std::move(bytes));
}

}  // namespace muster::agent
