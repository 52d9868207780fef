// muster queue import, set and remove: another tree of queues in place of the one that was read. If
// somebody else changed the queues meanwhile, the cluster refuses it.

#include <algorithm>
#include <utility>

#include "agent/api/json/queues.h"
#include "agent/api/payload.h"
#include "agent/api/queues.h"
#include "cli/kit/confirmation.h"
#include "cli/kit/queue_words.h"
#include "cli/kit/queues_file.h"
#include "cli/kit/retry.h"
#include "cli/verbs/users_order.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

using agent::QueueList;
using agent::ResponseStatus;
using scheduler::QueueMove;
using scheduler::QueueTree;

/// Keys that one `queue set` changes: each queue has fewer.
constexpr std::size_t kKeysSetMax = 256;

/// An option that takes FROM=TO, many times.
void describe_moves(Options& options, std::vector<QueueMove>& moves) {
  options.values(
      "--move-to",
      [&moves](const std::string& given) -> Status {
        const std::size_t equals = given.find('=');
        if (equals == std::string::npos) {
          return Error{ErrorCode::kInvalid, "'" + given + "' is not FROM=TO: give two queues"};
        }
        QueueMove move{given.substr(0, equals), given.substr(equals + 1)};
        for (const std::string* path : {&move.from, &move.to}) {
          if (const Status status = scheduler::check_queue_path(*path); !status) {
            return status;
          }
        }
        moves.push_back(std::move(move));
        return ok();
      },
      "Move the jobs of queue FROM, and of those below it, to queue TO; repeatable", "FROM=TO");
}

class QueueOrder : public Verb {
 protected:
  /// The leader answers its reads: an order made from an older tree would be refused.
  void describe_common(Options& options) {
    common_.is_consistent = true;
    common_.describe(options);
  }

  /// The tree to set in place of the one that was read.
  struct Wanted {
    QueueTree tree;
    std::vector<QueueMove> moves;
    bool is_dry = false;
  };

  /// Sends it, unless it changes nothing, and tells what it changes. Returns the exit code.
  static int order(Session& session, const QueueList& now, const Wanted& wanted) {
    if (const Status status = scheduler::validate(wanted.tree); !status) {
      return session.fail(ResponseStatus::kUsage, status.error().text);
    }
    // From now on jobs have time limits and users have parts, also if the tree is empty.
    const bool is_first = now.version == 0;
    std::vector<std::string> lines = differences(now.tree, wanted.tree);
    const bool is_news = is_first || now.tree != wanted.tree;
    for (const QueueMove& move : wanted.moves) {
      if (is_news) {
        lines.push_back("jobs of queue " + move.from + ": moved to " + move.to);
      }
    }
    if (is_news && !wanted.is_dry) {
      const Reply reply = set_queues(session, now, wanted);
      if (!reply.is_ok()) {
        return session.fail(reply);
      }
    }
    if (session.common().is_json) {
      session.out() << agent::queues_changed_json(lines, is_news && !wanted.is_dry) << "\n";
      return 0;
    }
    for (const std::string& line : lines) {
      session.out() << printable(line) << "\n";
    }
    if (is_first) {
      session.note(
          "these are the first queues: new jobs get the time limit of their tier, and the users of "
          "a queue share it in equal parts");
    }
    session.note(!is_news        ? "nothing changes: the cluster has these queues"
                 : wanted.is_dry ? "these changes were not made: leave out --dry-run to make them"
                                 : std::to_string(lines.size()) +
                                       (lines.size() == 1 ? " change made" : " changes made"));
    return 0;
  }

 private:
  static Reply set_queues(Session& session, const QueueList& now, const Wanted& wanted) {
    agent::Request request;
    request.verb = agent::Verb::kSetQueues;
    request.user = session.world().user_name();
    request.arguments =
        agent::encode_payload(agent::SetQueuesArgs{now.version, wanted.tree, wanted.moves});
    auto [reply, may_be_done] = exchange_with_retries(session, request);
    if (reply.status == ResponseStatus::kConflict && may_be_done) {
      // A try whose answer was lost may have done it.
      agent::Request look;
      look.verb = agent::Verb::kQueues;
      look.consistent = true;
      const Reply seen = session.exchange(look);
      const auto list =
          seen.is_ok() ? agent::decode_payload<QueueList>(seen.response.payload) : std::nullopt;
      if (list.has_value() && list->version == now.version + 1 && list->tree == wanted.tree) {
        reply.status = ResponseStatus::kOk;
      }
    }
    if (reply.status == ResponseStatus::kConflict) {
      reply.text += "; look at `muster queue`, and repeat the command";
    } else if (reply.status == ResponseStatus::kUnknown) {
      reply.text += "; `muster queue` shows whether it was done, and it is safe to repeat";
    }
    return reply;
  }
};

class ImportQueues final : public QueueOrder {
 public:
  void describe(Options& options) override {
    options.word("FILE", path_,
                 "TOML file with half-life and [queue.\"PATH\"], as of queue export");
    options.flag("--dry-run", is_dry_, "Print the changes without making them");
    describe_moves(options, moves_);
    describe_common(options);
    options.example("muster queue import queues.toml --dry-run");
  }

  int run(Session& session) override {
    const auto tree = session.world().files.queues(path_);
    if (!tree) {
      return session.fail(tree.error().code == ErrorCode::kNotFound ? ResponseStatus::kNotFound
                                                                    : ResponseStatus::kUsage,
                          tree.error().text);
    }
    const auto now = session.read<QueueList>(agent::Verb::kQueues);
    const auto users = now.has_value() ? read_users(session) : std::nullopt;
    if (!users.has_value()) {
      return session.failed();
    }
    for (const std::string& warning : warnings_about(*tree, now->fleet, *users)) {
      session.note("warning: " + warning);
    }
    return order(session, *now, {*tree, moves_, is_dry_});
  }

