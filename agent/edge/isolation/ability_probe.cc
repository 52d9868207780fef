#include "agent/edge/isolation/ability_probe.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <functional>

#include "agent/edge/grant/supervise_protocol.h"
#include "agent/edge/isolation/control_group.h"
#include "agent/edge/isolation/device_program.h"
#include "agent/edge/isolation/limit_probe.h"
#include "agent/edge/isolation/own_spaces.h"
#include "agent/edge/isolation/room_maker.h"
#include "gossip/base/rng.h"

namespace muster::agent {
namespace {

constexpr char kUnit[] = "/system.slice/muster-grants.service";
constexpr DeviceNumber kNull{1, 3};

/// Whether `act` says so, in a child of this process.
bool works(const std::function<bool()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(act() ? 0 : 1);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/// The same for each start over one directory.
std::string name_of(const std::string& data_directory) {
  std::uint64_t hash = 0;
  for (const char byte : data_directory) {
    hash = mix64(hash ^ static_cast<std::uint8_t>(byte));
  }
  char text[32];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

/// Below the unit that the package installs for grants, where there is one: a service manager
/// leaves what is in it alone.
std::string make_root(const std::string& data_directory, std::vector<std::string>& whys) {
  const std::string mount = mount_of_groups();
  if (mount.empty()) {
    whys.push_back("control groups of version 2 are not mounted, and version 1 is not used");
    return "";
  }
  struct stat info {};
  const bool has_unit = stat((mount + kUnit).c_str(), &info) == 0;
  const std::string parent = has_unit ? mount + kUnit : mount + "/muster";
  const std::string root = parent + "/" + name_of(data_directory);
  for (const std::string& folder : {parent, root}) {
    if (const Status made = make_group(folder); !made) {
      whys.push_back("no control group can be made: " + made.error().text);
      return "";
    }
  }
  // A foreign one would let its owner move ranks out of it.
  if (stat(root.c_str(), &info) != 0 || info.st_uid != geteuid()) {
    whys.push_back("control group " + root + " belongs to another user");
    return "";
  }
  // The service manager owns the groups above the unit.
  const std::vector<std::string> all = {mount, parent, root};
  enable_controllers({all.begin() + (has_unit ? 1 : 0), all.end()});
  return root;
}

bool opens(const char* path) {
  return Fd(open(path, O_RDWR | O_CLOEXEC)).is_open();
}

/// A process moves between two groups only if it may write to a group above both: an agent without
/// rights that runs outside the tree that was given to it starts nothing in there.
bool can_join(const std::string& root) {
  const std::string group = root + "/probe-" + std::to_string(getpid());
  const bool is_joined = static_cast<bool>(make_group(group)) &&
                         works([&] { return static_cast<bool>(join_group(group)); });
  rmdir(group.c_str());
  return is_joined;
}

bool can_hold_devices(const std::string& root) {
  const std::string group = root + "/probe-" + std::to_string(getpid());
  if (!make_group(group)) {
    return false;
  }
  const bool is_attached = static_cast<bool>(attach_device_program(group, {kNull}));
  const bool is_held =
      is_attached && works([&] {
        return join_group(group) && opens("/dev/null") && !opens("/dev/zero") && errno == EPERM;
      });
  rmdir(group.c_str());
  return is_held;
}

/// A whole room, as a supervisor makes it: the namespaces of mounts and of processes come together,
/// or none.
bool can_mount(const std::string& data_directory, bool is_root) {
  RoomHost host;
  host.abilities.add(Ability::kMounts);
  host.data_directory = data_directory;
  host.memory_mb = 2;
  const RoomPlan plan = plan_of_room({"probe", {}, 0, "/", !is_root}, host);
  const bool is_made = works([&] {
    return enter_own_processes(is_root).are_own && works([&] {
             return chdir(data_directory.c_str()) == 0 && enter_own_mounts() &&
                    static_cast<bool>(RoomMaker(true).make(plan, std::nullopt));
           });
  });
  rmdir((data_directory + "/" + kRoomStage).c_str());
  return is_made;
}

}  // namespace

ProbedHost probe_abilities(const std::string& data_directory, bool is_root) {
  ProbedHost host;
  host.group_root = make_root(data_directory, host.whys);
  if (!host.group_root.empty() && !can_join(host.group_root)) {
    host.whys.push_back("no process can be put into control group " + host.group_root);
    host.group_root.clear();  // Else each grant would fail there.
  }
  if (!host.group_root.empty()) {
    host.abilities = probe_limits(host.group_root, host.whys);
  }
  if (!host.group_root.empty() && can_hold_devices(host.group_root)) {
    host.abilities.add(Ability::kDevices);
  } else if (!host.group_root.empty()) {
    host.whys.push_back("no program can be attached to a control group");
  }
  if (can_mount(data_directory, is_root)) {
    host.abilities.add(Ability::kMounts);
  } else {
    host.whys.push_back("no room of mounts can be made: namespaces or mounts are denied here");
  }
  return host;
}

}  // namespace muster::agent
