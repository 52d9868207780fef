#pragma once
// A record of /dev/kmsg is `priority,sequence,microseconds,flags;text`. This reads one, and finds
// the error messages of the NVIDIA driver and of the NVSwitch driver in its text:
//
//   NVRM: Xid (PCI:0000:1b:00): 79, pid=1234, GPU has fallen off the bus.
//   nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore
//
// A process with the right to write to /dev/kmsg cannot write as the kernel: the kernel gives such
// a record the facility of user space. Therefore only facility 0 is believed. Kernel messages quote
// names that users choose, at most 15 bytes of a program's name in front. Therefore the message
// must begin with the driver's words and go on with a whole address.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace muster::agent {

/// The kernel gives out records of at most this size. A longer one is refused.
inline constexpr std::size_t kKernelRecordBytesMax = 8192;
/// Of the text that is kept of a message.
inline constexpr std::size_t kKernelTextBytesMax = 200;
/// The numbers of NVSwitch errors have five digits.
inline constexpr std::uint32_t kSwitchXidCodeMax = 99999;

/// An Xid in the kernel's log. One of `pci_id` and `uuid` is "".
struct KernelXid {
  std::string pci_id;  ///< As normal_pci_id() writes it.
  std::string uuid;    ///< "GPU-..."
  std::uint32_t code = 0;
  std::string text;  ///< The rest of the message: printable ASCII.
  bool operator==(const KernelXid&) const = default;
};

/// An error of an NVSwitch.
struct KernelSwitchXid {
  std::string pci_id;  ///< Of the switch.
  std::uint32_t code = 0;
  bool is_fatal = false;  ///< True unless the message says that it is not fatal.
  std::string text;
  bool operator==(const KernelSwitchXid&) const = default;
};

struct KernelRecord {
  std::uint64_t sequence = 0;  ///< Counts the records since the boot.
  bool is_kernels = false;     ///< False if a process wrote it: then nothing is found in it.
  std::variant<std::monostate, KernelXid, KernelSwitchXid> found;
  bool operator==(const KernelRecord&) const = default;
};

/// nullopt if it is not a record, or too long. Lines behind the first, which are the dictionary of
/// the record, are not read.
std::optional<KernelRecord> parse_kernel_record(std::string_view record);

/// "0000:1b:00.0" of "0000:1B:00", "00000000:1b:00.0" and the like: lower case, a domain of four
/// digits (more only if it is greater), function 0 if there is no function. nullopt if it is no
/// address of that form.
std::optional<std::string> normal_pci_id(std::string_view text);

}  // namespace muster::agent
