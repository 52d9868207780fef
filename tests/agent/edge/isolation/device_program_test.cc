// The program of devices, carried out here instruction by instruction: it answers as its list says,
// for every device, and jumps nowhere else.

#include "agent/edge/isolation/device_program.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>

namespace muster::agent {
namespace {

struct Question {
  std::uint32_t type = BPF_DEVCG_DEV_CHAR;
  std::uint32_t access = BPF_DEVCG_ACC_READ | BPF_DEVCG_ACC_WRITE;
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
};

/// The answer of these instructions; nullopt if the kernel would refuse them.
std::optional<std::uint64_t> answer(const std::vector<bpf_insn>& program, const Question& asked) {
  const std::array<std::uint32_t, 3> context = {asked.access << 16 | asked.type, asked.major,
                                                asked.minor};
  std::array<std::uint64_t, 11> registers{};
  for (std::size_t at = 0; at < program.size(); ++at) {
    const bpf_insn& one = program[at];
    std::uint64_t& to = registers[one.dst_reg];
    const auto value = static_cast<std::uint64_t>(static_cast<std::int64_t>(one.imm));
    bool jumps = false;
    switch (one.code) {
      case BPF_LDX | BPF_W | BPF_MEM:
        to = context.at(static_cast<std::size_t>(one.off) / sizeof(std::uint32_t));
        break;
      case BPF_ALU64 | BPF_MOV | BPF_X:
        to = registers[one.src_reg];
        break;
      case BPF_ALU64 | BPF_MOV | BPF_K:
        to = value;
        break;
      case BPF_ALU64 | BPF_AND | BPF_K:
        to &= value;
        break;
      case BPF_JMP | BPF_JNE | BPF_K:
        jumps = to != value;
        break;
      case BPF_JMP | BPF_JEQ | BPF_K:
        jumps = to == value;
        break;
      case BPF_JMP | BPF_JSET | BPF_K:
        jumps = (to & value) != 0;
        break;
      case BPF_JMP | BPF_EXIT:
        return registers[0];
      default:
        return std::nullopt;
    }
    if (one.off < 0 && jumps) {
      return std::nullopt;
    }
    at += jumps ? static_cast<std::size_t>(one.off) : 0;
  }
  return std::nullopt;
}

bool is_listed(const std::vector<DeviceNumber>& allowed, const Question& asked) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const DeviceNumber& number) {
    return number.major == asked.major && number.minor.value_or(asked.minor) == asked.minor;
  });
}

TEST(DeviceProgram, AllowsWhatIsListedAndNothingElse) {
  const std::vector<bpf_insn> program = device_program({{1, 3}, {136, std::nullopt}, {195, 255}});
  const auto says = [&](std::uint32_t major, std::uint32_t minor) {
    Question asked;
    asked.major = major;
    asked.minor = minor;
    return answer(program, asked);
  };
  EXPECT_EQ(says(1, 3), 1U);
  EXPECT_EQ(says(1, 5), 0U);
  EXPECT_EQ(says(136, 0), 1U);
  EXPECT_EQ(says(136, 77), 1U);
  EXPECT_EQ(says(195, 255), 1U);
  EXPECT_EQ(says(195, 0), 0U);
  EXPECT_EQ(says(3, 195), 0U);
}

TEST(DeviceProgram, ABlockDeviceOfThatNumberIsAnotherDevice) {
  const std::vector<bpf_insn> program = device_program({{1, 3}});
  EXPECT_EQ(answer(program, {BPF_DEVCG_DEV_BLOCK, BPF_DEVCG_ACC_READ, 1, 3}), 0U);
}

TEST(DeviceProgram, NoNodeIsMadeAlsoOfAnAllowedDevice) {
  const std::vector<bpf_insn> program = device_program({{1, 3}});
  EXPECT_EQ(answer(program, {BPF_DEVCG_DEV_CHAR, BPF_DEVCG_ACC_MKNOD, 1, 3}), 0U);
  EXPECT_EQ(answer(program, {BPF_DEVCG_DEV_CHAR, BPF_DEVCG_ACC_MKNOD | BPF_DEVCG_ACC_READ, 1, 3}),
            0U);
}

TEST(DeviceProgram, WithoutAListNothingIsOpened) {
  EXPECT_EQ(answer(device_program({}), {}), 0U);
}

RC_GTEST_PROP(DeviceProgram, AnswersAsItsListSays, ()) {
  const auto small = rc::gen::inRange<std::uint32_t>(0, 6);
  const auto number =
      rc::gen::map(rc::gen::tuple(small, rc::gen::maybe(small)), [](const auto& of) {
        const rc::Maybe<std::uint32_t>& minor = std::get<1>(of);
        return DeviceNumber{std::get<0>(of), minor ? std::optional(*minor) : std::nullopt};
      });
  const auto allowed = *rc::gen::container<std::vector<DeviceNumber>>(number);
  const std::vector<bpf_insn> program = device_program(allowed);
  for (std::uint32_t major = 0; major < 7; ++major) {
    for (std::uint32_t minor = 0; minor < 7; ++minor) {
      Question asked;
      asked.major = major;
      asked.minor = minor;
      RC_ASSERT(answer(program, asked) ==
                std::optional<std::uint64_t>(is_listed(allowed, asked) ? 1 : 0));
    }
  }
}

}  // namespace
}  // namespace muster::agent
