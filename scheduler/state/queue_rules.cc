#include "scheduler/state/queue_rules.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gossip/base/nearest_text.h"
#include "scheduler/protocol/mutants.h"
#include "scheduler/state/charge.h"
#include "scheduler/state/kept_bytes.h"
#include "scheduler/state/preemption.h"
#include "scheduler/state/state_sizes.h"

namespace muster::scheduler {
namespace {

/// Names in one text for people.
constexpr std::size_t kNamesShown = 3;

Error wrong_queue(std::string text) {
  return {ErrorCode::kInvalid, std::move(text)};
}

const std::string& path_of(const QueueBook& queues, QueueNumber number) {
  return queues.at(number).node.path;
}

bool is_leaf_of(const QueueBook& queues, std::string_view path) {
  const auto number = queues.find(path);
  return number.has_value() && queues.at(*number).is_leaf();
}

/// "a, b, c and 4 more"
std::string names_text(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamesShown; ++i) {
    text += (i == 0 ? "" : ", ") + names[i];
  }
  return names.size() <= kNamesShown
             ? text
             : text + " and " + std::to_string(names.size() - kNamesShown) + " more";
}

/// "24h", "90m", "30s", as people write it.
std::string limit_text(Duration limit) {
  using namespace std::chrono;  // NOLINT: units only.
  const std::int64_t s = duration_cast<seconds>(limit).count();
  constexpr std::int64_t kMinute = 60;
  constexpr std::int64_t kHour = 60 * kMinute;
  return s % kHour == 0     ? std::to_string(s / kHour) + "h"
         : s % kMinute == 0 ? std::to_string(s / kMinute) + "m"
                            : std::to_string(s) + "s";
}

/// "8", "2.5"
std::string thousandths_text(std::uint64_t amount) {
  std::string text = std::to_string(amount / 1000);
  if (const std::uint64_t rest = amount % 1000; rest != 0) {
    std::string digits = std::to_string(1000 + rest).substr(1);
    digits.erase(digits.find_last_not_of('0') + 1);
    text += "." + digits;
  }
  return text;
}

bool has_member(const std::vector<std::string>& members, const std::string& user,
                const std::vector<std::string>& teams) {
  return std::any_of(members.begin(), members.end(), [&](const std::string& member) {
    return member.starts_with('@') ? std::find(teams.begin(), teams.end(),
                                               std::string_view(member).substr(1)) != teams.end()
                                   : member == user;
  });
}

/// The queue of a user that names none.
QueueNumber queue_of_user(const QueueBook& queues, const std::string& user,
                          const std::vector<std::string>& teams) {
  const std::vector<std::string>* seen = nullptr;
  for (std::uint32_t i = 1; i < queues.all().size(); ++i) {
    const QueueNumber number{i};
    const std::vector<std::string>& members = queues.members(number);
    // Leaves side by side mostly have the list of their parent.
    if (!queues.at(number).is_leaf() || &members == seen) {
      continue;
    }
    if (has_member(members, user, teams)) {
      return number;
    }
    seen = &members;
  }
  return queues.number_of(kDefaultQueue);
}

/// The queue that was perhaps meant: one of that last name, else the nearest path.
std::string meant_queue(const QueueBook& queues, std::string_view given) {
  std::vector<std::string_view> paths;
  const std::string last = "/" + std::string(given);
  for (const QueueRecord& queue : queues.all()) {
    if (queue.node.path.ends_with(last)) {
      return queue.node.path;
    }
    if (!queue.node.path.empty()) {
      paths.push_back(queue.node.path);
    }
  }
  // Each distance costs the product of both lengths, on the thread of the leader.
  constexpr std::size_t kLookedAtMax = 16 << 10;
  if (given.size() * paths.size() > kLookedAtMax) {
    return std::string(paths.front());
  }
  return std::string(nearest_text(given, paths));
}

Error no_such_queue(const QueueBook& queues, const std::string& path) {
  return {ErrorCode::kNotFound, "there is no queue " + path + ": the nearest one is " +
                                    meant_queue(queues, path) + "; `muster queue` lists them"};
}

/// The leaf that the job names, or that its user has.
Result<QueueNumber> leaf_asked(const Books& books, const JobSpec& spec) {
  const QueueBook& queues = books.queues;
  const std::vector<std::string> teams = books.directory.user(spec.user).teams;
  if (spec.queue.empty()) {
    const QueueNumber own = queue_of_user(queues, spec.user, teams);
    const std::vector<std::string>& members = queues.members(own);
    if (members.empty() || has_member(members, spec.user, teams)) {
      return own;
    }
    return Error{ErrorCode::kDenied, "user " + spec.user + " is a member of no queue, and queue " +
                                         path_of(queues, own) + " is for " + names_text(members)};
  }
  const std::optional<QueueNumber> named = queues.find(spec.queue);
  if (!named.has_value()) {
    return no_such_queue(queues, spec.queue);
  }
  QueueNumber leaf = *named;
  while (!queues.at(leaf).is_leaf()) {
    leaf = queues.at(leaf).children.front();
  }
  if (leaf != *named) {
    return wrong_queue("queue " + spec.queue + " has queues below it, and jobs are in those: try " +
                       path_of(queues, leaf));
  }
  const std::vector<std::string>& members = queues.members(leaf);
  if (!members.empty() && !has_member(members, spec.user, teams)) {
    return Error{ErrorCode::kDenied, "user " + spec.user + " is no member of queue " + spec.queue +
                                         ", which is for " + names_text(members)};
  }
  return leaf;
}

Result<Tier> tier_in(const QueueBook& queues, QueueNumber leaf, Tier asked) {
  const std::vector<Tier> tiers = queues.tiers(leaf);
  if (asked == Tier::kNone) {
    return tiers.front();
  }
  if (std::find(tiers.begin(), tiers.end(), asked) != tiers.end()) {
    return asked;
  }
  std::string allowed;
  for (const Tier tier : tiers) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(text_of(tier));
  }
  return wrong_queue("queue " + path_of(queues, leaf) + " has no tier " +
                     std::string(text_of(asked)) + ", only: " + allowed);
}

