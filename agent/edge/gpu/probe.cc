#include "agent/edge/gpu/probe.h"

#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "agent/edge/gpu/nvml_library.h"
#include "agent/edge/gpu/nvml_reader.h"
#include "agent/hardware/inventory_rules.h"
#include "agent/hardware/probe_frame.h"
#include "agent/hardware/reading_text.h"

namespace muster::agent {
namespace {

constexpr int kExitUnusable = 1;
constexpr int kExitArguments = 2;
/// The other end is looked at as often.
constexpr unsigned kEventWaitMs = 1000;

struct ProbeArguments {
  std::string verb;
  std::string library;
  std::vector<std::string> pci_ids;
};

std::vector<std::string> split_ids(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    ids.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ids;
}

std::optional<ProbeArguments> arguments_of(int argc, char** argv) {
  ProbeArguments arguments;
  arguments.verb = argc > 2 ? argv[2] : "";
  for (int i = 3; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc || (name != "--library" && name != "--pci")) {
      return std::nullopt;
    }
    if (name == "--library") {
      arguments.library = argv[i + 1];
    } else {
      arguments.pci_ids = split_ids(argv[i + 1]);
    }
  }
  const bool is_known =
      arguments.verb == "query" || arguments.verb == "events" || arguments.verb == "print";
  return is_known ? std::optional(arguments) : std::nullopt;
}

/// Some sites give the devices to a group, which stays.
void keep_device_group() {
  static constexpr const char* kControl = "/dev/nvidiactl";
  struct stat facts {};
  const bool is_for_group = stat(kControl, &facts) == 0 && (facts.st_mode & S_IWOTH) == 0 &&
                            (facts.st_mode & S_IWGRP) != 0 && facts.st_gid != 0;
  setgroups(is_for_group ? 1 : 0, &facts.st_gid);
}

/// Inside a user namespace that has no such user, the process stays as it is.
void become_nobody() {
  static constexpr uid_t kNobody = 65534;
  if (geteuid() == 0) {
    keep_device_group();
    if (setresgid(kNobody, kNobody, kNobody) != 0 || setresuid(kNobody, kNobody, kNobody) != 0) {
      std::fprintf(stderr, "probe: cannot become nobody here\n");
    }
  }
}

void settle() {
  become_nobody();
  // A change of the user takes the signal back, so it comes after.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  signal(SIGPIPE, SIG_IGN);
}

bool write_all(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno != EINTR) {
      return false;
    }
    done += wrote < 0 ? 0 : static_cast<std::size_t>(wrote);
  }
  return true;
}

/// False if the other end has closed.
bool await_question() {
  char byte = 0;
  ssize_t got = 0;
  do {
    got = read(STDIN_FILENO, &byte, 1);
  } while (got < 0 && errno == EINTR);
  return got == 1;
}

bool is_closed() {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) > 0 && !await_question();
}

int fail(const std::string& text) {
  write_all(encode_frame(ProbeFailure{text}));
  return kExitUnusable;
}

int query(const NvmlLibrary& library, const ProbeArguments& arguments) {
  do {
    const Result<MachineReading> reading = read_machine(library, arguments.pci_ids);
    if (!reading) {
      return fail(reading.error().text);
    }
    if (!write_all(encode_frame(*reading))) {
      return 0;
    }
  } while (await_question());
  return 0;
}

XidEvent xid_of(const nvml::EventData& data, const std::vector<nvml::Device>& devices,
                const std::vector<GpuReading>& gpus) {
  XidEvent xid;
  const auto found = std::find(devices.begin(), devices.end(), data.device);
  if (found != devices.end()) {
    const GpuReading& gpu = gpus[static_cast<std::size_t>(found - devices.begin())];
    xid.uuid = gpu.uuid;
    xid.pci_id = gpu.pci_id;
  }
  xid.code = static_cast<std::uint32_t>(data.data);
  if (data.gpu_instance != nvml::kNoInstance) {
    xid.gpu_instance = data.gpu_instance;
  }
  if (data.compute_instance != nvml::kNoInstance) {
    xid.compute_instance = data.compute_instance;
  }
  return xid;
}

int pass_events(const NvmlLibrary& library, nvml::EventSet set,
                const std::vector<nvml::Device>& devices, const std::vector<GpuReading>& gpus) {
  while (!is_closed()) {
    nvml::EventData data{};
    const nvml::Return told = library.events.wait(set, &data, kEventWaitMs);
    if (told == nvml::Return::kTimeout) {
      continue;
    }
    if (told != nvml::Return::kSuccess) {
      return fail("the wait for events fails: " + library.text_of(told));
    }
    const bool is_xid = (data.type & nvml::kEventXid) != 0;
    if (is_xid && !write_all(encode_frame(xid_of(data, devices, gpus)))) {
      return 0;
    }
  }
  return 0;
}

int events(const NvmlLibrary& library, const ProbeArguments& arguments) {
  if (library.events.create == nullptr || library.events.enrol == nullptr ||
      library.events.wait == nullptr) {
    return fail("the library has no events");
  }
  std::vector<GpuReading> gpus;
  const auto devices = find_gpus(library, arguments.pci_ids, gpus);
  if (!devices) {
    return fail(devices.error().text);
  }
  nvml::EventSet set = nullptr;
  const nvml::Return made = library.events.create(&set);
  if (made != nvml::Return::kSuccess) {
    return fail("no set of events: " + library.text_of(made));
  }
  EventsReady ready;
  for (const nvml::Device device : *devices) {
    const bool is_enrolled =
        device != nullptr &&
        library.events.enrol(device, nvml::kEventXid, set) == nvml::Return::kSuccess;
    ready.gpus += is_enrolled ? 1 : 0;
  }
  if (ready.gpus == 0) {
    return fail("no GPU tells its Xids as events");
  }
  return write_all(encode_frame(ready)) ? pass_events(library, set, *devices, gpus) : 0;
}

MachineSize machine_size() {
  static constexpr std::uint64_t kMegabyte = 1 << 20;
  return {static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN))),
          static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES))) *
              static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) / kMegabyte};
}

int print(const NvmlLibrary& library, const ProbeArguments& arguments) {
  const Result<MachineReading> reading = read_machine(library, arguments.pci_ids);
  if (!reading) {
    std::fprintf(stderr, "muster: %s\n", reading.error().text.c_str());
    return kExitUnusable;
  }
  std::fputs(text_of(*reading).c_str(), stdout);
  std::fputs("\n", stdout);
  std::fputs(text_of(offer_of(*reading, machine_size())).c_str(), stdout);
  return 0;
}

}  // namespace

int probe_main(int argc, char** argv) {
  const std::optional<ProbeArguments> arguments = arguments_of(argc, argv);
  if (!arguments.has_value()) {
    std::fprintf(stderr, "usage: muster probe query|events|print [--library PATH] [--pci ID,ID]\n");
    return kExitArguments;
  }
  const bool is_for_people = arguments->verb == "print";
  if (!is_for_people) {
    settle();
  }
  const Result<NvmlLibrary> library = load_nvml(arguments->library);
  if (!library && is_for_people) {
    std::fprintf(stderr, "muster: %s\n", library.error().text.c_str());
    return kExitUnusable;
  }
  if (!library) {
    return fail(library.error().text);
  }
  return is_for_people                 ? print(*library, *arguments)
         : arguments->verb == "events" ? events(*library, *arguments)
                                       : query(*library, *arguments);
}

}  // namespace muster::agent
