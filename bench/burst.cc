// A client of one queue: it submits at a steady pace, whatever the answers are, with several
// requests on their way. Runs as the login that starts it.
//
//   bench_burst submit SOCKET QUEUE PREFIX A_SECOND SECONDS PHASE GPUS
//   bench_burst jobs SOCKET
//
// Key number i is PREFIX and i, due PHASE (a part of the time between two) and i / A_SECOND seconds
// after the start. At the end it prints for each key, with milliseconds of CLOCK_MONOTONIC since
// boot of its send and of the time from when it was due to the answer:
//   accepted SENT MS JOB
//   refused SENT MS RETRY TEXT   RETRY: ms after which it may be repeated, 0: the answer told none
//   unknown SENT MS              it may have been accepted; no answer came within kPatience
// `jobs` prints "JOB QUEUE" of all jobs that the leader knows.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "agent/api/request.h"
#include "gossip/base/version.h"
#include "gossip/edge/zmq_client.h"
#include "gossip/wire/message.h"

namespace {

using muster::Duration;
using muster::gossip::ZmqClient;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;
namespace agent = muster::agent;
namespace gossip = muster::gossip;

/// Requests on their way at once. Higher: a slow cluster keeps more of them.
constexpr std::size_t kOpenMax = 64;
/// For the last answers.
constexpr auto kPatience = std::chrono::seconds(15);
constexpr Duration kLook = std::chrono::milliseconds(50);
constexpr std::chrono::seconds kPageWait(20);

struct Wish {
  std::string queue;
  std::string prefix;
  double a_second = 1;
  double seconds = 1;
  double phase = 0;
  std::uint32_t gpus = 1;
};

std::string bytes_of(const agent::Request& request, std::uint64_t nonce) {
  gossip::Envelope envelope;
  envelope.version = muster::kProtocolVersion;
  envelope.type = gossip::MessageType::kRequest;
  envelope.nonce = muster::Nonce(nonce);
  return gossip::encode(envelope, agent::encode(request));
}

double ms_of(Clock::time_point when) {
  return Milliseconds(when.time_since_epoch()).count();
}

class Client {
 public:
  Client(ZmqClient client, Wish wish) : client_(std::move(client)), wish_(std::move(wish)) {}

  /// False if the agent ended.
  bool run() {
    const auto began = Clock::now();
    const auto end = began + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(wish_.seconds));
    for (std::uint64_t next = 0;;) {
      const auto due =
          began + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                      (static_cast<double>(next) + wish_.phase) / wish_.a_second));
      const auto now = Clock::now();
      if (now >= end || due >= end) {
        break;
      }
      if (now >= due && open_.size() < kOpenMax && send(next, due)) {
        ++next;
        continue;
      }
      const Duration wait =
          now < due ? std::min<Duration>(due - now, kLook) : Duration(std::chrono::milliseconds(1));
      if (!take(wait)) {
        return false;
      }
    }
    for (const auto until = Clock::now() + kPatience; !open_.empty() && Clock::now() < until;) {
      if (!take(kLook)) {
        return false;
      }
    }
    return true;
  }

  void print() const {
    for (const std::string& line : lines_) {
      std::puts(line.c_str());
    }
    for (const auto& [nonce, sent] : open_) {
      std::printf("unknown %.3f %.3f\n", ms_of(sent.sent), Milliseconds(kPatience).count());
    }
  }

 private:
  struct Sent {
    Clock::time_point due;
    Clock::time_point sent;
  };

  bool send(std::uint64_t index, Clock::time_point due) {
    char number[17];
    std::snprintf(number, sizeof number, "%016llx", static_cast<unsigned long long>(index));
    agent::SubmitArgs args;
    args.key = wish_.prefix + number;
    args.spec.name = "burst";
    args.spec.queue = wish_.queue;
    args.spec.request.gpus = wish_.gpus;
    args.spec.command.argv = {"true"};
    args.spec.command.directory = "/";
    agent::Request request;
    request.verb = agent::Verb::kSubmit;
    request.arguments = agent::encode_payload(args);
    const auto now = Clock::now();
    if (!client_.send(bytes_of(request, index + 1))) {
      return false;
    }
    open_[index + 1] = {due, now};
    return true;
  }

  /// Takes an answer, if one comes. False if the agent ended.
  bool take(Duration wait) {
    auto bytes = client_.receive(wait);
    if (!bytes) {
      return false;
    }
    if (!bytes->has_value()) {
      return true;
    }
    const auto message = gossip::decode(std::move(**bytes));
    const auto open = message ? open_.find(message->envelope().nonce.value()) : open_.end();
    const auto response =
        open == open_.end() ? std::nullopt : agent::decode_response(message->body());
    if (response.has_value()) {
      note(open->second, *response);
      open_.erase(open);
    }
    return true;
  }

  void note(const Sent& sent, const agent::Response& response) {
    char times[64];
    std::snprintf(times, sizeof times, " %.3f %.3f", ms_of(sent.sent),
                  Milliseconds(Clock::now() - sent.due).count());
    const auto job = response.status == agent::ResponseStatus::kOk
                         ? agent::decode_payload<agent::JobRef>(response.payload)
                         : std::nullopt;
    if (job.has_value()) {
      lines_.push_back("accepted" + std::string(times) + " " + std::to_string(job->job.value()));
    } else if (response.status == agent::ResponseStatus::kUnknown ||
               response.status == agent::ResponseStatus::kOk) {
      lines_.push_back("unknown" + std::string(times));
    } else {
      const auto retry = agent::decode_payload<agent::RetryAfter>(response.payload);
      lines_.push_back("refused" + std::string(times) + " " +
                       std::to_string(retry.has_value() ? retry->ms : 0) + " " + response.text);
    }
  }

  ZmqClient client_;
  Wish wish_;
  std::map<std::uint64_t, Sent> open_;  ///< By nonce.
  std::vector<std::string> lines_;
};

