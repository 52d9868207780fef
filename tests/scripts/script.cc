#include "tests/scripts/script.h"

#include <cstdio>
#include <utility>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "tests/sim/checkers.h"
#include "tests/sim/log_checkers.h"

namespace muster::scripts {
namespace {

/// Events of applying the log: every voter says them, word for word.
const Words kLogWords = {"job_queued",      "job_scheduled", "job_started",   "job_stopping",
                         "job_suspended",   "job_ended",     "host_lost",     "host_condemned",
                         "host_pardoned",   "host_expired",  "host_observed", "host_registered",
                         "attempt_aborted", "entry_rejected"};

constexpr Duration kSettleLimit = std::chrono::seconds(60);
constexpr Duration kAnswerLimit = std::chrono::seconds(20);

std::string word_of(const std::string& text) {
  return text.substr(0, text.find(' '));
}

}  // namespace

const Words kAliveWords = {"member_joined", "member_restarted", "member_left", "claim", "suspect",
                           "unreachable",   "alive_again",      "call",        "veto",  "accuse",
                           "isolated",      "isolation_over",   "leaving"};
const Words kQuorumWords = {"quorum_proposed",
                            "quorum_formed",
                            "joined_cluster",
                            "leader_elected",
                            "leader_followed",
                            "leader_lost",
                            "leader_link_reset",
                            "pre_vote_started",
                            "election_started",
                            "stepped_down",
                            "scheduler_leads",
                            "propose",
                            "promise",
                            "form",
                            "pre_vote?",
                            "pre_vote",
                            "vote?",
                            "vote"};
const Words kGangWords = {"job_queued",
                          "job_scheduled",
                          "job_started",
                          "job_stopping",
                          "job_ended",
                          "attempt_aborted",
                          "attempt_refused",
                          "assign",
                          "assign_refused",
                          "ready",
                          "refuse",
                          "start",
                          "stop",
                          "finish",
                          "early_finish",
                          "finish_ack",
                          "grant_aborted",
                          "grant_terminated",
                          "grant_ended",
                          "ranks_started",
                          "rank_failed",
                          "host_lost",
                          "host_condemned",
                          "host_pardoned",
                          "host_expired",
                          "supervisor_adopted",
                          "supervisor_gone"};
const Words kHelloWords = {"hello", "hello_reply", "agent_registered", "host_registered"};

Words operator+(Words a, const Words& b) {
  a.insert(b.begin(), b.end());
  return a;
}

void Script::line(const std::string& who, const std::string& what) {
  std::string head = time() + who;
  head.resize(std::max(head.size() + 1, time().size() + 9), ' ');
  text_ += head + what + "\n";
}

void Script::expect(bool holds, const std::string& sentence) {
  line(holds ? "==" : "!!", sentence);
  if (!holds) {
    fail("does not hold: " + sentence);
  }
}

/// Writes down what the story tells of.
class ClusterScript::Recorder : public sim::Checker {
 public:
  explicit Recorder(ClusterScript& script) : script_(script) {}
  std::string name() const override { return "recorder"; }

  void listen() {
    listening_ = true;
    heard_.clear();
  }
  bool heard(std::string_view word) const { return heard_.contains(word); }

  void on_event(sim::World&, std::uint32_t host, const Event& event) override {
    const bool is_told = event.severity >= Severity::kWarn ||
                         (event.severity == Severity::kInfo && tells(std::string(event.name)));
    const bool is_of_log = kLogWords.contains(event.name);
    const bool is_repeated = is_of_log && !said_.insert(event.text()).second;
    if (!listening_ || is_repeated) {
      return;
    }
    heard_.insert(std::string(event.name));
    if (!is_told) {
      return;
    }
    script_.line(is_of_log ? "log" : host_name(host), script_.names().of(event));
  }

