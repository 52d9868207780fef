// A stranger at the doors of agents: sends all messages of every_word.h with one kind of key, and
// reports the answers.
//
//   bench_stranger WHO HOW NAME ADDRESS ID [NAME ADDRESS ID]...
//
// `WHO` raw          bytes on TCP or on a unix socket: silence, noise, other protocols, frames
//                    without the handshake that would allow them
//       plain        a ZeroMQ peer without keys; on a unix socket as the login that runs this
//       login:UID    the same as that login; to be started by root
//       unknown      link keys that nobody has
//       ticket:FILE  the keys that the secret of this ticket makes
//       host:ID      the link keys in this copy of some host's id/
// `HOW` all          each word in each envelope
//       some         each word in an envelope of this cluster and one of a later protocol
//       dull         as `all`, without the Join
//       user         as `some`; what a user of the cluster may ask is no open door: reads, and a
//       job
//                    of its own
//       own          harmless questions under the key's own host id: a key let in gets answers
//       orders       under that id, the orders of a login whose host may not vouch for it
// NAME, ADDRESS (IP:PORT or a path) and ID (a copy of its id/) are those of a dialled agent.
//
// Answers: "open" tells or changes something; "denied" is a bare refusal of a ticket's key or of a
// login; "reason" is the answer to a ticket's own Join, names another protocol, or tells a login
// the version, which every login may know. Prints one line for each open answer, and one for each
// door:
//   door WHO NAME ADDRESS up 0|1 said N requests N answers N open N denied N reasons N

#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "agent/api/request.h"
#include "agent/edge/disk/host_key.h"
#include "agent/edge/join/membership_record.h"
#include "agent/step/node_interface.h"
#include "bench/every_word.h"
#include "bench/raw_talk.h"
#include "crdt/edge/lmdb_store.h"
#include "gossip/base/version.h"
#include "gossip/edge/boot_clock.h"
#include "gossip/edge/link_keys.h"
#include "gossip/edge/ticket_line.h"
#include "gossip/edge/zmq_client.h"
#include "gossip/edge/zmq_transport.h"

