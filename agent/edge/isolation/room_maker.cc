#include "agent/edge/isolation/room_maker.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "agent/edge/isolation/control_group.h"
#include "agent/edge/isolation/device_program.h"

namespace muster::agent {
namespace {

using Kind = RoomStep::Kind;

constexpr mode_t kFolderMode = 0755;
constexpr std::uint64_t kInodesMin = 1024;
constexpr std::uint64_t kBytesPerInode = 4096;

/// By the errno of now.
Status failed(const RoomStep& step) {
  const std::string why = errno_text(errno);
  return Error{ErrorCode::kIo, text_of(step) + ": " + why};
}

/// The folder and those above it.
bool make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (mkdir(part.c_str(), kFolderMode) != 0 && errno != EEXIST) {
      return false;
    }
    if (end == std::string::npos) {
      return true;
    }
  }
}

bool make_folders_above(const std::string& path) {
  const std::size_t end = path.rfind('/');
  return end == std::string::npos || end == 0 || make_folders(path.substr(0, end));
}

/// A file system of memory has as many files as pages, so that empty ones end, too.
bool mount_tmpfs(const RoomStep& step) {
  const std::uint64_t inodes = std::max(kInodesMin, step.bytes / kBytesPerInode);
  char mode[16];
  std::snprintf(mode, sizeof mode, "%o", step.mode);
  const std::string options = "size=" + std::to_string(step.bytes) +
                              ",nr_inodes=" + std::to_string(inodes) + ",mode=" + mode;
  return make_folders(step.at) &&
         mount("tmpfs", step.at.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
}

bool mount_terminals(const RoomStep& step) {
  return make_folders(step.at) && mount("devpts", step.at.c_str(), "devpts", MS_NOSUID | MS_NOEXEC,
                                        "newinstance,ptmxmode=0666,mode=0620") == 0;
}

bool control(const RoomStep& step) {
  const Fd file(open(step.at.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return step.may_lack && errno == ENOENT;
  }
  return write(file.get(), step.what.data(), step.what.size()) ==
         static_cast<ssize_t>(step.what.size());
}

bool make_place(const RoomStep& step, bool is_folder) {
  if (is_folder) {
    return make_folders(step.at);
  }
  return make_folders_above(step.at) &&
         Fd(open(step.at.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)).is_open();
}

/// Or changes files in another way.
bool mounts(const RoomStep& step) {
  return step.kind == Kind::kTmpfs || step.kind == Kind::kBind || step.kind == Kind::kLink ||
         step.kind == Kind::kTerminals || step.kind == Kind::kMove || step.kind == Kind::kShow;
}

}  // namespace

Status RoomMaker::make(const RoomPlan& plan, const std::optional<RankIdentity>& identity) {
  const bool has_mounts = std::any_of(plan.steps.begin(), plan.steps.end(), mounts);
  if (has_mounts && !has_own_mounts_) {
    return Error{ErrorCode::kIo,
                 "its room needs namespaces of processes and mounts of its own, and "
                 "this host denied one"};
  }
  if (const Status opened = open_sources(plan, identity); !opened) {
    return opened;
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    if (const Status done = carry_out(plan.steps[i], sources_[i]); !done) {
      return done;
    }
  }
  sources_.clear();
  return ok();
}

Status RoomMaker::open_sources(const RoomPlan& plan, const std::optional<RankIdentity>& identity) {
  for (const RoomStep& step : plan.steps) {
    Fd& source = sources_.emplace_back();
    if (step.kind == Kind::kShow) {
      if (const Status opened = shown_.open(step.what, identity); !opened) {
        return opened;
      }
    }
    if (step.kind != Kind::kBind) {
      continue;
    }
    source = Fd(open(step.what.c_str(), O_PATH | O_CLOEXEC));
    if (!source.is_open() && !(step.may_lack && errno == ENOENT)) {
      return failed(step);
    }
  }
  return ok();
}

Status RoomMaker::carry_out(const RoomStep& step, const Fd& source) {
  bool is_done = false;
  errno = 0;
  switch (step.kind) {
    case Kind::kGroup:
      return make_group(step.at);
    case Kind::kJoin:
      return join_group(step.at);
    case Kind::kDevices:
      return attach_device_program(step.at, step.devices);
    case Kind::kBind:
      return bind(step, source);
    case Kind::kShow:
      return shown_.show();
    case Kind::kControl:
      is_done = control(step);
      break;
    case Kind::kRanks:
      group_of_ranks_ = Fd(open((step.at + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
      is_done = group_of_ranks_.is_open();
      break;
    case Kind::kTmpfs:
      is_done = (step.may_lack && access(step.at.c_str(), F_OK) != 0) || mount_tmpfs(step);
      break;
    case Kind::kLink:
      is_done = make_folders_above(step.at) && symlink(step.what.c_str(), step.at.c_str()) == 0;
      break;
    case Kind::kTerminals:
      is_done = mount_terminals(step);
      break;
    case Kind::kMove:
      is_done = mount(step.what.c_str(), step.at.c_str(), nullptr, MS_MOVE, nullptr) == 0;
      break;
    case Kind::kAffinity:
    case Kind::kWatchMemory:
    case Kind::kWatchProcesses:
      is_done = true;  // By the supervisor, when ranks begin and while they run.
      break;
  }
  return is_done ? ok() : failed(step);
}

Status RoomMaker::bind(const RoomStep& step, const Fd& source) {
  if (!source.is_open()) {
    return ok();  // It may lack.
  }
  struct stat info {};
  const std::string path = "/proc/self/fd/" + std::to_string(source.get());
  const bool is_shown = fstat(source.get(), &info) == 0 &&
                        make_place(step, S_ISDIR(info.st_mode)) &&
                        mount(path.c_str(), step.at.c_str(), nullptr,
                              MS_BIND | (S_ISDIR(info.st_mode) ? MS_REC : 0), nullptr) == 0;
  return is_shown ? ok() : failed(step);
}

}  // namespace muster::agent