  void on_fact(sim::World&, std::uint32_t host, const sim::FarmFact& fact) override {
    if (!listening_ || !tells("ranks_started") || fact.kind == sim::FarmFact::Kind::kRankEnded) {
      return;
    }
    const bool launched = fact.kind == sim::FarmFact::Kind::kLaunched;
    script_.line("rank", script_.names().of(fact.token) + " " + (launched ? "runs" : "is gone") +
                             " on " + host_name(host));
  }

  void on_message(std::uint32_t from, std::uint32_t to, const std::string& bytes) {
    if (!listening_) {
      return;
    }
    const Result<gossip::Message> message = gossip::decode(bytes);
    if (!message.has_value()) {
      return;
    }
    const auto text = script_.names().of(*message);
    if (!text.has_value()) {
      return;
    }
    heard_.insert(word_of(*text));
    if (tells(word_of(*text))) {
      script_.line(host_name(from) + " > " + host_name(to), *text);
    }
  }

  static std::string host_name(std::uint32_t host) { return "h" + std::to_string(host); }

 private:
  bool tells(const std::string& word) const { return script_.options_.words.contains(word); }

  ClusterScript& script_;
  bool listening_ = false;
  std::set<std::string> said_;
  Words heard_;
};

ClusterScript::ClusterScript(std::uint64_t seed, CastOptions options)
    : Script(seed), options_(std::move(options)) {
  sim::WorldOptions world;
  world.hosts = options_.hosts;
  world.seed = seed;
  world.gpus_per_host = options_.gpus_per_host;
  world.compact_entries = options_.compact_entries;
  if (options_.relay) {
    world.racks = 1;
    world.relays_from_hosts = options_.hosts;
  }
  world_ = std::make_unique<sim::World>(world);
  for (std::uint32_t host = 0; host < options_.hosts; ++host) {
    names().host(world_->id(host), Recorder::host_name(host));
  }
  auto recorder = std::make_unique<Recorder>(*this);
  recorder_ = recorder.get();
  world_->add_checker(std::move(recorder));
  world_->add_checker(std::make_unique<sim::OneLeaderATerm>());
  world_->add_checker(std::make_unique<sim::CommitOnDurableMajority>());
  world_->add_checker(std::make_unique<sim::NoGpuInTwoAttempts>());
  world_->add_checker(std::make_unique<sim::TokenMonotonic>());
  world_->add_checker(std::make_unique<sim::CompletesOnce>());
  world_->add_checker(std::make_unique<sim::GangAllOrNothing>());
  sim::add_log_checkers(*world_);
  world_->network().tap = [this](std::uint32_t from, std::uint32_t to, const std::string& bytes) {
    recorder_->on_message(from, to, bytes);
  };
}

ClusterScript::~ClusterScript() = default;

void ClusterScript::listen() {
  curtain_ = world_->now();
  recorder_->listen();
}

void ClusterScript::settle() {
  until(
      "everybody met",
      [this] {
        if (!has_leader() ||
            world_->node(leader()).seat().state().hosts().size() < world_->size()) {
          return false;
        }
        for (std::uint32_t host = 0; host < world_->size(); ++host) {
          if (world_->node(host).membership().members().size() < world_->size()) {
            return false;
          }
        }
        return true;
      },
      kSettleLimit);
  pass(std::chrono::seconds(15));  // Probe phases and observer lists come to rest.
  listen();
}

void ClusterScript::until(const std::string& what, const std::function<bool()>& condition,
                          Duration limit) {
  if (!world_->run_until_true(condition, limit)) {
    line("!!", "never: " + what);
    fail("never came true: " + what);
  }
}

bool ClusterScript::heard(std::string_view word) const {
  return recorder_->heard(word);
}

void ClusterScript::cut_off(std::uint32_t host) {
  for (std::uint32_t other = 0; other < world_->size(); ++other) {
    world_->network().cut(host, other);
    world_->network().cut(other, host);
  }
}

void ClusterScript::end() {
  world_->finish();
  for (const sim::Violation& violation : world_->violations()) {
    line("!!", violation.checker + ": " + violation.text);
    fail(violation.checker + ": " + violation.text);
  }
}

std::uint32_t ClusterScript::leader() const {
  std::uint32_t host = 0;
  while (host < world_->size() &&
         !(world_->is_running(host) && world_->node(host).seat().leads())) {
    ++host;
  }
  return host;
}

std::uint32_t ClusterScript::follower(std::uint32_t number) const {
  for (std::uint32_t host = 0; host < world_->size(); ++host) {
    if (host != leader() && world_->is_running(host) && number-- == 0) {
      return host;
    }
  }
  CHECK(false);
}

const scheduler::Job* ClusterScript::job(std::uint64_t id) const {
  return has_leader() ? world_->node(leader()).seat().state().job(JobId(id)) : nullptr;
}

bool ClusterScript::is(std::uint64_t id, scheduler::JobState state) const {
  const scheduler::Job* found = job(id);
  return found != nullptr && found->life.state == state;
}

agent::Response ClusterScript::ask(std::uint32_t host, const std::string& what,
                                   agent::Request request) {
  const std::string name = Recorder::host_name(host);
  line("user > " + name, what);
  const std::uint64_t client = world_->ask(host, std::move(request));
  const bool answered =
      world_->run_until_true([&] { return world_->reply_to(client) != nullptr; }, kAnswerLimit);
  agent::Response response;
  response.status = agent::ResponseStatus::kUnknown;
  response.text = "no answer";
  if (answered) {
    response = world_->reply_to(client)->response;
  }
  const auto job = agent::decode_payload<agent::JobRef>(response.payload);
  line(name + " > user",
       response.status == agent::ResponseStatus::kOk
           ? "ok" + (job.has_value() ? " job=" + std::to_string(job->job.value()) : "")
           : "exit " + std::to_string(static_cast<int>(response.status)) + ": " + response.text);
  return response;
}

agent::Response ClusterScript::submit(std::uint32_t host, const std::string& key,
                                      const scheduler::JobSpec& spec) {
  agent::Request request;
  request.verb = agent::Verb::kSubmit;
  request.arguments = agent::encode_payload(agent::SubmitArgs{key, spec});
  return ask(host, "submit key=" + key + " gpus=" + std::to_string(spec.request.gpus), request);
}

agent::Response ClusterScript::cancel(std::uint32_t host, std::uint64_t id) {
  agent::Request request;
  request.verb = agent::Verb::kCancel;
  request.arguments = agent::encode_payload(agent::JobRef{JobId(id)});
  return ask(host, "cancel job=" + std::to_string(id), request);
}

std::string ClusterScript::time() const {
  if (!options_.times) {
    return "";
  }
  char text[32];
  std::snprintf(text, sizeof text, "%7.2f  ",
                static_cast<double>(to_ms(world_->now() - curtain_) / 10) / 100);
  return text;
}

scheduler::JobSpec job_of(std::uint32_t gpus, Duration run, const std::vector<std::string>& more) {
  scheduler::JobSpec spec;
  spec.name = "story";
  spec.request.gpus = gpus;
  spec.command.argv = {"sim", "run_ms=" + std::to_string(to_ms(run))};
  spec.command.argv.insert(spec.command.argv.end(), more.begin(), more.end());
  spec.limits.hold = std::chrono::seconds(30);
  spec.limits.grace = std::chrono::seconds(2);
  return spec;
}

Story story(std::string name, std::string happens, std::string holds, CastOptions options,
            std::function<void(ClusterScript&)> play) {
  return {std::move(name), std::move(happens), std::move(holds),
          [options = std::move(options), play = std::move(play)](std::uint64_t seed) {
            auto script = std::make_unique<ClusterScript>(seed, options);
            play(*script);
            script->end();
            return script;
          }};
}

Story story(std::string name, std::string happens, std::string holds,
            std::function<void(Script&)> play) {
  return {std::move(name), std::move(happens), std::move(holds),
          [play = std::move(play)](std::uint64_t seed) {
            auto script = std::make_unique<Script>(seed);
            play(*script);
            return script;
          }};
}

}  // namespace muster::scripts