/// 0 = none.
Duration usual_limit(Tier tier) {
  switch (tier) {
    case Tier::kPremium:
    case Tier::kStandard:
      return kStandardLimit;
    case Tier::kBatch:
      return kBatchLimit;
    case Tier::kInteractive:
      return kInteractiveLimit;
    case Tier::kInference:
    case Tier::kNone:
      return Duration::zero();
  }
  return Duration::zero();
}

struct MaxInTheWay {
  QueueNumber queue{};
  std::string key;
  std::uint64_t amount = 0;  ///< GPUs or CPUs.
};

/// The first max of one of these keys, from the leaf upwards, that is below the charge.
std::optional<MaxInTheWay> max_below(const QueueBook& queues, QueueNumber leaf,
                                     std::uint64_t charge,
                                     const std::vector<std::string_view>& keys) {
  for (QueueNumber up = leaf; up != kRootQueue; up = queues.at(up).parent) {
    const QueueAmounts& max = queues.at(up).node.max;
    for (const std::string_view key : keys) {
      const auto found = max.find(key);
      if (found != max.end() && found->second * 1000 < charge) {
        return MaxInTheWay{up, found->first, found->second};
      }
    }
  }
  return std::nullopt;
}

/// Whether the job fits below each max above its leaf, while nothing else runs there.
Status check_maxima(const QueueBook& queues, QueueNumber leaf, const JobSpec& spec) {
  const std::uint64_t charge = least_charge_of(spec);
  std::optional<MaxInTheWay> in_the_way;
  if (spec.request.gpus == 0) {
    in_the_way = max_below(queues, leaf, charge, {kCpus});
  } else if (spec.request.gpu_types.empty()) {
    // A host of a type without a max may join.
    in_the_way = max_below(queues, leaf, charge, {kAllGpus});
  } else {
    for (const std::string& type : spec.request.gpu_types) {
      const std::string key = folded(type);
      in_the_way = max_below(queues, leaf, charge, {key, kAllGpus});
      if (!in_the_way.has_value()) {
        break;
      }
    }
  }
  if (!in_the_way.has_value()) {
    return ok();
  }
  return Error{ErrorCode::kImpossible,
               "the job can never start: it counts as " + thousandths_text(charge) +
                   (spec.request.gpus == 0 ? " CPUs" : " GPUs") + ", and queue " +
                   path_of(queues, in_the_way->queue) + " has max " + in_the_way->key + " " +
                   std::to_string(in_the_way->amount)};
}

/// Where the jobs of each queue of the tree before go.
class Removal {
 public:
  Removal(const QueueBook& before, const QueueBook& after, const std::vector<QueueMove>& moves);

  /// The new queue of a job in that queue; nullptr if it has none. A queue that the tree before did
  /// not have was kDefaultQueue.
  const std::string* leaf_for(const std::string& path) const {
    const auto& to = leaves_[index_of(before_.number_of(path))];
    return to.has_value() ? &*to : nullptr;
  }

 private:
  const QueueBook& before_;
  std::vector<std::optional<std::string>> leaves_;  ///< By number before.
};

Removal::Removal(const QueueBook& before, const QueueBook& after,
                 const std::vector<QueueMove>& moves)
    : before_(before) {
  std::map<std::string_view, std::string_view> to;
  for (const QueueMove& move : moves) {
    to[move.from] = move.to;
  }
  for (const QueueRecord& queue : before.all()) {
    const std::string& path = queue.node.path;
    leaves_.emplace_back(is_leaf_of(after, path) ? std::optional(path) : std::nullopt);
    // The move of the queue itself counts before that of one above it.
    for (std::string_view up = path; !up.empty() && !leaves_.back(); up = parent_path(up)) {
      if (const auto move = to.find(up); move != to.end()) {
        leaves_.back() = std::string(move->second);
      }
    }
  }
}