namespace muster::bench {
namespace {

using std::chrono::milliseconds;

/// How the names of the words begin that ask for the version.
constexpr char kVersionWord[] = "Request 0 ";
static_assert(agent::Verb::kVersion == agent::Verb{0});
/// Of a user that is neither operator nor administrator: the table of access, not that of verbs.h.
/// Lists of tickets, keys and users hold no secret; they count as those of hosts. A user sees own
/// lines of the audit, and makes and ends own access tokens.
constexpr agent::Verb kVerbsOfUser[] = {
    agent::Verb::kVersion,  agent::Verb::kHosts,   agent::Verb::kQuorum,   agent::Verb::kEvents,
    agent::Verb::kSubmit,   agent::Verb::kDryRun,  agent::Verb::kJobs,     agent::Verb::kShow,
    agent::Verb::kWhy,      agent::Verb::kWhyHost, agent::Verb::kHostUses, agent::Verb::kHostDetail,
    agent::Verb::kUsage,    agent::Verb::kTickets, agent::Verb::kKeys,     agent::Verb::kStats,
    agent::Verb::kUsers,    agent::Verb::kWhoami,  agent::Verb::kAudit,    agent::Verb::kMakeToken,
    agent::Verb::kEndToken, agent::Verb::kGpus,    agent::Verb::kGpuBoard, agent::Verb::kQueues,
    agent::Verb::kShares,   agent::Verb::kHttpRoot};
/// In the environment of a job of another user, which no answer may hold.
constexpr char kCanary[] = "door-canary";
/// Silence after which no more answers are expected.
constexpr Duration kQuiet = milliseconds(250);
/// Time for the answers that a ticket's key gets to each request.
constexpr Duration kAnswered = std::chrono::seconds(3);
/// Limit of the whole conversation with one door.
constexpr Duration kPatience = std::chrono::seconds(20);
/// Words in flight: fewer than the queue of a link holds.
constexpr std::size_t kBurst = 24;
/// Requests without an answer, likewise.
constexpr int kOwedMax = 24;

struct Door {
  std::string name;
  std::string address;
  HostId host;
  ClusterId cluster;
  std::string link_key;
  bool is_path() const { return address.starts_with('/'); }
};

struct Who {
  std::string name;
  gossip::LinkKeys link;
  std::optional<HostId> host{};  ///< The host that has this link key.
  std::string ticket{};          ///< The public key of the ticket, for Join and EndTicket.
};

struct Tally {
  bool is_up = false;
  int said = 0;
  int requests = 0;  ///< Among the words.
  int answers = 0;
  int open = 0;
  int denied = 0;
  int reasons = 0;
};

struct Said {
  std::string what;
  bool is_join = false;
  bool is_of_other_protocol = false;
  bool asks_version = false;
};

std::optional<crdt::Records> records_of(const std::string& id) {
  auto store = crdt::LmdbStore::open(id, crdt::Environment::kId);
  if (!store) {
    std::fprintf(stderr, "stranger: %s\n", store.error().text.c_str());
    return std::nullopt;
  }
  return (*store)->recovered();
}

/// The door of an agent by a copy of its id/. The cluster is zero and the link key "" if the agent
/// is not a member.
std::optional<Door> door_of(std::string name, std::string address, const std::string& id) {
  Door door{std::move(name), std::move(address), {}, {}, ""};
  const auto records = records_of(id);
  const auto key = records ? agent::HostKey::load_or_make(*records)
                           : Result<agent::HostKey>(Error{ErrorCode::kIo, ""});
  if (!key) {
    return std::nullopt;
  }
  door.host = key->host_id();
  if (const auto found = records->find(std::string(agent::kClusterKey)); found != records->end()) {
    door.cluster = ClusterId::from_bytes(found->second);
  }
  const auto membership = agent::membership_in(*records);
  if (membership && membership->has_value()) {
    door.link_key = gossip::LinkKeys::from_seed((*membership)->link_seed).public_key;
  }
  return door;
}

std::optional<Who> who_is(const std::string& text) {
  if (text == "raw" || text == "plain") {
    return Who{text, {}};
  }
  if (text == "unknown") {
    return Who{text, gossip::LinkKeys::make()};
  }
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const std::string path = colon == std::string::npos ? "" : text.substr(colon + 1);
  if (kind == "ticket") {
    std::string line;
    std::ifstream(path) >> line;
    const auto ticket = gossip::ticket_in(line);
    if (!ticket) {
      std::fprintf(stderr, "stranger: %s: %s\n", path.c_str(), ticket.error().text.c_str());
      return std::nullopt;
    }
    Who who{kind, gossip::LinkKeys::from_seed(ticket->secret)};
    who.ticket = who.link.public_key;
    return who;
  }
  if (kind == "login") {
    const auto uid = static_cast<uid_t>(std::strtoul(path.c_str(), nullptr, 10));
    const bool is_other = setgroups(0, nullptr) == 0 && setgid(uid) == 0 && setuid(uid) == 0;
    return is_other ? std::optional<Who>({kind, {}}) : std::nullopt;
  }
  if (kind != "host") {
    return std::nullopt;
  }
  const auto records = records_of(path);
  const auto membership =
      records ? agent::membership_in(*records) : std::optional<agent::MembershipRecord>();
  const auto key = records ? agent::HostKey::load_or_make(*records)
                           : Result<agent::HostKey>(Error{ErrorCode::kIo, ""});
  if (!key || !membership || !membership->has_value()) {
    return std::nullopt;
  }
  return Who{kind, gossip::LinkKeys::from_seed((*membership)->link_seed), key->host_id()};
}

/// The words in their envelopes, numbered by their nonces, and the answers to them.
class Speech {
 public:
  Speech(const Who& who, std::string how, const Door& door, const std::vector<Door>& doors)
      : who_(who), how_(std::move(how)), door_(door) {
    Stage stage{door.cluster, {}, doors.back().name, who.ticket};
    for (const Door& each : doors) {
      if (each.host != who.host) {
        stage.hosts.push_back(each.host);
      }
    }
    if (stage.ticket.empty()) {
      stage.ticket = std::string(gossip::kLinkKeyBytes, 't');
    }
    for (const Word& word : words_of(stage)) {
      if (how_ != "dull" || !word.is_join) {
        add(word, stage.hosts.front());
      }
    }
  }