 private:
  std::string path_;
  std::vector<QueueMove> moves_;
  bool is_dry_ = false;
};

class SetQueue final : public QueueOrder {
 public:
  void describe(Options& options) override {
    options.word("PATH", path_, "Path of the queue, as research/nlp; it is created if need be",
                 false);
    options.words(
        "KEY=VALUE", [this](const std::string& given) { return take_key(given); },
        "Keys of the queue: weight=4, guaranteed.h100=64, max.gpus=96, tiers=standard,batch, "
        "members=LOGIN,@TEAM, users=fair|fifo, time-limit-max=7d|none, max-pending=1000; KEY= "
        "takes a key away",
        kKeysSetMax);
    options.value(
        "--half-life",
        [this](const std::string& given) -> Status {
          const Result<Duration> parsed = half_life_of(given);
          half_life_ = parsed ? std::optional(*parsed) : std::nullopt;
          return parsed ? ok() : Status(parsed.error());
        },
        "Let use of so long ago count half, in all queues", "DURATION");
    describe_moves(options, moves_);
    describe_common(options);
    options.example("muster queue set research/nlp weight=4 guaranteed.h100=64");
  }

  int run(Session& session) override {
    if (path_.empty() && !half_life_.has_value()) {
      return session.fail(ResponseStatus::kUsage, "give a queue and KEY=VALUE, or --half-life");
    }
    if (const Status status = path_.empty() ? ok() : scheduler::check_queue_path(path_); !status) {
      return session.fail(ResponseStatus::kUsage,
                          status.error().text + "; write: muster queue set PATH KEY=VALUE");
    }
    const auto now = session.read<QueueList>(agent::Verb::kQueues);
    if (!now.has_value()) {
      return session.failed();
    }
    Wanted wanted{now->tree, moves_, false};
    wanted.tree.half_life = half_life_.value_or(wanted.tree.half_life);
    if (!path_.empty()) {
      const auto paths = paths_of(now->tree);
      if (keys_.empty() && std::find(paths.begin(), paths.end(), path_) != paths.end()) {
        return session.fail(ResponseStatus::kUsage,
                            "queue " + path_ + " is there: give KEY=VALUE to change it");
      }
      scheduler::QueueNode& node = node_at(wanted.tree, path_);
      for (const std::string& key : keys_) {
        if (const Status status = set_key(node, key); !status) {
          return session.fail(ResponseStatus::kUsage, status.error().text);
        }
      }
    }
    return order(session, *now, wanted);
  }

 private:
  /// A wrong key is refused before a node is asked.
  Status take_key(const std::string& given) {
    scheduler::QueueNode tried;
    keys_.push_back(given);
    return set_key(tried, given);
  }

  std::string path_;
  std::vector<std::string> keys_;
  std::optional<Duration> half_life_;
  std::vector<QueueMove> moves_;
};

class RemoveQueue final : public QueueOrder {
 public:
  void describe(Options& options) override {
    options.word("PATH", path_, "Path of the queue; the queues below it are removed, too");
    options.text("--move-to", to_, "Move its jobs to this queue", "PATH");
    confirmation_.describe(options);
    describe_common(options);
    options.example("muster queue remove research/old --move-to research/nlp");
  }

  int run(Session& session) override {
    const auto now = session.read<QueueList>(agent::Verb::kQueues);
    if (!now.has_value()) {
      return session.failed();
    }
    Wanted wanted{now->tree, {}, false};
    const auto paths = paths_of(now->tree);
    if (std::find(paths.begin(), paths.end(), path_) == paths.end()) {
      return session.fail(ResponseStatus::kNotFound, no_queue_text(path_, paths));
    }
    if (!remove_queue(wanted.tree, path_)) {
      return session.fail(ResponseStatus::kUsage,
                          "queue " + path_ + " is always there: it cannot be removed");
    }
    const auto left = paths_of(wanted.tree);
    if (!to_.empty() && std::find(left.begin(), left.end(), to_) == left.end()) {
      return session.fail(ResponseStatus::kNotFound, "--move-to: " + no_queue_text(to_, left));
    }
    if (!to_.empty()) {
      wanted.moves.push_back({path_, to_});
    }
    if (!confirmation_.is_agreed(session, question(*now))) {
      return confirmation_.refuse(session, printable("queue " + path_ + " was not removed"));
    }
    return order(session, *now, wanted);
  }

 private:
  std::string question(const QueueList& now) const {
    std::uint64_t pending = 0;
    std::uint64_t running = 0;
    std::size_t below = 0;
    for (const agent::QueueUse& use : now.uses) {
      if (use.path == path_) {
        pending = use.pending;
        running = use.running;
      }
      below += is_within(use.path, path_) && use.path != path_ ? 1 : 0;
    }
    const bool has_jobs = pending + running > 0;
    return "queue " + path_ + (below == 0 ? "" : " and " + std::to_string(below) + " below it") +
           " will be removed" +
           (has_jobs
                ? "; " + std::to_string(pending) + " jobs wait and " + std::to_string(running) +
                      " run there" + (to_.empty() ? "" : ", they go to " + to_)
                : "") +
           ". Remove it?";
  }

  std::string path_;
  std::string to_;
  Confirmation confirmation_;
};

}  // namespace

std::unique_ptr<Verb> make_queue_import() {
  return std::make_unique<ImportQueues>();
}
std::unique_ptr<Verb> make_queue_set() {
  return std::make_unique<SetQueue>();
}
std::unique_ptr<Verb> make_queue_remove() {
  return std::make_unique<RemoveQueue>();
}

}  // namespace muster::cli