Status check_moves(const QueueBook& before, const QueueBook& after,
                   const std::vector<QueueMove>& moves) {
  if (moves.size() > kQueueMovesMax) {
    return wrong_queue("more than " + std::to_string(kQueueMovesMax) + " moves");
  }
  std::set<std::string_view> seen;
  for (const QueueMove& move : moves) {
    for (const std::string* path : {&move.from, &move.to}) {
      if (Status good = check_queue_path(*path); !good) {
        return good;
      }
    }
    if (!before.find(move.from).has_value()) {
      return no_such_queue(before, move.from);
    }
    if (is_leaf_of(after, move.from)) {
      return wrong_queue("queue " + move.from + " is in the new tree, so its jobs stay there");
    }
    if (!is_leaf_of(after, move.to)) {
      return wrong_queue("jobs cannot move to " + move.to +
                         ": the new tree has no such queue without queues below it");
    }
    if (!seen.insert(move.from).second) {
      return wrong_queue("queue " + move.from + " is moved twice");
    }
  }
  return ok();
}

/// The job that people know: the array of a task.
JobId told_job(JobId id) {
  return is_task(id) ? array_of(id) : id;
}

/// Jobs that would be left without a queue.
Status check_left(const Books& books, const Removal& removal) {
  std::set<JobId> left;
  std::set<std::string> from;
  const auto note = [&](JobId id, const std::string& queue) {
    if (removal.leaf_for(queue) == nullptr) {
      left.insert(told_job(id));
      from.insert(queue);
    }
  };
  for (const auto& [id, job] : books.jobs.all()) {
    if (!job.has_ended()) {
      note(id, job.spec.queue);
    }
  }
  for (const auto& [id, array] : books.arrays.all()) {
    if (!array.has_ended()) {
      note(id, array.spec.queue);
    }
  }
  for (const Token& token : books.attempts.live()) {
    const Attempt& attempt = *books.attempts.find(token);
    note(attempt.job, attempt.share.queue);
  }
  if (left.empty()) {
    return ok();
  }
  const bool is_one = left.size() == 1;
  return wrong_queue(std::to_string(left.size()) + (is_one ? " job is" : " jobs are") +
                     " in queues where the new tree has no place for jobs: " +
                     names_text({from.begin(), from.end()}) + "; wait until " +
                     (is_one ? "it ends" : "they end") + ", or say with --move-to where " +
                     (is_one ? "it goes" : "they go"));
}

void move_specs(Step& step, const Removal& removal) {
  Books& books = step.books;
  std::vector<JobId> jobs;
  for (const auto& [id, job] : books.jobs.all()) {
    if (!job.has_ended() && *removal.leaf_for(job.spec.queue) != job.spec.queue) {
      jobs.push_back(id);
    }
  }
  for (const JobId id : jobs) {
    Job& job = books.jobs.at(id);
    books.sizes.remove_unfinished(kept_bytes(job));
    const std::string from = std::exchange(job.spec.queue, *removal.leaf_for(job.spec.queue));
    books.waiting.on_queue_changed(job, from);
    books.sizes.add_unfinished(kept_bytes(job));
    step.result.jobs_moved.push_back(id);
  }
  for (const auto& [id, known] : books.arrays.all()) {
    TaskArray& array = *books.arrays.find(id);
    if (!array.has_ended()) {
      const auto bytes = [&array] {
        return kept_bytes_of_job(array.spec, array.key, array.submitted_by);
      };
      books.sizes.remove_unfinished(bytes());
      array.spec.queue = *removal.leaf_for(array.spec.queue);
      books.waiting.recount(array);
      books.sizes.add_unfinished(bytes());
    }
  }
}

/// Changes where the attempt is charged, and counts its size again.
void replace_share(Books& books, Attempt& attempt, AttemptShare share) {
  if (attempt.share == share) {
    return;
  }
  const Job* job = books.jobs.find(attempt.job);
  const bool is_of_ended = job != nullptr && job->has_ended();
  const bool is_earlier = books.sizes.earlier_attempts().contains(attempt.token);
  if (is_of_ended) {
    books.sizes.remove_ended(ended_bytes_of(books.attempts, *job));
  }
  if (is_earlier) {
    books.sizes.remove_earlier(attempt.token);
  }
  attempt.share = std::move(share);
  if (is_of_ended) {
    books.sizes.add_ended(ended_bytes_of(books.attempts, *job));
  }
  if (is_earlier) {
    books.sizes.add_earlier(attempt);
  }
}