/// One page of the leader's jobs; nullopt without an answer.
std::optional<agent::JobList> page_of(ZmqClient& client, muster::JobId after, std::uint64_t nonce) {
  agent::Request request;
  request.verb = agent::Verb::kJobs;
  request.consistent = true;
  request.arguments = agent::encode_payload(agent::JobsQuery{after});
  if (!client.send(bytes_of(request, nonce))) {
    return std::nullopt;
  }
  for (const auto until = Clock::now() + kPageWait; Clock::now() < until;) {
    auto bytes = client.receive(kLook);
    if (!bytes) {
      return std::nullopt;
    }
    if (!bytes->has_value()) {
      continue;
    }
    const auto message = gossip::decode(std::move(**bytes));
    if (message && message->envelope().nonce == muster::Nonce(nonce)) {
      const auto response = agent::decode_response(message->body());
      return response.has_value() && response->status == agent::ResponseStatus::kOk
                 ? agent::decode_payload<agent::JobList>(response->payload)
                 : std::nullopt;
    }
  }
  return std::nullopt;
}

bool print_jobs(ZmqClient& client) {
  muster::JobId after;
  for (std::uint64_t nonce = 1;; ++nonce) {
    const auto page = page_of(client, after, nonce);
    if (!page.has_value()) {
      return false;
    }
    for (const agent::JobSummary& job : page->jobs) {
      std::printf("%llu %s\n", static_cast<unsigned long long>(job.id.value()), job.queue.c_str());
    }
    if (page->next == muster::JobId()) {
      return true;
    }
    after = page->next;
  }
}

/// Fifty that start at once may have to wait for the agent.
muster::Result<ZmqClient> connect(const std::string& socket) {
  for (const auto until = Clock::now() + kPatience;;) {
    auto client = ZmqClient::connect("ipc://" + socket);
    if (client || client.error().code != muster::ErrorCode::kUnavailable || Clock::now() > until) {
      return client;
    }
  }
}

int fail(const char* text) {
  std::fprintf(stderr, "bench_burst: %s\n", text);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool is_submit = words.size() == 8 && words[0] == "submit";
  if (!is_submit && !(words.size() == 2 && words[0] == "jobs")) {
    std::fprintf(stderr, "usage: see the head of bench/burst.cc\n");
    return 2;
  }
  auto client = connect(words[1]);
  if (!client) {
    return fail(client.error().text.c_str());
  }
  if (!is_submit) {
    return print_jobs(*client) ? 0 : fail("the list of jobs did not come");
  }
  Client sender(
      std::move(client).value(),
      {words[2], words[3], std::atof(words[4].c_str()), std::atof(words[5].c_str()),
       std::atof(words[6].c_str()), static_cast<std::uint32_t>(std::atol(words[7].c_str()))});
  const bool is_whole = sender.run();
  sender.print();
  return is_whole ? 0 : fail("the agent ended the connection");
}
