#pragma once
// The event loop of one agent: the sockets, disk, supervisors and clock around a Node. One thread
// runs it; other threads write to disk and check signatures.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/edge/host/login_names.h"
#include "agent/edge/run/audit_thread.h"
#include "agent/edge/run/door_metrics.h"
#include "agent/edge/run/grant_hooks.h"
#include "agent/edge/run/host_facts.h"
#include "agent/edge/run/host_hardware.h"
#include "agent/edge/run/login_queue.h"
#include "agent/edge/run/loop_account.h"
#include "agent/edge/run/row_check_thread.h"
#include "agent/edge/run/upkeep.h"
#include "agent/edge/run/web_door.h"
#include "agent/edge/run/web_parts.h"
#include "agent/edge/supervisor/rank_supervisor.h"
#include "agent/node/node.h"
#include "crdt/edge/lmdb_store.h"
#include "crdt/edge/storage_thread.h"
#include "gossip/base/wall_clock.h"
#include "gossip/edge/zmq_transport.h"

namespace muster::agent {

/// Everything the loop drives; made by agent/edge/run/run_agent.
struct LoopParts {
  std::unique_ptr<gossip::ZmqTransport> transport;
  std::unique_ptr<crdt::StorageThread> storage;
  std::unique_ptr<RowCheckThread> row_check;
  std::unique_ptr<RankSupervisors> supervisors;
  std::unique_ptr<GrantHooks> hooks;
  std::unique_ptr<HostFacts> facts;
  std::unique_ptr<WebDoor> web;  ///< nullptr = there is no HTTP.
  std::unique_ptr<Node> node;
  WebParts* web_parts = nullptr;      ///< Outlives the loop; nullptr if `web` is.
  Upkeep* upkeep = nullptr;           ///< Outlives the loop.
  LoginNames* login_names = nullptr;  ///< Outlives the loop.
  HostHardware* hardware = nullptr;   ///< Outlives the loop.
  AuditThread* audit = nullptr;       ///< Outlives the loop; nullptr = there is no audit file.
  int stop_fd = -1;                   ///< Readable when the process was asked to end.
};

class EventLoop {
 public:
  enum class End {
    kStopped,  ///< Asked to end, or left.
    kRestart,  ///< The quorum or a peer asked for a higher generation: see raise_to().
    kFailed,   ///< The disk failed: nothing more may be promised.
    kRefused,  ///< The quorum refuses this start: see why_refused().
    kDoubled,  ///< Another agent lives under this host's id: one of them needs a new one.
  };

  explicit EventLoop(LoopParts parts);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  End run();
  Generation raise_to() const { return raise_to_; }
  const std::string& why_refused() const { return why_refused_; }

 private:
  void wait(Instant deadline);
  void on_stop_signal();
  /// False if there was no input.
  bool take_inputs();
  void drain_backlog();
  void hear(gossip::TransportInput input);
  void step(Node::Input input);
  void drain();
  void carry(gossip::TransportOutput& output);
  void read_output(const ReadOutput& read);
  void read_stats(const ReadStats& read);
  std::vector<MetricFamily> metrics() const;
  void command(const SupervisorCommand& command);
  void notice_pause(Instant before, Duration meant);
  void look_at_wall_clock();
  void tell_refused();
  void keep_in_order();
  void feed_audit();
  void look_at_hardware();
  void look_at_hooks();
  void look_at_host();

  LoopParts parts_;
  LoginQueue logins_;
  LoopAccount account_;
  DoorMetrics metrics_;
  Instant started_;
  std::optional<End> end_;
  bool was_paused_ = false;
  bool stop_asked_ = false;
  bool are_rows_dropped_ = false;
  Generation raise_to_;
  std::string why_refused_;
  WallClock told_wall_clock_;
  std::uint64_t told_renewed_ = 0;
  gossip::ZmqTransport::Stats told_refused_;  ///< As of the last line about it.
  Instant tell_refused_at_{};
};

}  // namespace muster::agent