/// Charges everything that is held again, to the queues of the new tree.
void charge_again(Books& books, const QueueBook& before, const Removal& removal) {
  GuaranteeBook::Claims claims;
  const std::vector<Token> live(books.attempts.live().begin(), books.attempts.live().end());
  for (const Token& token : live) {
    Attempt& attempt = books.attempts.at(token);
    AttemptShare share = attempt.share;
    share.queue = *removal.leaf_for(share.queue);
    const Job* const job = books.jobs.find(attempt.job);
    const bool is_fifo = books.queues.at(books.queues.number_of(share.queue)).node.is_fifo;
    share.user = is_fifo || job == nullptr ? "" : job->spec.user;
    share = books.shares.settled(books.queues, std::move(share));
    const AttemptShare charged_before = attempt.share;
    replace_share(books, attempt, std::move(share));
    const AttemptShare& charged =
        mutant(SchedulerMutant::kMovedShareStays) ? charged_before : attempt.share;
    for (const MemberRecord& record : attempt.members) {
      if (record.end == MemberEnd::kNone) {
        books.shares.add(books.queues, charged, record.charge);
      }
    }
    if (const std::uint64_t charge = attempt.charge(); charge != 0) {
      claims[token] = {books.queues.number_of(attempt.share.queue), attempt.share.pool, charge};
    }
  }
  books.guarantees.retell(before, books.queues, std::move(claims));
}

}  // namespace

Result<Duration> limit_in(const QueueBook& queues, QueueNumber leaf, Tier tier, Duration asked) {
  if (!queues.is_set()) {
    return asked == kNoTimeLimit ? Duration::zero() : asked;
  }
  const std::optional<Duration> max = queues.time_limit_max(leaf);
  const bool is_bounded = max.has_value() && *max != kNoTimeLimit;
  if (asked == Duration::zero()) {
    const Duration usual = usual_limit(tier);
    return is_bounded && (usual == Duration::zero() || usual > *max) ? *max : usual;
  }
  const std::string& path = path_of(queues, leaf);
  if (is_bounded && asked > *max) {
    return wrong_queue("the time limit of a job in queue " + path + " is at most " +
                       limit_text(*max));
  }
  if (asked != kNoTimeLimit) {
    return asked;
  }
  if (tier != Tier::kInference && !max.has_value()) {
    return wrong_queue("a job in queue " + path + " has to have a time limit, unless its tier is " +
                       std::string(text_of(Tier::kInference)));
  }
  return Duration::zero();
}

Status settle_queue(const Books& books, JobSpec& spec) {
  const Result<QueueNumber> leaf = leaf_asked(books, spec);
  if (!leaf) {
    return leaf.error();
  }
  const Result<Tier> tier = tier_in(books.queues, *leaf, spec.tier);
  if (!tier) {
    return tier.error();
  }
  const Result<Duration> limit = limit_in(books.queues, *leaf, *tier, spec.limits.time_limit);
  if (!limit) {
    return limit.error();
  }
  if (Status fits = check_maxima(books.queues, *leaf, spec); !fits) {
    return fits;
  }
  spec.queue = path_of(books.queues, *leaf);
  spec.tier = *tier;
  spec.limits.time_limit = *limit;
  return ok();
}

void on_set_queues(Step& step, entry::SetQueues& fact) {
  Books& books = step.books;
  const std::uint64_t version = books.queues.version();
  if (fact.expected != version) {
    step.reject(ErrorCode::kConflict, "somebody else changed the queues meanwhile: now version " +
                                          std::to_string(version));
    return;
  }
  if (const Status valid = validate(fact.tree); !valid) {
    step.reject(valid.error().code, valid.error().text);
    return;
  }
  QueueBook after(version + 1, std::move(fact.tree));
  if (const Status valid = check_moves(books.queues, after, fact.moves); !valid) {
    step.reject(valid.error().code, valid.error().text);
    return;
  }
  const QueueBook before = books.queues;
  const Removal removal(before, after, fact.moves);
  if (const Status none = check_left(books, removal); !none) {
    step.reject(none.error().code, none.error().text);
    return;
  }
  end_preemptions(step);
  move_specs(step, removal);
  books.queues = std::move(after);
  books.shares.retell(before, books.queues, [&](const std::string& path) {
    const std::string* to = removal.leaf_for(path);
    return to == nullptr ? path : *to;
  });
  charge_again(books, before, removal);
  step.result.queues_changed = true;
  step.result.capacity_changed = true;
  step.result.events.push_back({Severity::kInfo,
                                "queues_changed",
                                {{"by", fact.by.name},
                                 {"version", std::to_string(books.queues.version())},
                                 {"queues", std::to_string(books.queues.tree().nodes.size())}}});
}

}  // namespace muster::scheduler
