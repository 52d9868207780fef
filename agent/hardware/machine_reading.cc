#include "agent/hardware/machine_reading.h"

#include "gossip/wire/wire.h"

namespace muster::agent {
namespace {

using gossip::Encoder;
using gossip::Reader;

constexpr std::uint64_t kVersion = 1;
constexpr std::uint64_t kAncestorLast = static_cast<std::uint64_t>(PciAncestor::kMachine);
constexpr std::uint64_t kRecoveryLast = static_cast<std::uint64_t>(RecoveryAction::kDrain);

std::string cut(const std::string& text) {
  return text.substr(0, kReadingTextBytesMax);
}

/// An array of no element or of one.
template <class T>
void write_optional(Encoder& out, const std::optional<T>& value) {
  out.array(value.has_value() ? 1 : 0);
  if (value.has_value()) {
    out.u64(static_cast<std::uint64_t>(*value));
  }
}

template <class T>
std::optional<T> read_optional(Reader& in, std::uint64_t max) {
  Reader values = in.array_at_most(1);
  return values.size() == 1 ? std::optional(static_cast<T>(values.u64_at_most(max))) : std::nullopt;
}

std::optional<std::uint32_t> read_number(Reader& in) {
  return read_optional<std::uint32_t>(in, UINT32_MAX);
}

std::optional<std::uint64_t> read_count(Reader& in) {
  return read_optional<std::uint64_t>(in, UINT64_MAX);
}

std::uint32_t read_u32(Reader& in) {
  return static_cast<std::uint32_t>(in.u64_at_most(UINT32_MAX));
}

template <class T, class Write>
void write_list(Encoder& out, const std::vector<T>& values, Write write) {
  out.array(values.size());
  for (const T& value : values) {
    write(out, value);
  }
}

template <class T, class Read>
std::vector<T> read_list(Reader& in, std::size_t count_max, Read read) {
  Reader values = in.array_at_most(count_max);
  std::vector<T> list;
  for (std::size_t i = 0; i < values.size() && values.ok(); ++i) {
    list.push_back(read(values));
  }
  return list;
}

void write_memory(Encoder& out, const std::optional<GpuMemory>& memory) {
  out.array(memory.has_value() ? 3 : 0);
  if (memory.has_value()) {
    out.u64(memory->total_bytes).u64(memory->reserved_bytes).u64(memory->used_bytes);
  }
}

std::optional<GpuMemory> read_memory(Reader& in) {
  Reader values = in.array();
  if (values.size() == 0) {
    return std::nullopt;
  }
  GpuMemory memory;
  memory.total_bytes = values.u64();
  memory.reserved_bytes = values.u64();
  memory.used_bytes = values.u64();
  return memory;
}

void write_instance(Encoder& out, const MigInstance& instance) {
  out.array(5)
      .text(cut(instance.uuid))
      .u64(instance.gpu_instance)
      .u64(instance.compute_instance)
      .u64(instance.slices)
      .u64(instance.memory_bytes);
}

MigInstance read_instance(Reader& list) {
  Reader in = list.array();
  MigInstance instance;
  instance.uuid = in.text(kReadingTextBytesMax);
  instance.gpu_instance = read_u32(in);
  instance.compute_instance = read_u32(in);
  instance.slices = read_u32(in);
  instance.memory_bytes = in.u64();
  return instance;
}

/// In MIG mode an array of the list of instances, else an array of nothing.
std::optional<std::vector<MigInstance>> read_mig(Reader& in) {
  Reader lists = in.array_at_most(1);
  if (lists.size() == 0) {
    return std::nullopt;
  }
  return read_list<MigInstance>(lists, kMigInstancesMax, read_instance);
}

void write_peer(Encoder& out, const GpuPeer& peer) {
  out.array(3).u64(peer.index);
  write_optional(out, peer.ancestor);
  out.u64(peer.nvlinks);
}

GpuPeer read_peer(Reader& list) {
  Reader in = list.array();
  GpuPeer peer;
  peer.index = static_cast<std::uint32_t>(in.u64_at_most(kGpusReadMax - 1));
  peer.ancestor = read_optional<PciAncestor>(in, kAncestorLast);
  peer.nvlinks = read_u32(in);
  return peer;
}

void write_errors(Encoder& out, const std::optional<GpuErrors>& errors) {
  out.array(errors.has_value() ? 5 : 0);
  if (errors.has_value()) {
    write_optional(out, errors->ecc_corrected);
    write_optional(out, errors->ecc_uncorrected);
    write_optional(out, errors->rows_remapped);
    out.boolean(errors->is_remap_pending).boolean(errors->has_remap_failed);
  }
}

std::optional<GpuErrors> read_errors(Reader& list) {
  Reader in = list.array();
  if (in.size() == 0) {
    return std::nullopt;
  }
  GpuErrors errors;
  errors.ecc_corrected = read_count(in);
  errors.ecc_uncorrected = read_count(in);
  errors.rows_remapped = read_number(in);
  errors.is_remap_pending = in.boolean();
  errors.has_remap_failed = in.boolean();
  return errors;
}

void write_use(Encoder& out, const GpuUse& use) {
  out.array(5);
  write_optional(out, use.gpu_percent);
  write_optional(out, use.celsius);
  write_optional(out, use.milliwatts);
  write_optional(out, use.sm_mhz);
  out.u64(use.throttle_reasons);
}

GpuUse read_use(Reader& list) {
  Reader in = list.array();
  GpuUse use;
  use.gpu_percent = read_number(in);
  use.celsius = read_number(in);
  use.milliwatts = read_number(in);
  use.sm_mhz = read_number(in);
  use.throttle_reasons = in.u64();
  return use;
}

/// An array of the list, or of nothing if the list is absent.
void write_processes(Encoder& out, const std::optional<std::vector<GpuProcess>>& processes) {
  out.array(processes.has_value() ? 1 : 0);
  if (processes.has_value()) {
    write_list(out, *processes, [](Encoder& to, const GpuProcess& process) {
      to.array(2).u64(process.pid);
      write_optional(to, process.used_bytes);
    });
  }
}

std::optional<std::vector<GpuProcess>> read_processes(Reader& in) {
  Reader lists = in.array_at_most(1);
  if (lists.size() == 0) {
    return std::nullopt;
  }
  return read_list<GpuProcess>(lists, kGpuProcessesMax, [](Reader& list) {
    Reader values = list.array();
    GpuProcess process;
    process.pid = read_u32(values);
    process.used_bytes = read_count(values);
    return process;
  });
}

void write_gpu(Encoder& out, const GpuReading& gpu) {
  out.array(15).text(cut(gpu.uuid)).text(cut(gpu.name)).text(cut(gpu.pci_id));
  write_optional(out, gpu.minor);
  write_optional(out, gpu.numa_node);
  write_memory(out, gpu.memory);
  out.array(gpu.mig.has_value() ? 1 : 0);
  if (gpu.mig.has_value()) {
    write_list(out, *gpu.mig, write_instance);
  }
  write_list(out, gpu.peers, write_peer);
  out.u64(gpu.switch_nvlinks).u64(gpu.inactive_nvlinks);
  write_errors(out, gpu.errors);
  write_optional(out, gpu.recovery);
  write_use(out, gpu.use);
  write_processes(out, gpu.processes);
  out.text(cut(gpu.error));
}

GpuReading read_gpu(Reader& list) {
  Reader in = list.array();
  GpuReading gpu;
  gpu.uuid = in.text(kReadingTextBytesMax);
  gpu.name = in.text(kReadingTextBytesMax);
  gpu.pci_id = in.text(kReadingTextBytesMax);
  gpu.minor = read_number(in);
  gpu.numa_node = read_number(in);
  gpu.memory = read_memory(in);
  gpu.mig = read_mig(in);
  gpu.peers = read_list<GpuPeer>(in, kGpusReadMax, read_peer);
  gpu.switch_nvlinks = read_u32(in);
  gpu.inactive_nvlinks = read_u32(in);
  gpu.errors = read_errors(in);
  gpu.recovery = read_optional<RecoveryAction>(in, kRecoveryLast);
  gpu.use = read_use(in);
  gpu.processes = read_processes(in);
  gpu.error = in.text(kReadingTextBytesMax);
  return gpu;
}

bool are_peers_there(const MachineReading& reading) {
  for (const GpuReading& gpu : reading.gpus) {
    for (const GpuPeer& peer : gpu.peers) {
      if (peer.index >= reading.gpus.size()) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::string encode(const MachineReading& reading) {
  Encoder out;
  out.array(5).u64(kVersion).text(cut(reading.driver)).text(cut(reading.cuda));
  write_list(out, reading.gpus, write_gpu);
  write_list(out, reading.missing,
             [](Encoder& to, const std::string& name) { to.text(cut(name)); });
  return out.take();
}

std::optional<MachineReading> decode_machine_reading(std::string_view bytes) {
  const auto document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  Reader in = document->root();
  if (in.u64() != kVersion) {
    return std::nullopt;
  }
  MachineReading reading;
  reading.driver = in.text(kReadingTextBytesMax);
  reading.cuda = in.text(kReadingTextBytesMax);
  reading.gpus = read_list<GpuReading>(in, kGpusReadMax, read_gpu);
  reading.missing = read_list<std::string>(
      in, kMissingMax, [](Reader& list) { return list.text(kReadingTextBytesMax); });
  return in.ok() && are_peers_there(reading) ? std::optional(std::move(reading)) : std::nullopt;
}

}  // namespace muster::agent
