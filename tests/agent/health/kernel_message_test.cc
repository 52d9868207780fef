#include "agent/health/kernel_message.h"

#include <gtest/gtest.h>

namespace muster::agent {
namespace {

KernelXid xid_of(const std::string& text) {
  const auto record = parse_kernel_record("4,7,1000,-;" + text + "\n");
  const auto* const xid = record.has_value() ? std::get_if<KernelXid>(&record->found) : nullptr;
  return xid == nullptr ? KernelXid{} : *xid;
}

bool is_empty(const std::string& line) {
  const auto record = parse_kernel_record(line);
  return record.has_value() && std::holds_alternative<std::monostate>(record->found);
}

TEST(KernelMessage, AnXidInEachOfItsSpellings) {
  struct Row {
    std::string text;
    KernelXid xid;
  };
  const Row rows[] = {
      {"NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus.",
       {"0000:1b:00.0", "", 79, "pid=1234, GPU has fallen off the bus."}},
      {"NVRM: Xid (PCI:0000:1B:00.0): 13, pid='<unknown>', name=<unknown>",
       {"0000:1b:00.0", "", 13, "pid='<unknown>', name=<unknown>"}},
      {"NVRM: Xid (0000:03:00): 14, Channel 00000001",
       {"0000:03:00.0", "", 14, "Channel 00000001"}},
      {"NVRM: Xid (PCI:00000000:41:00.0): 119", {"0000:41:00.0", "", 119, ""}},
      {"NVRM: Xid (PCI:00010000:41:00): 119", {"10000:41:00.0", "", 119, ""}},
      {"NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: SM (0x1)",
       {"0000:01:00.0", "", 94, "pid=7194, Contained: SM (0x1)"}},
      {"NVRM: Xid (GPU-5f2b1c9e-0000-1111-2222-333344445555): 62,",
       {"", "GPU-5f2b1c9e-0000-1111-2222-333344445555", 62, ""}},
      {"NVRM: Xid (PCI:0000:1b:00): 31, name=\x01\x7f\xff end",
       {"0000:1b:00.0", "", 31, "name=??? end"}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(xid_of(row.text), row.xid) << row.text;
  }
}

TEST(KernelMessage, AnErrorOfAnNvSwitch) {
  const auto fatal = parse_kernel_record(
      "3,9,5,-;nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up");
  ASSERT_TRUE(fatal.has_value());
  EXPECT_EQ(std::get<KernelSwitchXid>(fatal->found),
            (KernelSwitchXid{"0000:c1:00.0", 20034, true, "Fatal, Link 30 LTSSM Fault Up"}));
  const auto other = parse_kernel_record(
      "3,9,5,-;nvidia-nvswitch12: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS");
  ASSERT_TRUE(other.has_value());
  EXPECT_FALSE(std::get<KernelSwitchXid>(other->found).is_fatal);
  EXPECT_TRUE(is_empty("3,9,5,-;nvidia-nvswitch: SXid (PCI:0000:c1:00.0): 28006, Non-fatal"));
  EXPECT_TRUE(is_empty("3,9,5,-;nvidia-nvswitch1234: SXid (PCI:0000:c1:00.0): 28006, x"));
  EXPECT_TRUE(is_empty("3,9,5,-;nvidia-nvswitch1: SXid (PCI:0000:c1:00.0): 100000, x"));
}

TEST(KernelMessage, ARecordHasItsNumber) {
  const auto record =
      parse_kernel_record("6,18446744073709551615,1,-,caller=T1;hello\n KEY=value\n");
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->sequence, UINT64_MAX);
  EXPECT_TRUE(record->is_kernels);
}

TEST(KernelMessage, AProcessIsNotBelieved) {
  const std::string text = ";NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.\n";
  for (const std::string priority : {"8", "12", "14", "30", "191", "4294967296"}) {
    const auto record = parse_kernel_record(priority + ",7,1000,-" + text);
    ASSERT_TRUE(record.has_value());
    EXPECT_FALSE(record->is_kernels);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(record->found)) << priority;
  }
}

TEST(KernelMessage, WordsInsideAnotherMessageAreNoXid) {
  for (const std::string text : {
           "python[77]: NVRM: Xid (PCI:0000:1b:00): 79, x",
           " NVRM: Xid (PCI:0000:1b:00): 79, x",
           "NVRM: Xid (0000[4711]: segfault at 0 ip 0 sp 0): 79, in x",
           "hello\nNVRM: Xid (PCI:0000:1b:00): 79, x",
           "NVRM: Xid (PCI:0000:1b:00): 79 x",
           "NVRM: Xid (PCI:0000:1b:00): 0, x",
           "NVRM: Xid (PCI:0000:1b:00): 1000, x",
           "NVRM: Xid (PCI:0000:1b:00): -79, x",
           "NVRM: Xid (PCI:0000:1b:00): 99999999999999999999, x",
           "NVRM: Xid (PCI:0000:1b): 79, x",
           "NVRM: Xid (PCI:1b:00.0): 79, x",
           "NVRM: Xid (PCI:0000:1b:00.): 79, x",
           "NVRM: Xid (PCI:0000:1g:00): 79, x",
           "NVRM: Xid (PCI:000000000:1b:00): 79, x",
           "NVRM: Xid (GPU-): 79, x",
           "NVRM: Xid (GPU-xyz): 79, x",
           "NVRM: Xid (): 79, x",
           "NVRM: Xid (PCI:0000:1b:00",
           "NVRM: Xid (",
           "nvrm: xid (PCI:0000:1b:00): 79, x",
       }) {
    EXPECT_TRUE(is_empty("4,7,1000,-;" + text)) << text;
  }
}

TEST(KernelMessage, BytesThatAreNoRecordAreRefused) {
  for (const std::string line : {"", ";", "x", "4", "4,", "4,7", "4,7,", "4,7;x", "4,7,x;y",
                                 ",7,1,-;x", "-4,7,1,-;x", "4,7,1000,-"}) {
    EXPECT_FALSE(parse_kernel_record(line).has_value()) << line;
  }
}

TEST(KernelMessage, LongOnesAreBounded) {
  const std::string start = "4,7,1000,-;NVRM: Xid (PCI:0000:1b:00): 79, ";
  const std::string fits = start + std::string(kKernelRecordBytesMax - start.size(), 'a');
  const auto record = parse_kernel_record(fits);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(std::get<KernelXid>(record->found).text.size(), kKernelTextBytesMax);
  EXPECT_FALSE(parse_kernel_record(fits + "a").has_value());
  EXPECT_TRUE(is_empty("4,7,1,-;NVRM: Xid (" + std::string(4000, '0') + "): 79, x"));
}

}  // namespace
}  // namespace muster::agent