  const std::vector<std::string>& messages() const { return messages_; }
  const Tally& tally() const { return tally_; }
  Tally& tally() { return tally_; }
  /// Whether each word is known to get an answer.
  bool is_whole() const { return tally_.answers >= static_cast<int>(messages_.size()); }

  /// Whether the answers to the first `said` words would fill the answering agent's queue.
  bool is_owed_much(std::size_t said) const {
    return !who_.ticket.empty() && requests_before_[said] > tally_.answers + kOwedMax;
  }
  /// Whether a ticket's key that is let in got all answers that it must get.
  bool is_answered() const { return !who_.ticket.empty() && tally_.answers >= tally_.requests; }

  void hear(std::string bytes) {
    ++tally_.answers;
    auto message = gossip::decode(std::move(bytes));
    if (!message) {
      tell_open("bytes that are no message", "");
      return;
    }
    const gossip::Envelope& envelope = message->envelope();
    const auto found = said_.find(envelope.nonce.value());
    const Said said = found == said_.end() ? Said{"nothing that was said"} : found->second;
    const auto response = envelope.type == gossip::MessageType::kResponse
                              ? agent::decode_response(message->body())
                              : std::nullopt;
    if (how_ == "orders" && !response.has_value()) {
      return;  // A member hears more than answers.
    }
    const bool is_users = how_ == "user" && is_users_to_ask(said.what) && response.has_value() &&
                          response->payload.find(kCanary) == std::string::npos;
    if (who_.name == "login" && response.has_value() && (said.asks_version || is_users)) {
      ++tally_.reasons;
    } else if (!response.has_value() || !response->payload.empty() ||
               response->status == agent::ResponseStatus::kOk) {
      tell_open(said.what, response ? response->text
                                    : "type " + std::to_string(static_cast<int>(envelope.type)));
    } else if (response->status == agent::ResponseStatus::kDenied) {
      ++tally_.denied;
    } else if (how_ == "orders" || how_ == "user" ||
               (!who_.ticket.empty() && (said.is_join || said.is_of_other_protocol))) {
      ++tally_.reasons;
    } else {
      tell_open(said.what, response->text);
    }
  }

  void tell_open(const std::string& what, const std::string& answer) {
    ++tally_.open;
    if (how_ != "own") {
      std::printf("open %s %s %s %s: %s\n", who_.name.c_str(), door_.name.c_str(),
                  door_.address.c_str(), what.c_str(), answer.c_str());
    }
  }

  void print() const {
    std::printf("door %s %s %s up %d said %d requests %d answers %d open %d denied %d reasons %d\n",
                who_.name.c_str(), door_.name.c_str(), door_.address.c_str(), tally_.is_up ? 1 : 0,
                tally_.said, tally_.requests, tally_.answers, tally_.open, tally_.denied,
                tally_.reasons);
  }

 private:
  /// Whether a word is a request for a verb that any user may ask; it is named "Request VERB ...".
  static bool is_users_to_ask(const std::string& what) {
    return std::any_of(std::begin(kVerbsOfUser), std::end(kVerbsOfUser), [&](agent::Verb verb) {
      return (what + " ").starts_with("Request " + std::to_string(static_cast<int>(verb)) + " ");
    });
  }

  bool is_member() const { return how_ == "own" || how_ == "orders"; }

  std::vector<Word> words_of(const Stage& stage) const {
    return how_ == "own"      ? harmless_words()
           : how_ == "orders" ? orders_of_a_login(stage, who_.host.value_or(HostId()), door_.host)
                              : every_word(stage);
  }

