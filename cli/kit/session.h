#pragma once
// One run of one verb: the options of the command line, the conversation with the node, and the way
// by which answers and errors reach the user.

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/options.h"
#include "cli/kit/places.h"
#include "cli/kit/world.h"

namespace muster::cli {

/// Answers older than this say so on stderr.
inline constexpr std::uint64_t kFreshMs = 2000;
/// A row is confirmed once a probe round, and the longest takes 5 s: up to here nothing is amiss.
inline constexpr std::uint64_t kFreshRowsMs = 6000;

/// Options every verb that asks a node has.
struct CommonOptions {
  std::string node;
  std::string data_dir;
  std::string access_file;  ///< With an access token; "" = that of MUSTER_ACCESS, or none.
  std::string sign_with;    ///< SignWish::sign_with
  bool is_json = false;
  bool is_verbose = false;
  bool is_consistent = false;
  Duration timeout = std::chrono::seconds(10);

  void describe(Options& options);
  void describe_consistent(Options& options);
  /// Of orders that may have to be signed.
  void describe_signing(Options& options);
};

/// The error of an answer that does not decode.
inline constexpr char kUnreadableAnswer[] =
    "cannot read the node's answer: compare `muster version` here and there";

/// An answer, or the reason why it is missing: whether the node or the way to it failed.
struct Reply {
  agent::ResponseStatus status = agent::ResponseStatus::kOk;
  std::string text;          ///< One line when the status is not kOk.
  bool is_from_node = true;  ///< False: the way to it failed. kNoQuorum then means never received,
                             ///< kUnknown that it may have been.
  agent::Response response;
  bool is_ok() const { return status == agent::ResponseStatus::kOk; }
};

/// The time after which a node said that the refused request may be taken, in ms, at least 1;
/// nullopt if it said none.
std::optional<std::uint64_t> retry_after_ms(const Reply& reply);

/// "muster: TEXT", made safe, without a line break at its end. People get lines that fit their
/// terminal; programs, whose stderr is no terminal, get one line.
std::string message_text(const World& world, const std::string& text);

class Session {
 public:
  Session(World& world, CommonOptions common)
      : world_(world),
        common_(std::move(common)),
        nodes_(node_places(world, common_.node, common_.data_dir)) {}

  const CommonOptions& common() const { return common_; }
  const World& world() const { return world_; }
  std::ostream& out() { return *world_.out; }
  std::ostream& err() { return *world_.err; }
  const Screen& screen() const { return world_.terminal.screen; }

  /// One try with one node, nothing printed. After a failed one the next try goes to the next node,
  /// round and round; to one that ended while it was asked, once it is back. kUsage when what was
  /// named can be no node.
  Reply exchange(const agent::Request& request, Duration timeout);
  /// Goes on to the next node, after one that cannot help.
  void turn_to_next_node();
  /// Nodes to go to; at least 1.
  std::size_t nodes_count() const { return nodes_ ? nodes_->size() : 1; }
  Reply exchange(const agent::Request& request) { return exchange(request, common_.timeout); }

  /// Asks a question without effects and reads the answer. nullopt if that failed: the failure was
  /// printed and `failed()` is its exit code. The age of an old answer was printed.
  /// `target`: the host that it is about, which the node passes it on to; zero = the node itself.
  template <class T>
  std::optional<T> read(agent::Verb verb, std::string arguments = "", HostId target = HostId()) {
    const std::optional<agent::Response> response = read_raw(verb, std::move(arguments), target);
    return response.has_value() ? understood(agent::decode_payload<T>(response->payload))
                                : std::nullopt;
  }
  /// From here on the leader answers questions: an order follows, which may rest on the one that
  /// was just given before it.
  void ask_leader() { common_.is_consistent = true; }
  int failed() const { return exit_code_; }
  /// Of the last answer that read() got.
  const agent::Response& last() const { return last_; }

  /// Prints `text` (one line: what, and what to do about it) and returns the exit code. `wait_ms`:
  /// as retry_after_ms() says of the reply.
  int fail(agent::ResponseStatus status, const std::string& text,
           std::optional<std::uint64_t> wait_ms = std::nullopt);
  int fail(const Reply& reply) { return fail(reply.status, reply.text, retry_after_ms(reply)); }
  /// A line on stderr.
  void note(const std::string& text);
  /// A line on stderr, for somebody who watches.
  void progress(const std::string& text);

 private:
  std::optional<agent::Response> read_raw(agent::Verb verb, std::string arguments, HostId target);
  template <class T>
  std::optional<T> understood(std::optional<T> value) {
    if (!value.has_value()) {
      fail(agent::ResponseStatus::kFailed, kUnreadableAnswer);
    }
    return value;
  }
  /// Waits for the agent to come back when it has just ended and there is no other node.
  Status connect(const NodePlace& place, Duration timeout);
  void note_age(agent::Verb verb);
  std::string all_nodes() const;

  World& world_;
  CommonOptions common_;
  Result<std::vector<NodePlace>> nodes_;
  std::size_t node_ = 0;  ///< Index of the one in use.
  /// The last try was cut off by the end of the agent, which may be about to start again.
  bool was_cut_ = false;
  std::unique_ptr<NodeClient> client_;
  /// The line of the access token, or why there is no line; nullopt = not looked for yet.
  std::optional<Result<std::string>> access_;
  agent::Response last_;
  std::string told_why_old_;  ///< Why the last answer was old, as noted.
  int exit_code_ = 0;
};

}  // namespace muster::cli
