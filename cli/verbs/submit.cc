// muster submit: a job enters the queue, once, however often the network fails on the way.
//
// The key is made before the first try and every try carries it, so that a repeated submit finds
// the job of the first. Only when no try can have reached the log is the answer
// "surely not accepted".

#include <algorithm>
#include <optional>

#include "agent/api/jobs.h"
#include "agent/api/json/orders.h"
#include "agent/api/json/view.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "cli/kit/duration.h"
#include "cli/kit/quote.h"
#include "cli/kit/text.h"
#include "cli/verbs/job_wait.h"
#include "cli/verbs/submit_options.h"
#include "cli/verbs/verb.h"
#include "cli/verbs/why_text.h"

namespace muster::cli {
namespace {

using agent::ResponseStatus;

constexpr Duration kRetryPause = std::chrono::milliseconds(200);
/// One try; several fit into the default --timeout.
constexpr Duration kTryTimeout = std::chrono::seconds(3);
/// For so long a refusal for want of a quorum may be an election, which takes a quarter of a second
/// and, with a lost vote, two. Higher: a user of a cluster without a majority waits longer.
constexpr Duration kElectionPatience = std::chrono::seconds(3);

class Submit final : public Verb {
 public:
  explicit Submit(std::vector<std::string> args) : args_(std::move(args)) {}

  void describe(Options& options) override {
    options_.describe(options);
    options.flag("--wait", wait_, "Wait until the job ends, and exit with its exit code");
    options.duration(
        "--retry-for", retry_for_,
        "Repeat a submit that is refused because too many come, when the cluster says, for "
        "this long, as 10m (default 0: it is not repeated)");
    options.flag("--dry-run", is_dry_run_,
                 "Submit no job; show the hosts it would get now, or what it would wait for");
    common_.describe(options);
    options.example("muster submit --gpus 16 --gpu-type H100 --name llama -- python train.py");
  }

  int run(Session& session) override {
    const Result<agent::SubmitArgs> submit = options_.arguments(session.world());
    if (!submit) {
      return session.fail(ResponseStatus::kUsage, submit.error().text);
    }
    if (session.common().is_verbose) {
      session.note("key " + submit->key);
    }
    if (const auto names = options_.overruled(); !names.empty()) {
      session.note(join(names) + (names.size() == 1 ? " is" : " are") +
                   " set for each rank by Muster: your value is ignored");
    }
    if (const std::string given = options_.name(); !given.empty() && given != submit->spec.name) {
      session.note("the name is kept as '" + submit->spec.name +
                   "': it may hold letters, signs and blanks, no line break or other control "
                   "character, and no blank at its ends");
    }
    if (is_dry_run_) {
      return tell_dry_run(session, *submit);
    }
    const Reply reply = send_patiently(session, *submit);
    if (!reply.is_ok()) {
      return session.fail(reply.status, explained(reply, *submit), retry_after_ms(reply));
    }
    const auto accepted = agent::decode_payload<agent::JobRef>(reply.response.payload);
    if (!accepted.has_value()) {
      return session.fail(ResponseStatus::kUnknown, kUnreadableAnswer + repeat_line(*submit));
    }
    const std::string named = "job " + text_of(accepted->job);
    if (session.common().is_json && wait_) {
      session.note(named);  // One document, at the end.
    } else {
      session.out() << (session.common().is_json ? agent::submitted_json(accepted->job, submit->key)
                                                 : named)
                    << "\n"
                    << std::flush;
    }
    if (submit->spec.is_held) {
      session.note("the job is held: `muster resume " + text_of(accepted->job) + "` queues it");
    }
    return wait_ ? wait_for_end(session, accepted->job, submit->key) : 0;
  }

 private:
  int tell_dry_run(Session& session, const agent::SubmitArgs& submit) const {
    if (wait_) {
      return session.fail(ResponseStatus::kUsage,
                          "--dry-run submits nothing, so --wait has nothing to wait for");
    }
    const auto why =
        session.read<agent::WhyInfo>(agent::Verb::kDryRun, agent::encode_payload(submit));
    if (!why.has_value()) {
      return session.failed();
    }
    if (session.common().is_json) {
      session.out() << agent::dry_run_json(*why, session.last()) << "\n";
    } else {
      session.out() << why_text(*why, "dry run: " + why->headline, session.screen());
    }
    return 0;
  }

