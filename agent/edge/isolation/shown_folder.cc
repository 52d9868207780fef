#include "agent/edge/isolation/shown_folder.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace muster::agent {
namespace {

constexpr char kTmp[] = "/tmp";

/// The host's fault, not that of a path.
bool is_shortage(int code) {
  return code == EMFILE || code == ENFILE || code == ENOMEM;
}

Status short_of(const std::string& what) {
  return Error{ErrorCode::kIo, "show the directory of the job: " + what + ": " + errno_text(errno)};
}

/// While it lives this process reaches only files that the user of the ranks reaches.
class AsRank {
 public:
  explicit AsRank(const std::optional<RankIdentity>& identity) : is_other_(identity.has_value()) {
    if (!is_other_) {
      return;
    }
    groups_.resize(static_cast<std::size_t>(std::max(0, getgroups(0, nullptr))));
    const int count = getgroups(static_cast<int>(groups_.size()), groups_.data());
    is_ready_ = count >= 0 && setgroups(identity->groups.size(), identity->groups.data()) == 0;
    setfsgid(identity->gid);
    setfsuid(identity->uid);
    is_ready_ = is_ready_ && static_cast<uid_t>(setfsuid(identity->uid)) == identity->uid &&
                static_cast<gid_t>(setfsgid(identity->gid)) == identity->gid;
  }
  ~AsRank() {
    if (is_other_) {
      const int code = errno;
      setfsuid(geteuid());
      setfsgid(getegid());
      setgroups(groups_.size(), groups_.data());
      errno = code;
    }
  }
  AsRank(const AsRank&) = delete;
  AsRank& operator=(const AsRank&) = delete;
  bool is_ready() const { return is_ready_; }

 private:
  const bool is_other_;
  bool is_ready_ = true;
  std::vector<gid_t> groups_;
};

std::vector<std::string> names_of(const std::string& path) {
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    names.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

bool are_plain(const std::vector<std::string>& names) {
  return names.size() <= ShownFolder::kNamesMax &&
         std::all_of(names.begin(), names.end(), [](const std::string& name) {
           return !name.empty() && name != "." && name != ".." &&
                  name.find('\0') == std::string::npos;
         });
}

}  // namespace

Status ShownFolder::open(const std::string& below, const std::optional<RankIdentity>& identity) {
  names_ = names_of(below);
  if (!are_plain(names_)) {
    return ok();
  }
  const Fd tmp(::open(kTmp, O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!tmp.is_open()) {
    return short_of(kTmp);
  }
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  const AsRank as_rank(identity);
  if (!as_rank.is_ready()) {
    return short_of("take the rights of its user");
  }
  folder_ = Fd(static_cast<int>(syscall(SYS_openat2, tmp.get(), below.c_str(), &how, sizeof how)));
  return folder_.is_open() || !is_shortage(errno) ? ok() : short_of(below);
}

Status ShownFolder::show() const {
  if (!folder_.is_open()) {
    return ok();
  }
  Fd place(::open(kTmp, O_PATH | O_DIRECTORY | O_CLOEXEC));
  for (const std::string& name : names_) {
    if (place.is_open() && mkdirat(place.get(), name.c_str(), 0755) != 0 && errno != EEXIST) {
      place.reset();
      break;
    }
    place = Fd(openat(place.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  }
  const std::string from = "/proc/self/fd/" + std::to_string(folder_.get());
  const std::string to = "/proc/self/fd/" + std::to_string(place.get());
  const bool is_shown =
      place.is_open() && mount(from.c_str(), to.c_str(), nullptr, MS_BIND | MS_REC, nullptr) == 0;
  return is_shown || !is_shortage(errno) ? ok() : short_of("mount it");
}

}  // namespace muster::agent