  void add(const Word& word, HostId other) {
    gossip::Envelope envelope;
    envelope.version = kProtocolVersion;
    envelope.type = word.type;
    envelope.cluster = door_.cluster;
    envelope.generation = Generation(1);
    if (is_member()) {
      envelope.from = who_.host.value_or(other);
      say(envelope, word);
      return;
    }
    envelope.from = other;
    say(envelope, word);
    ++envelope.version;
    say(envelope, word);
    --envelope.version;
    if (how_ == "some" || how_ == "user") {
      return;
    }
    set_epoch(envelope, {1000, 1});
    say(envelope, word);
    envelope.trailing.clear();
    envelope.trailing_count = 0;
    for (const ClusterId& cluster : {ClusterId(), door_.cluster}) {
      for (const HostId& from : {HostId(), door_.host, other}) {
        if (from.is_zero() && who_.host.has_value()) {
          continue;  // The key says who it is: a member would speak under its own id.
        }
        envelope.cluster = cluster;
        envelope.from = from;
        say(envelope, word);
      }
    }
  }

  void say(gossip::Envelope envelope, const Word& word) {
    envelope.nonce = Nonce(messages_.size() + 1);
    said_[messages_.size() + 1] = {word.name, word.is_join, envelope.version != kProtocolVersion,
                                   (word.name + " ").starts_with(kVersionWord)};
    requests_before_.push_back(tally_.requests);
    tally_.requests += word.type == gossip::MessageType::kRequest ? 1 : 0;
    messages_.push_back(gossip::encode(envelope, word.body));
  }