  /// The time that the node told the client to wait; nullopt if it told none.
  static std::optional<Duration> told_pause(const Reply& reply) {
    const auto ms = retry_after_ms(reply);
    return ms.has_value() ? std::optional<Duration>(std::chrono::milliseconds(*ms)) : std::nullopt;
  }

  /// Sends it, and repeats it when a node said so, for at most --retry-for.
  Reply send_patiently(Session& session, const agent::SubmitArgs& submit) const {
    const Instant deadline = session.world().clock.now() + retry_for_;
    for (;;) {
      Reply reply = send(session, submit);
      const std::optional<Duration> pause = told_pause(reply);
      if (!pause.has_value() || session.world().clock.now() + *pause > deadline) {
        return reply;
      }
      session.progress("the queue is busy, trying again in " + format_after(*pause) +
                       " under the same key");
      session.world().clock.sleep(*pause);
    }
  }

  /// Tries until there is an answer, or until --timeout has passed since the first try: under one
  /// key, at one node after the other. Nodes that only lack a quorum are tried for the patience.
  Reply send(Session& session, const agent::SubmitArgs& submit) const {
    agent::Request request;
    request.verb = agent::Verb::kSubmit;
    request.arguments = agent::encode_payload(submit);
    request.user = session.world().user_name();
    const Instant begin = session.world().clock.now();
    const Instant deadline = begin + session.common().timeout;
    bool may_be_accepted = false;
    for (std::size_t tries = 1;; ++tries) {
      const Duration left = deadline - session.world().clock.now();
      Reply reply = session.exchange(request, std::min(left, kTryTimeout));
      may_be_accepted = may_be_accepted || reply.status == ResponseStatus::kUnknown;
      const bool has_failed = reply.status == ResponseStatus::kUnknown ||
                              reply.status == ResponseStatus::kNoQuorum ||
                              (may_be_accepted && !reply.is_from_node);
      const bool is_untried_left = tries < session.nodes_count();
      const bool may_elect = reply.status == ResponseStatus::kNoQuorum && reply.is_from_node &&
                             !told_pause(reply).has_value() &&
                             session.world().clock.now() - begin < kElectionPatience;
      if (!has_failed || (!may_be_accepted && !is_untried_left && !may_elect)) {
        return may_be_accepted ? with_earlier_tries(std::move(reply)) : reply;
      }
      if (reply.is_from_node) {
        session.turn_to_next_node();
      }
      const Duration pause = is_untried_left ? Duration(0) : kRetryPause;
      if (session.world().clock.now() + pause >= deadline) {
        return may_be_accepted ? with_earlier_tries(std::move(reply)) : reply;
      }
      session.progress(may_elect ? "no leader yet, trying again under the same key"
                                 : "no answer yet, trying again under the same key");
      session.world().clock.sleep(pause);
    }
  }

  /// A failure of the last try says nothing about the earlier ones. Only a leader that looked the
  /// key up among the jobs before it refused the new one (State::job_of_key) does.
  static Reply with_earlier_tries(Reply reply) {
    const bool is_definite =
        reply.is_ok() || (reply.is_from_node && (reply.status == ResponseStatus::kImpossible ||
                                                 reply.status == ResponseStatus::kConflict));
    reply.status = is_definite ? reply.status : ResponseStatus::kUnknown;
    return reply;
  }

  std::string explained(const Reply& reply, const agent::SubmitArgs& submit) const {
    if (reply.status == ResponseStatus::kUnknown) {
      return "the job may or may not have been accepted (" + reply.text + ")" + repeat_line(submit);
    }
    if (reply.status == ResponseStatus::kNoQuorum) {
      return "the job was surely not accepted: " + reply.text;
    }
    return reply.text;
  }

  std::string repeat_line(const agent::SubmitArgs& submit) const {
    return "; repeat with: muster submit " + shell_quoted(as_repeated(args_, submit));
  }

  std::vector<std::string> args_;
  SubmitOptions options_;
  bool wait_ = false;
  bool is_dry_run_ = false;
  Duration retry_for_{0};
};

}  // namespace

std::unique_ptr<Verb> make_submit(const std::vector<std::string>& args) {
  return std::make_unique<Submit>(args);
}

}  // namespace muster::cli
