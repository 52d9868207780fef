#include "cli/kit/session.h"

#include <algorithm>
#include <utility>

#include "agent/api/json/orders.h"
#include "agent/api/queues.h"
#include "agent/api/verbs.h"
#include "cli/kit/duration.h"
#include "cli/kit/text.h"
#include "scheduler/access/access_token.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// An agent that ended, as one does that becomes a member, may be back within this.
constexpr Duration kBackWithin = std::chrono::seconds(3);
constexpr Duration kLook = std::chrono::milliseconds(50);
/// Of a question that its agent ended under.
constexpr std::size_t kTriesOfCut = 3;

/// How the failures of the way to the node read as statuses.
ResponseStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kNotFound:
      return ResponseStatus::kNoQuorum;
    case ErrorCode::kDenied:
      return ResponseStatus::kDenied;
    case ErrorCode::kInvalid:
    case ErrorCode::kConflict:
    case ErrorCode::kCorrupt:
    case ErrorCode::kIo:
    case ErrorCode::kUnknown:
    case ErrorCode::kImpossible:
      return ResponseStatus::kUnknown;
  }
  return ResponseStatus::kUnknown;
}

/// The status of an error before the request was sent.
ResponseStatus status_before_sending(ErrorCode code) {
  return code == ErrorCode::kInvalid  ? ResponseStatus::kUsage
         : code == ErrorCode::kDenied ? ResponseStatus::kDenied
                                      : ResponseStatus::kNoQuorum;
}

/// The agent here answers in place of the host that it should have asked, and could not.
bool is_of_the_way(const NodePlace& place, const agent::Response& response) {
  return !place.name.empty() && response.answered_by != place.name &&
         (response.status == ResponseStatus::kNoQuorum ||
          response.status == ResponseStatus::kUnknown);
}

/// The line of the access token in whose name the user asks; "" = as the login. A line that cannot
/// be one is refused here, before a node is asked.
Result<std::string> access_line(const World& world, const CommonOptions& common) {
  const bool is_of_file = !common.access_file.empty();
  Result<std::string> line = is_of_file ? world.tickets.read_access(common.access_file)
                                        : world.environment("MUSTER_ACCESS").value_or("");
  if (!line || (line->empty() && !is_of_file)) {
    return line;
  }
  const auto token = scheduler::access_token_in(*line);
  return token ? line
               : Error{token.error().code, (is_of_file ? common.access_file : "MUSTER_ACCESS") +
                                               ": " + token.error().text};
}

Reply broken(ResponseStatus status, const Error& error) {
  Reply reply;
  reply.status = status;
  reply.text = error.text;
  reply.is_from_node = false;
  return reply;
}

}  // namespace

void CommonOptions::describe(Options& options) {
  options.common(true);
  options.text("--node", node,
               "Ask this host, or the agent at this socket or data directory; try a list in order "
               "(MUSTER_NODE)",
               "NAME|PATH,...");
  options.text("--data-dir", data_dir, "Ask the agent with this data directory (MUSTER_DATA_DIR)",
               "DIR");
  options.text("--access-file", access_file,
               "Show the access token in this file, which only you can read (or in MUSTER_ACCESS)",
               "FILE");
  options.duration("--timeout", timeout, "Give up after this long without an answer",
                   std::chrono::milliseconds(1));
  options.flag("--json", is_json, "Print JSON; `muster man json` explains its fields");
  options.flag("-v,--verbose", is_verbose, "Print more details on stderr");
  options.common(false);
}

void CommonOptions::describe_consistent(Options& options) {
  options.flag("--consistent", is_consistent,
               "Read from the leader, confirmed by a majority, not from any voter's copy");
}

void CommonOptions::describe_signing(Options& options) {
  options.text("--sign-with", sign_with,
               "Sign with this SSH key, or with one that ssh-agent holds; default: ssh-agent, then "
               "the key of `muster init`",
               "FILE|agent");
}

void Session::turn_to_next_node() {
  client_.reset();
  node_ = (node_ + 1) % nodes_count();
}

std::string Session::all_nodes() const {
  std::vector<std::string> all;
  for (const NodePlace& place : *nodes_) {
    all.push_back(text_of(place));
  }
  return join(all);
}

Status Session::connect(const NodePlace& place, Duration timeout) {
  const bool may_return = std::exchange(was_cut_, false) && nodes_count() == 1;
  const Instant end = world_.clock.now() + std::min(timeout, kBackWithin);
  for (;;) {
    auto client = world_.connect(place.address);
    if (client) {
      client_ = std::move(client).value();
      return ok();
    }
    if (!may_return || client.error().code != ErrorCode::kUnavailable ||
        world_.clock.now() >= end) {
      return client.error();
    }
    world_.clock.sleep(kLook);
  }
}

