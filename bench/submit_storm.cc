// Many submits through many nodes, each under a key of its own and tried until a node accepts it.
//
//   submit_storm PREFIX COUNT A_SECOND SOCKET... -- ARGV...
//
// Key number i is PREFIX (16 hex digits) and i; it is tried at node i first, counted round, then at
// the next, as the CLI does. At most A_SECOND new keys a second (0: no limit), kWorkers under way.
// For each key "key K job N node I tries T ms L"; 1 when one was refused for good. The same command
// again asks for the same jobs.

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "gossip/base/version.h"
#include "gossip/edge/zmq_client.h"
#include "gossip/wire/message.h"

namespace {

using muster::Duration;
using muster::gossip::ZmqClient;
using Clock = std::chrono::steady_clock;
namespace agent = muster::agent;
namespace gossip = muster::gossip;

constexpr unsigned kWorkers = 20;
constexpr Duration kTryTimeout = std::chrono::seconds(3);
constexpr auto kPause = std::chrono::milliseconds(20);

struct Storm {
  std::string prefix;
  unsigned count = 0;
  unsigned a_second = 0;
  std::vector<std::string> sockets;
  std::vector<std::string> argv;
  Clock::time_point began = Clock::now();
  std::atomic<unsigned> next = 0;
  std::atomic<bool> has_failed = false;
  std::mutex out;
};

class Worker {
 public:
  Worker(Storm& storm, std::uint64_t nonces)
      : storm_(storm), clients_(storm.sockets.size()), nonce_(nonces << 32) {}

  void run() {
    for (unsigned i = storm_.next++; i < storm_.count; i = storm_.next++) {
      if (storm_.a_second > 0) {
        std::this_thread::sleep_until(
            storm_.began + std::chrono::microseconds(1'000'000ULL * i / storm_.a_second));
      }
      submit(i);
    }
  }

 private:
  void submit(unsigned index) {
    char number[17];
    std::snprintf(number, sizeof number, "%016x", index);
    agent::SubmitArgs args;
    args.key = storm_.prefix + number;
    args.spec.name = "storm";
    args.spec.user = "bench";
    args.spec.request.gpus = 1;
    args.spec.command.argv = storm_.argv;
    args.spec.command.directory = "/";
    const auto began = Clock::now();
    for (unsigned tries = 1;; ++tries) {
      const std::size_t node = (index + tries - 1) % clients_.size();
      const auto response = ask(node, args);
      const bool is_open = !response.has_value() ||
                           response->status == agent::ResponseStatus::kUnknown ||
                           response->status == agent::ResponseStatus::kNoQuorum;
      if (!is_open) {
        tell(args.key, *response, node, tries, Clock::now() - began);
        return;
      }
      if (tries % clients_.size() == 0) {
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  std::optional<agent::Response> ask(std::size_t node, const agent::SubmitArgs& args) {
    if (!clients_[node].has_value()) {
      auto client = ZmqClient::connect("ipc://" + storm_.sockets[node]);
      if (!client) {
        return std::nullopt;
      }
      clients_[node].emplace(std::move(client).value());
    }
    agent::Request request;
    request.verb = agent::Verb::kSubmit;
    request.arguments = agent::encode_payload(args);
    gossip::Envelope envelope;
    envelope.version = muster::kProtocolVersion;
    envelope.type = gossip::MessageType::kRequest;
    envelope.nonce = muster::Nonce(++nonce_);
    if (!clients_[node]->send(gossip::encode(envelope, agent::encode(request)))) {
      clients_[node].reset();
      return std::nullopt;
    }
    auto response = answer(*clients_[node]);
    if (!response.has_value()) {
      clients_[node].reset();
    }
    return response;
  }

  std::optional<agent::Response> answer(ZmqClient& client) const {
    const auto until = Clock::now() + kTryTimeout;
    while (Clock::now() < until) {
      auto bytes = client.receive(std::chrono::milliseconds(100));
      if (!bytes) {
        return std::nullopt;
      }
      if (bytes->has_value()) {
        const auto message = gossip::decode(std::move(**bytes));
        if (message && message->envelope().nonce == muster::Nonce(nonce_)) {
          return agent::decode_response(message->body());
        }
      }
    }
    return std::nullopt;
  }

  void tell(const std::string& key, const agent::Response& response, std::size_t node,
            unsigned tries, Clock::duration took) {
    const auto job = response.status == agent::ResponseStatus::kOk
                         ? agent::decode_payload<agent::JobRef>(response.payload)
                         : std::nullopt;
    const std::lock_guard lock(storm_.out);
    if (!job.has_value()) {
      storm_.has_failed = true;
      std::fprintf(stderr, "key %s: %s\n", key.c_str(), response.text.c_str());
      return;
    }
    std::printf("key %s job %llu node %zu tries %u ms %.3f\n", key.c_str(),
                static_cast<unsigned long long>(job->job.value()), node, tries,
                std::chrono::duration<double, std::milli>(took).count());
  }

  Storm& storm_;
  std::vector<std::optional<ZmqClient>> clients_;
  std::uint64_t nonce_;
};

bool read_words(const std::vector<std::string>& words, Storm& storm) {
  std::size_t i = 3;
  for (; i < words.size() && words[i] != "--"; ++i) {
    storm.sockets.push_back(words[i]);
  }
  if (storm.sockets.empty() || i + 1 >= words.size() || words[0].size() != 16) {
    return false;
  }
  storm.prefix = words[0];
  storm.count = static_cast<unsigned>(std::atoi(words[1].c_str()));
  storm.a_second = static_cast<unsigned>(std::atoi(words[2].c_str()));
  storm.argv.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Storm storm;
  if (!read_words({argv + 1, argv + argc}, storm)) {
    std::fprintf(stderr, "usage: see the head of bench/submit_storm.cc\n");
    return 2;
  }
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&storm, i] { Worker(storm, i + 1).run(); });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return storm.has_failed ? 1 : 0;
}