  const Who& who_;
  std::string how_;
  const Door& door_;
  std::vector<std::string> messages_;
  std::vector<int> requests_before_;  ///< Among the words in front of each.
  std::map<std::uint64_t, Said> said_;
  Tally tally_;
};

// With link keys.

/// Takes the answers; false if the link ended.
bool take(gossip::ZmqTransport& transport, Speech& speech, Instant& last) {
  bool is_alive = true;
  for (gossip::TransportInput& input : transport.take_inputs()) {
    if (auto* received = std::get_if<gossip::Received>(&input)) {
      speech.hear(std::move(received->bytes));
      last = boot_now();
    } else if (std::holds_alternative<gossip::LinkUp>(input)) {
      speech.tally().is_up = true;
      last = boot_now();
    } else if (std::holds_alternative<gossip::LinkDown>(input)) {
      is_alive = false;
    }
  }
  return is_alive;
}

/// False if the words cannot be sent at all.
bool speak_with_keys(const Who& who, const Door& door, Speech& speech) {
  gossip::ZmqTransport::Options options;
  options.listens = false;
  options.link = who.link;
  auto opened = gossip::ZmqTransport::open(options);
  const auto at = gossip::Endpoint::parse(door.address, 0);
  if (!opened || !at || door.link_key.empty()) {
    return false;
  }
  gossip::ZmqTransport& transport = **opened;
  transport.expect({*at, door.link_key});
  const Instant end = boot_now() + kPatience;
  const Duration patience = who.ticket.empty() ? kQuiet : kAnswered;
  Instant last = boot_now();
  std::size_t next = 0;
  bool is_alive = true;
  while (is_alive && boot_now() < end && !speech.is_whole()) {
    // The first word dials; no other is sent before the agent let the key in or refused it.
    const std::size_t burst = speech.tally().is_up ? kBurst : next == 0 ? 1 : 0;
    for (std::size_t i = 0; i < burst && next < speech.messages().size(); ++i) {
      if (speech.is_owed_much(next)) {
        break;
      }
      const std::uint64_t dropped = transport.stats().dropped_queue_full;
      transport.send({*at, gossip::Channel::kControl, speech.messages()[next]});
      last = boot_now();
      if (transport.stats().dropped_queue_full > dropped) {
        break;  // It is sent again once there is room.
      }
      ++next;
    }
    transport.wait(milliseconds(2));
    is_alive = take(transport, speech, last);
    const bool is_said = next == speech.messages().size();
    if (is_said && (speech.is_answered() || boot_now() - last > patience)) {
      break;
    }
  }
  speech.tally().said = speech.tally().is_up ? static_cast<int>(next) : 0;
  if (speech.tally().is_up && next < speech.messages().size()) {
    std::fprintf(stderr, "stranger: %s: not everything could be said\n", door.address.c_str());
    return false;
  }
  return true;
}

// Without.

void hear_all(gossip::ZmqClient& client, Speech& speech, Duration patience) {
  for (;;) {
    auto bytes = client.receive(patience);
    if (!bytes || !bytes->has_value()) {
      return;
    }
    speech.tally().is_up = true;
    speech.hear(std::move(**bytes));
  }
}

/// Over TCP it tries only the first words: the rest waits for a handshake that never comes. libzmq
/// takes none once that handshake has failed.
bool speak_plain(const Door& door, Speech& speech) {
  auto client = gossip::ZmqClient::connect((door.is_path() ? "ipc://" : "tcp://") + door.address);
  if (!client) {
    std::fprintf(stderr, "stranger: %s\n", client.error().text.c_str());
    return false;
  }
  speech.tally().is_up = door.is_path();
  const Instant end = boot_now() + kPatience;
  for (const std::string& message : speech.messages()) {
    while (!client->send(message)) {
      if (!door.is_path()) {
        hear_all(*client, speech, kQuiet);
        return true;
      }
      if (boot_now() > end) {
        std::fprintf(stderr, "stranger: %s: not everything could be said\n", door.address.c_str());
        return false;
      }
      hear_all(*client, speech, milliseconds(2));
    }
    ++speech.tally().said;
    if (speech.tally().said % static_cast<int>(kBurst) != 0) {
      continue;
    }
    hear_all(*client, speech, speech.tally().is_up ? milliseconds(2) : kQuiet);
    if (!speech.tally().is_up) {
      return true;
    }
  }
  hear_all(*client, speech, kQuiet);
  return true;
}

bool speak_raw(const Door& door, Speech& speech) {
  const auto answers = talk_raw(door.address, speech.messages());
  if (!answers.has_value()) {
    std::fprintf(stderr, "stranger: %s: %s\n", door.address.c_str(), std::strerror(errno));
    return false;
  }
  speech.tally().is_up = true;
  speech.tally().said = static_cast<int>(answers->size());
  for (const RawAnswer& answer : *answers) {
    if (!answer.heard.empty()) {
      ++speech.tally().answers;
      speech.tell_open(answer.what, std::to_string(answer.heard.size()) + " bytes");
    }
  }
  return true;
}

bool speak(const Who& who, const Door& door, Speech& speech) {
  if (who.name == "raw") {
    return speak_raw(door, speech);
  }
  if (who.name == "plain" || who.name == "login") {
    return speak_plain(door, speech);
  }
  return speak_with_keys(who, door, speech);
}

int visit(const std::string& who_text, const std::string& how, const std::vector<Door>& doors) {
  const auto who = who_is(who_text);
  if (!who.has_value()) {
    std::fprintf(stderr, "stranger: %s is nobody\n", who_text.c_str());
    return 1;
  }
  std::vector<Speech> speeches;
  std::vector<std::future<bool>> talks;
  for (const Door& door : doors) {
    speeches.emplace_back(*who, how, door, doors);
  }
  for (std::size_t i = 0; i < doors.size(); ++i) {
    talks.push_back(std::async(std::launch::async, [&who, &doors, &speeches, i] {
      return speak(*who, doors[i], speeches[i]);
    }));
  }
  bool is_whole = true;
  for (std::size_t i = 0; i < doors.size(); ++i) {
    is_whole = talks[i].get() && is_whole;
    speeches[i].print();
  }
  return is_whole ? 0 : 1;
}

}  // namespace
}  // namespace muster::bench

int main(int argc, char** argv) {
  if (argc < 6 || argc % 3 != 0) {
    std::fprintf(stderr,
                 "usage: bench_stranger WHO all|some|dull|user|own|orders NAME ADDRESS ID ...\n");
    return 2;
  }
  std::vector<muster::bench::Door> doors;
  for (int i = 3; i < argc; i += 3) {
    auto door = muster::bench::door_of(argv[i], argv[i + 1], argv[i + 2]);
    if (!door.has_value()) {
      return 1;
    }
    doors.push_back(*std::move(door));
  }
  return muster::bench::visit(argv[1], argv[2], doors);
}
