#pragma once
// GpuHealth judges the GPUs of this host, and the host, by what the driver says: Xids, looks,
// probers that hang, resets and self-tests. health_cause.h is the table of its rules. A
// StateMachine. Owned by the agent.
//
// - The words that a program writes are no input. An Xid that a program can cause is counted and
// told
//   to its attempt, and masks nothing, however often it comes.
// - A GPU comes back by the remedy of each cause and a self-test that began after it, or by an
//   operator. The record makes this true over a restart of the agent; another boot id in it is a
//   boot, which is the remedy of a reset, too.
// - While the library does not answer nothing changes.

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "agent/health/gpu_causes.h"
#include "agent/health/gpu_health_interface.h"
#include "agent/health/look_facts.h"
#include "agent/health/xid_catalogue.h"
#include "agent/health/xid_merge.h"

namespace muster::agent {

/// Xids by address that wait for the first look, which tells the GPUs of the addresses. The oldest
/// goes first.
inline constexpr std::size_t kUnplacedXidsMax = 256;
/// An event about the same GPU and code is told again after this time, with the number since.
inline constexpr Duration kXidTellEvery = std::chrono::minutes(1);
/// A reset that failed is asked for again after this time.
inline constexpr Duration kResetAgain = std::chrono::minutes(10);
/// Xids of code 63, or of code 92, within a day that make a GPU suspect.
inline constexpr std::size_t kTrendXids = 8;
inline constexpr Duration kTrendWindow = std::chrono::hours(24);

class GpuHealth {
 public:
  using Input = health::Input;
  using Output = health::Output;

  /// `boot_id` is the kernel's name of this boot; "" if it cannot be read: then no boot is seen.
  /// Its first output, ready at once, asks again for the resets and self-tests that are due; the
  /// states of the record are no changes, and stand in gpus().
  GpuHealth(Instant now, std::string boot_id, XidPolicy policy, HealthRecord record = {});

  void step(Instant now, Input input);
  void tick(Instant now);
  Instant next_deadline() const;
  Output take_output();
  void check_invariants() const;

  /// In the order of their uuids: those registered or seen, and those with an open cause.
  std::vector<GpuHealthInfo> gpus() const;
  /// kOk for a GPU that it does not know.
  GpuState state(const std::string& uuid) const;
  HostHealthInfo host() const;

 private:
  struct CodeCount {
    std::uint64_t total = 0;
    std::uint64_t untold = 0;
    Instant told_at = kLongAgo;
    std::deque<Instant> trend;
  };
  struct Gpu {
    std::string pci_id;
    GpuCauses causes;
    LookFacts facts;
    std::map<std::uint32_t, CodeCount> codes;  ///< At most kXidCodeMax.
    bool is_registered = false;
    bool is_resetting = false;
    bool is_check_asked = false;
    Instant reset_again_at = kLongAgo;  ///< kNever while a reset was asked for.
    GpuState told_state = GpuState::kOk;
    std::vector<std::uint32_t> told_shape;
  };

  void hear(Instant now, health::XidSeen seen);
  void hear(Instant now, const health::SwitchXidSeen& seen);
  void hear(Instant now, const health::Registered& registered);
  void hear(Instant now, const health::Look& look);
  void hear(Instant now, const health::NoAnswer& no_answer);
  void hear(Instant now, const health::GpuHangs& hangs);
  void hear(Instant now, const health::GpuAnswers& answers);
  void hear(Instant now, const health::ResetBegan& began);
  void hear(Instant now, const health::ResetEnded& ended);
  void hear(Instant now, const health::CheckEnded& ended);
  void hear(Instant now, const health::EpilogFailed& failed);
  void hear(Instant now, const health::UnmaskOrder& order);
  void hear(Instant now, const health::UncordonOrder& order);
  void hear(Instant now, const health::HostFact& fact);

  /// True if the record of the kernel's log is a new one of this boot.
  bool is_unheard(std::uint64_t kernel_sequence);
  /// The GPU that a telling is about; nullptr if it is not known.
  std::pair<const std::string, Gpu>* find(const std::string& uuid, const std::string& pci_id);
  /// Creates it; nullptr if there are too many.
  Gpu* know(const std::string& uuid);
  void place(Instant now, const health::XidSeen& seen);
  void act(Instant now, const std::string& uuid, Gpu& gpu, const health::XidSeen& seen);
  void look_at(Instant now, Instant began, Gpu& gpu, const GpuReading* reading,
               const std::string& uuid);
  void cordon(Instant now, HostCause cause, std::string why);
  void settle(Instant now);
  HealthRecord record() const;

  std::string boot_id_;
  XidPolicy policy_;
  std::map<std::string, Gpu> gpus_;
  std::map<HostCause, OpenHostCause> host_;
  XidMerge merge_;
  std::deque<health::XidSeen> unplaced_;
  std::uint64_t kernel_sequence_ = 0;
  bool has_looked_ = false;
  bool is_answered_ = true;
  bool is_record_due_ = false;
  Output out_;
};

}  // namespace muster::agent
