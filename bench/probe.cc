// Questions of a bench to running agents, faster than CLI processes could ask: one connection for
// each agent, open all the time. Times printed are CLOCK_BOOTTIME nanoseconds.
//
//   probe watch NAME SECONDS SOCKET...  says "ready", then when each agent first lists NAME
//                                       unreachable: "seen SOCKET NS"; 1 when one never did
//   probe whole COUNT SECONDS SOCKET... the same for COUNT alive hosts with GPUs; an agent need not
//                                       listen yet
//   probe rtt SECONDS NODE SOCKET       asks NODE through that agent each 20 ms, which takes their
//   link:
//                                       "ms LATENCY" for each answer, "lost" for each missing one
//   probe ask SECONDS VERB NODE SOCKET  the same of whoami, jobs or version; NODE - is that agent
//   probe submit SOCKET COUNT GPUS -- ARGV...  "sent NS job N ms LATENCY" for each accepted job

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "agent/api/hosts.h"
#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "gossip/base/version.h"
#include "gossip/edge/zmq_client.h"
#include "gossip/wire/message.h"

namespace {

using muster::Duration;
using muster::gossip::ZmqClient;
namespace agent = muster::agent;
namespace gossip = muster::gossip;

constexpr useconds_t kLookUs = 10'000;
/// With hundreds of agents each is asked less often: the questions must not disturb the figure.
constexpr long long kAskNsAnAgent = 1'000'000;
constexpr Duration kAnswer = std::chrono::seconds(5);
constexpr useconds_t kRttPauseUs = 20'000;
constexpr Duration kRetry = std::chrono::milliseconds(300);
constexpr int kSubmitTriesMax = 100;

long long boot_ns() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<long long>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

agent::Request request_of(agent::Verb verb, std::string arguments) {
  agent::Request request;
  request.verb = verb;
  request.arguments = std::move(arguments);
  return request;
}

std::string bytes_of(const agent::Request& request, std::uint64_t nonce) {
  gossip::Envelope envelope;
  envelope.version = muster::kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = muster::Nonce(nonce);
  return gossip::encode(envelope, agent::encode(request));
}

std::optional<agent::Response> response_in(std::string bytes, std::uint64_t nonce) {
  const auto message = gossip::decode(std::move(bytes));
  if (!message || message->envelope().nonce != muster::Nonce(nonce)) {
    return std::nullopt;
  }
  return agent::decode_response(message->body());
}

/// One agent that is being watched.
struct Watched {
  std::string socket;
  std::optional<ZmqClient> client;  ///< nullopt until the agent listens.
  std::uint64_t nonce = 0;          ///< Of the open question; 0 = there is no question.
  long long asked = 0;
  bool seen = false;
};

bool lists_unreachable(const agent::Response& response, const std::string& name) {
  const auto list = agent::decode_payload<agent::HostList>(response.payload);
  if (!list.has_value()) {
    return false;
  }
  for (const agent::HostInfo& host : list->hosts) {
    if (host.name == name && host.state == "unreachable") {
      return true;
    }
  }
  return false;
}

bool lists_alive(const agent::Response& response, long count) {
  const auto list = agent::decode_payload<agent::HostList>(response.payload);
  if (!list.has_value()) {
    return false;
  }
  return count == std::count_if(list->hosts.begin(), list->hosts.end(), [](const auto& host) {
           return host.state == "alive" && host.gpus > 0;
         });
}

using Seen = std::function<bool(const agent::Response&)>;

/// Takes the answer if there is one and asks again; one question is open at a time.
void look(Watched& watched, const Seen& is_seen, long long pause_ns, std::uint64_t& nonces) {
  if (!watched.client.has_value()) {
    auto client = ZmqClient::connect("ipc://" + watched.socket);
    if (!client) {
      return;
    }
    watched.client.emplace(std::move(client).value());
  }
  auto bytes = watched.client->receive(Duration(0));
  if (!bytes) {  // It ended, as one does that becomes a member: ask it again when it is back.
    watched.client.reset();
    watched.nonce = 0;
    return;
  }
  if (bytes->has_value()) {
    const auto response = response_in(std::move(**bytes), watched.nonce);
    if (response.has_value()) {
      watched.nonce = 0;
      watched.seen = is_seen(*response);
    }
  }
  if (watched.seen) {
    std::printf("seen %s %lld\n", watched.socket.c_str(), boot_ns());
    std::fflush(stdout);
    return;
  }
  const long long since = boot_ns() - watched.asked;
  if (watched.nonce == 0 ? since >= pause_ns : since > kAnswer.count()) {
    watched.nonce = ++nonces;
    watched.asked = boot_ns();
    (void)watched.client->send(bytes_of(request_of(agent::Verb::kHosts, ""), watched.nonce));
  }
}

int watch(const Seen& is_seen, int seconds, const std::vector<std::string>& sockets) {
  std::vector<Watched> all;
  for (const std::string& socket : sockets) {
    all.emplace_back().socket = socket;
  }
  std::printf("ready\n");
  std::fflush(stdout);
  std::uint64_t nonces = 0;
  const long long end = boot_ns() + static_cast<long long>(seconds) * 1'000'000'000;
  std::size_t left = all.size();
  const long long pause_ns = static_cast<long long>(left) * kAskNsAnAgent;
  while (left > 0 && boot_ns() < end) {
    for (Watched& each : all) {
      if (!each.seen) {
        look(each, is_seen, pause_ns, nonces);
        left -= each.seen ? 1U : 0U;
      }
    }
    usleep(kLookUs);
  }
  return left == 0 ? 0 : 1;
}

int ask(int seconds, agent::Verb verb, const std::string& node, const std::string& socket) {
  auto client = ZmqClient::connect("ipc://" + socket);
  if (!client) {
    std::fprintf(stderr, "probe: %s\n", client.error().text.c_str());
    return 1;
  }
  agent::Request request = request_of(verb, "");
  request.node = node;
  const long long end = boot_ns() + static_cast<long long>(seconds) * 1'000'000'000;
  for (std::uint64_t nonce = 1; boot_ns() < end; ++nonce) {
    const long long sent = boot_ns();
    (void)client->send(bytes_of(request, nonce));
    const auto bytes = client->receive(kAnswer);
    const auto response = bytes && bytes->has_value() ? response_in(**bytes, nonce) : std::nullopt;
    if (response.has_value() && response->status == agent::ResponseStatus::kOk) {
      std::printf("ms %.3f\n", static_cast<double>(boot_ns() - sent) / 1e6);
    } else {
      std::printf("lost\n");
    }
    usleep(kRttPauseUs);
  }
  return 0;
}

bool submit_one(ZmqClient& client, const agent::SubmitArgs& submit, std::uint64_t nonce) {
  const agent::Request request = request_of(agent::Verb::kSubmit, agent::encode_payload(submit));
  for (int i = 0; i < kSubmitTriesMax; ++i) {
    const long long sent = boot_ns();
    (void)client.send(bytes_of(request, nonce));
    auto bytes = client.receive(kRetry);  // Then again, under the same key.
    if (!bytes || !bytes->has_value()) {
      continue;
    }
    const auto response = response_in(std::move(**bytes), nonce);
    if (!response.has_value() || response->status != agent::ResponseStatus::kOk) {
      usleep(100'000);
      continue;
    }
    const auto job = agent::decode_payload<agent::JobRef>(response->payload);
    std::printf("sent %lld job %llu ms %.3f\n", sent,
                static_cast<unsigned long long>(job->job.value()),
                static_cast<double>(boot_ns() - sent) / 1e6);
    std::fflush(stdout);
    return true;
  }
  return false;
}

int submit(const std::string& socket, int count, unsigned gpus, std::vector<std::string> argv) {
  auto client = ZmqClient::connect("ipc://" + socket);
  if (!client) {
    std::fprintf(stderr, "probe: %s\n", client.error().text.c_str());
    return 1;
  }
  agent::SubmitArgs args;
  args.spec.name = "bench";
  args.spec.user = "bench";
  args.spec.request.gpus = gpus;
  args.spec.command.argv = std::move(argv);
  args.spec.command.directory = "/";
  for (int i = 0; i < count; ++i) {
    char key[33];
    std::snprintf(key, sizeof key, "%016llx%08x%08x", static_cast<unsigned long long>(boot_ns()),
                  static_cast<unsigned>(getpid()), static_cast<unsigned>(i));
    args.key = key;
    if (!submit_one(*client, args, static_cast<std::uint64_t>(i) + 1)) {
      std::fprintf(stderr, "probe: submit was not accepted\n");
      return 1;
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() >= 4 && words[0] == "watch") {
    const auto is_seen = [&](const auto& answer) { return lists_unreachable(answer, words[1]); };
    return watch(is_seen, std::atoi(words[2].c_str()), {words.begin() + 3, words.end()});
  }
  if (words.size() >= 4 && words[0] == "whole") {
    const long count = std::atol(words[1].c_str());
    const auto is_seen = [&](const auto& answer) { return lists_alive(answer, count); };
    return watch(is_seen, std::atoi(words[2].c_str()), {words.begin() + 3, words.end()});
  }
  if (words.size() == 4 && words[0] == "rtt") {
    return ask(std::atoi(words[1].c_str()), agent::Verb::kVersion, words[2], words[3]);
  }
  if (words.size() == 5 && words[0] == "ask") {
    const agent::Verb verb = words[2] == "whoami" ? agent::Verb::kWhoami
                             : words[2] == "jobs" ? agent::Verb::kJobs
                                                  : agent::Verb::kVersion;
    return ask(std::atoi(words[1].c_str()), verb, words[3] == "-" ? "" : words[3], words[4]);
  }
  if (words.size() >= 6 && words[0] == "submit" && words[4] == "--") {
    return submit(words[1], std::atoi(words[2].c_str()),
                  static_cast<unsigned>(std::atoi(words[3].c_str())),
                  {words.begin() + 5, words.end()});
  }
  std::fprintf(stderr, "usage: see the head of bench/probe.cc\n");
  return 2;
}
