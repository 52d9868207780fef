#include "agent/edge/isolation/device_program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "agent/edge/grant/supervise_protocol.h"

namespace muster::agent {
namespace {

// Registers: r1 = the question (bpf_cgroup_dev_ctx), r2 = what is asked of which type of device,
// r3 = its type, r4 = its major, r5 = its minor, r0 = the answer, 1 = yes.

bpf_insn instruction(unsigned code, int to, int from, int offset, int value) {
  bpf_insn one{};
  one.code = static_cast<__u8>(code);
  one.dst_reg = static_cast<__u8>(to & 0xf);
  one.src_reg = static_cast<__u8>(from & 0xf);
  one.off = static_cast<__s16>(offset);
  one.imm = value;
  return one;
}

bpf_insn load(int to, std::size_t offset) {
  return instruction(BPF_LDX | BPF_W | BPF_MEM, to, BPF_REG_1, static_cast<int>(offset), 0);
}

bpf_insn copy(int to, int from) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

bpf_insn set(int to, int value) {
  return instruction(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

/// Skips `count` instructions unless the register has that value.
bpf_insn skip_unless(int what, std::uint32_t value, int count) {
  return instruction(BPF_JMP | BPF_JNE | BPF_K, what, 0, count, static_cast<int>(value));
}

bpf_insn leave() {
  return instruction(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/// In the upper half of access_type.
constexpr int kAccessShift = 16;
constexpr int kTypeMask = 0xffff;

long call(bpf_cmd command, bpf_attr& attributes) {
  return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

}  // namespace

std::vector<bpf_insn> device_program(const std::vector<DeviceNumber>& allowed) {
  std::vector<bpf_insn> program = {
      load(BPF_REG_2, offsetof(bpf_cgroup_dev_ctx, access_type)),
      load(BPF_REG_4, offsetof(bpf_cgroup_dev_ctx, major)),
      load(BPF_REG_5, offsetof(bpf_cgroup_dev_ctx, minor)),
      copy(BPF_REG_3, BPF_REG_2),
      instruction(BPF_ALU64 | BPF_AND | BPF_K, BPF_REG_3, 0, 0, kTypeMask),
      set(BPF_REG_0, 0),
      // No node is made, and no other type of device opened.
      instruction(BPF_JMP | BPF_JSET | BPF_K, BPF_REG_2, 0, 1, BPF_DEVCG_ACC_MKNOD << kAccessShift),
      instruction(BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_3, 0, 1, BPF_DEVCG_DEV_CHAR),
      leave(),
  };
  for (const DeviceNumber& number : allowed) {
    const bool has_minor = number.minor.has_value();
    program.push_back(skip_unless(BPF_REG_4, number.major, has_minor ? 3 : 2));
    if (has_minor) {
      program.push_back(skip_unless(BPF_REG_5, *number.minor, 2));
    }
    program.push_back(set(BPF_REG_0, 1));
    program.push_back(leave());
  }
  program.push_back(leave());
  return program;
}

Status attach_device_program(const std::string& group, const std::vector<DeviceNumber>& allowed) {
  static constexpr char kLicense[] = "";  // It calls no function of the kernel.
  const std::vector<bpf_insn> program = device_program(allowed);
  bpf_attr load_it{};
  load_it.prog_type = BPF_PROG_TYPE_CGROUP_DEVICE;
  load_it.insns = reinterpret_cast<__u64>(program.data());
  load_it.insn_cnt = static_cast<__u32>(program.size());
  load_it.license = reinterpret_cast<__u64>(&kLicense[0]);
  // Kernels before 5.11 count programs as locked memory of their user.
  rlimit before{};
  const bool has_limit = getrlimit(RLIMIT_MEMLOCK, &before) == 0;
  const rlimit none{RLIM_INFINITY, RLIM_INFINITY};
  setrlimit(RLIMIT_MEMLOCK, &none);
  const Fd loaded(static_cast<int>(call(BPF_PROG_LOAD, load_it)));
  const int code = errno;
  if (has_limit) {
    setrlimit(RLIMIT_MEMLOCK, &before);
  }
  errno = code;
  if (!loaded.is_open()) {
    return Error{ErrorCode::kIo, "load the program of devices: " + errno_text(errno)};
  }
  const Fd folder(open(group.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    return Error{ErrorCode::kIo, group + ": " + errno_text(errno)};
  }
  bpf_attr attach_it{};
  attach_it.target_fd = static_cast<__u32>(folder.get());
  attach_it.attach_bpf_fd = static_cast<__u32>(loaded.get());
  attach_it.attach_type = BPF_CGROUP_DEVICE;
  attach_it.attach_flags = BPF_F_ALLOW_MULTI;
  if (call(BPF_PROG_ATTACH, attach_it) != 0) {
    return Error{ErrorCode::kIo, group + ": attach the program of devices: " + errno_text(errno)};
  }
  return ok();
}

}  // namespace muster::agent
