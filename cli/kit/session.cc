#include "cli/kit/session.h"

#include <algorithm>

#include "agent/api/hosts.h"
#include "cli/kit/duration.h"
#include "cli/kit/json_view.h"
#include "cli/kit/places.h"
#include "cli/kit/text.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

/// How the failures of the way to the node read as statuses.
ResponseStatus status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kUnavailable:
    case ErrorCode::kNotFound:
      return ResponseStatus::kNoQuorum;
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

/// The addresses between the commas, at least one.
std::vector<std::string> split_addresses(const std::string& list) {
  if (list.starts_with("ipc://")) {
    return {list};
  }
  std::vector<std::string> addresses;
  std::size_t start = 0;
  while (start <= list.size() && addresses.size() < kNodesMax) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (end > start) {
      addresses.push_back(list.substr(start, end - start));
    }
    start = end + 1;
  }
  return addresses.empty() ? std::vector<std::string>{list} : addresses;
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
  options.text("--node", node,
               "Ask this node's control port, or the next one of the list when it is gone, instead "
               "of the agent on this host (MUSTER_NODE)",
               "HOST:PORT,...");
  options.text("--data-dir", data_dir, "Ask the agent with this data directory (MUSTER_DATA_DIR)",
               "DIR");
  options.duration("--timeout", timeout, "Give up after this long without an answer",
                   std::chrono::milliseconds(1));
  options.flag("--json", is_json, "One JSON document on stdout, for programs");
  options.flag("-v,--verbose", is_verbose, "Say more on stderr");
}

void CommonOptions::describe_consistent(Options& options) {
  options.flag("--consistent", is_consistent,
               "Ask the leader, after a majority confirmed it, instead of the nearest replica");
}

const std::vector<std::string>& Session::nodes() {
  if (nodes_.empty()) {
    nodes_ = split_addresses(node_address(world_, common_.node, common_.data_dir));
  }
  return nodes_;
}

std::size_t Session::nodes_count() {
  return nodes().size();
}

std::optional<std::string> Session::malformed_node() {
  const auto found = std::find_if_not(nodes().begin(), nodes().end(), is_address);
  return found == nodes().end() ? std::nullopt : std::optional(*found);
}

void Session::turn_to_next_node() {
  client_.reset();
  node_ = (node_ + 1) % nodes().size();
}

void Session::learn_nodes() {
  agent::Request request;
  request.verb = agent::Verb::kNodes;
  const std::size_t named = nodes().size();
  const Instant deadline = world_.clock.now() + common_.timeout / 2;
  for (std::size_t tries = 0; tries < named && world_.clock.now() < deadline; ++tries) {
    const Reply reply = exchange(request, std::min(kLearnTimeout, common_.timeout / 4));
    if (!reply.is_from_node) {
      continue;
    }
    // An older node knows no such question, and then the named ones are all there are.
    const auto list = agent::decode_payload<agent::NodeList>(reply.response.payload);
    for (const std::string& address : list.value_or(agent::NodeList()).addresses) {
      if (nodes_.size() < kNodesMax &&
          std::find(nodes_.begin(), nodes_.end(), address) == nodes_.end()) {
        nodes_.push_back(address);
      }
    }
    return;
  }
}

Reply Session::exchange(const agent::Request& request, Duration timeout) {
  if (client_ == nullptr) {
    auto client = world_.connect(nodes().at(node_));
    if (!client) {
      turn_to_next_node();
      // Nothing was sent, whatever went wrong.
      const bool is_usage = client.error().code == ErrorCode::kInvalid;
      return broken(is_usage ? ResponseStatus::kUsage : ResponseStatus::kNoQuorum, client.error());
    }
    client_ = std::move(client).value();
  }
  Result<agent::Response> response = client_->ask(request, timeout);
  if (!response) {
    turn_to_next_node();
    return broken(status_of(response.error().code), response.error());
  }
  Reply reply;
  reply.status = response->status;
  reply.text = response->text;
  reply.response = std::move(response).value();
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
  for (std::size_t tries = 1; tries < nodes().size() && !reply.is_from_node; ++tries) {
    reply = exchange(request);
  }
  const bool is_of_a_job = verb == agent::Verb::kShow || verb == agent::Verb::kWhy;
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
    // A question that nobody answered has simply failed: nothing could have been done by it.
    const bool is_plain = reply.is_from_node || reply.status == ResponseStatus::kUsage;
    if (!is_plain && nodes().size() > 1) {
      reply.text = "none of the nodes " + join(nodes()) + " answers; of the last: " + reply.text;
    }
    fail(is_plain ? reply.status : ResponseStatus::kFailed, reply.text);
    return std::nullopt;
  }
  last_ = reply.response;
  note_age(verb);
  return last_;
}

std::string message_text(const World& world, const std::string& text) {
  const std::string line = "muster: " + printable(text);
  return world.terminal.is_err ? in_lines(line, kScreenColumns) : line;
}

int Session::fail(ResponseStatus status, const std::string& text) {
  exit_code_ = static_cast<int>(status);
  note(text);
  if (common_.is_json) {
    out() << error_json(text, exit_code_) << "\n";
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
  const bool is_gossip = verb == agent::Verb::kHosts || verb == agent::Verb::kWhyHost;
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