Reply Session::exchange(const agent::Request& request, Duration timeout) {
  if (!nodes_) {
    return broken(ResponseStatus::kUsage, nodes_.error());
  }
  if (!access_.has_value()) {
    access_ = access_line(world_, common_);
  }
  if (!*access_) {
    return broken(ResponseStatus::kDenied, access_->error());
  }
  const NodePlace place = nodes_->at(node_);
  if (client_ == nullptr) {
    if (const Status connected = connect(place, timeout); !connected) {
      turn_to_next_node();
      return broken(status_before_sending(connected.error().code), connected.error());
    }
  }
  if (!is(request.verb, agent::Effect::kReads)) {
    world_.terminal.on_change(request.verb);
  }
  agent::Request addressed = request;
  addressed.node = request.node.empty() ? place.name : request.node;
  addressed.access = **access_;
  Result<agent::Response> response = client_->ask(addressed, timeout);
  if (!response) {
    was_cut_ = response.error().code == ErrorCode::kIo;
    turn_to_next_node();
    return broken(status_of(response.error().code), response.error());
  }
  Reply reply;
  reply.status = response->status;
  reply.text = response->text;
  reply.is_from_node = !is_of_the_way(place, *response);
  reply.response = std::move(response).value();
  if (!reply.is_from_node) {
    turn_to_next_node();
  }
  return reply;
}

std::optional<agent::Response> Session::read_raw(agent::Verb verb, std::string arguments,
                                                 HostId target) {
  agent::Request request;
  request.verb = verb;
  request.target = target;
  request.consistent = common_.is_consistent;
  request.arguments = std::move(arguments);
  Reply reply = exchange(request);
  const auto tries_max = [this] {
    return was_cut_ ? std::max(nodes_count(), kTriesOfCut) : nodes_count();
  };
  for (std::size_t tries = 1; !reply.is_from_node && tries < tries_max(); ++tries) {
    reply = exchange(request);
  }
  const agent::VerbRow* row = agent::find_verb(verb);
  const bool is_of_a_job =
      row != nullptr && row->right == agent::Right::kMaySeeJobs && !row->is_readable("");
  if (is_of_a_job && !request.consistent && reply.status == ResponseStatus::kNotFound) {
    // The node may not have heard yet of a job that was just accepted: the leader has.
    request.consistent = true;
    Reply sure = exchange(request);
    if (sure.is_ok()) {
      reply = std::move(sure);
    } else if (sure.status != ResponseStatus::kNotFound) {
      reply.text += " (as far as this node knows: the leader could not be asked)";
    }
  }
  if (!reply.is_ok()) {
    // A question without an answer has simply failed: it could not have changed anything.
    const bool is_plain = reply.is_from_node || reply.status == ResponseStatus::kUsage ||
                          reply.status == ResponseStatus::kDenied;
    if (!is_plain && nodes_count() > 1) {
      reply.text = "none of the nodes " + all_nodes() + " answers; the last one: " + reply.text;
    }
    fail(is_plain ? reply.status : ResponseStatus::kFailed, reply.text);
    return std::nullopt;
  }
  last_ = reply.response;
  note_age(verb);
  return last_;
}

std::optional<std::uint64_t> retry_after_ms(const Reply& reply) {
  const auto told = reply.is_from_node && reply.status == ResponseStatus::kNoQuorum
                        ? agent::decode_payload<agent::RetryAfter>(reply.response.payload)
                        : std::nullopt;
  constexpr std::uint64_t kMsMax =
      std::chrono::floor<std::chrono::milliseconds>(kDurationMax).count();
  return told.has_value() ? std::optional(std::clamp<std::uint64_t>(told->ms, 1, kMsMax))
                          : std::nullopt;
}

std::string message_text(const World& world, const std::string& text) {
  const std::string line = "muster: " + printable(text);
  const std::size_t columns = world.terminal.screen.columns;
  return world.terminal.is_err ? in_lines(line, columns == 0 ? kScreenColumns : columns) : line;
}

int Session::fail(ResponseStatus status, const std::string& text,
                  std::optional<std::uint64_t> wait_ms) {
  exit_code_ = static_cast<int>(status);
  note(text);
  if (common_.is_json) {
    out() << agent::error_json(text, exit_code_, wait_ms) << "\n";
  }
  return exit_code_;
}

void Session::note(const std::string& text) {
  err() << message_text(world_, text) << "\n" << std::flush;
}

void Session::progress(const std::string& text) {
  if (world_.terminal.is_err) {
    note(text);
  }
}

void Session::note_age(agent::Verb verb) {
  const bool is_gossip = is(verb, agent::Answerer::kAsked);
  if (last_.age_ms <= (is_gossip ? kFreshRowsMs : kFreshMs)) {
    told_why_old_.clear();
    return;
  }
  std::string why = last_.text;
  if (why.empty()) {
    why = is_gossip ? "nothing newer has reached host " + last_.answered_by
                    : "no quorum reachable from host " + last_.answered_by;
  }
  if (why == told_why_old_) {
    return;  // A verb that looks again and again says it once.
  }
  told_why_old_ = why;
  err() << "answer is " << last_.age_ms / 1000 << " s old: " << printable(why) << "\n";
}

}  // namespace muster::cli
