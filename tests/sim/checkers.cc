#include "tests/sim/checkers.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "agent/api/jobs.h"
#include "agent/api/payload.h"
#include "agent/api/request.h"
#include "crdt/rows/roll.h"
#include "gossip/wire/wire.h"
#include "scheduler/raft/codec.h"
#include "scheduler/raft/log.h"
#include "tests/sim/eligible_checker.h"
#include "tests/sim/log_checkers.h"
#include "tests/sim/share_checkers.h"

namespace muster::sim {
namespace {

/// A host that was frozen has read by then what lay in its sockets.
constexpr Duration kReadsWhatLayWithin = std::chrono::milliseconds(10);

constexpr Duration kRetrySubmit = std::chrono::seconds(2);
constexpr int kTriesMax = 600;
constexpr std::string_view kKeyBefore = "key-";

std::vector<HostId> voters_on(const Disk& disk) {
  const auto& sealed = disk.sealed(crdt::Environment::kRaft);
  const auto found = sealed.find(std::string(scheduler::kVotersKey));
  if (found == sealed.end()) {
    return {};
  }
  const auto payload = crdt::unseal(found->first, found->second);
  Result<gossip::Document> document = gossip::Document::parse(*payload);
  if (!document) {
    return {};
  }
  gossip::Reader reader = document->root();
  return scheduler::read_voters(reader);
}

/// The same once voters came and went, of the log on that disk: those that decide about `index`,
/// and the newest.
std::vector<std::vector<HostId>> later_voters_on(const Disk& disk, LogIndex index) {
  crdt::Records records;
  for (const auto& [key, value] : disk.sealed(crdt::Environment::kRaft)) {
    if (auto payload = crdt::unseal(key, value)) {
      records.emplace(key, *std::move(payload));
    }
  }
  Result<scheduler::RecoveredLog> recovered = scheduler::recover_log(records);
  if (!recovered) {
    return {};
  }
  const scheduler::RaftLog log(*recovered);
  return {log.configuration_at(std::max(index, log.snapshot().at.index)).voter_hosts(),
          log.configuration().voter_hosts()};
}

/// Whether the disk's snapshot already covers this index.
bool snapshot_covers(const Disk& disk, std::uint64_t index) {
  const auto& sealed = disk.sealed(crdt::Environment::kRaft);
  const auto found = sealed.find(std::string(scheduler::kSnapshotKey));
  if (found == sealed.end()) {
    return false;
  }
  const auto payload = crdt::unseal(found->first, found->second);
  Result<gossip::Document> document = gossip::Document::parse(*payload);
  return document.has_value() && document->root().u64() >= index;
}

bool holds_entry(const std::map<std::string, std::string>& sealed, const std::string& key,
                 std::uint64_t term) {
  const auto found = sealed.find(key);
  if (found == sealed.end()) {
    return false;
  }
  const auto payload = crdt::unseal(found->first, found->second);
  Result<gossip::Document> document = gossip::Document::parse(*payload);
  return document.has_value() && document->root().u64() == term;
}

/// Disks of `voters` that hold the entry, or a snapshot that covers it. One that was lost counts
/// for what it held: its word may still be on its way.
std::size_t copies_on(World& world, const std::vector<HostId>& voters, std::uint64_t index,
                      std::uint64_t term) {
  const std::string key = crdt::key_of(scheduler::kLogTable, index);
  return static_cast<std::size_t>(
      std::count_if(voters.begin(), voters.end(), [&](const HostId& voter) {
        const Disk& disk = world.disk(world.find(voter).value());
        return holds_entry(disk.sealed(crdt::Environment::kRaft), key, term) ||
               holds_entry(disk.lost(), key, term) || snapshot_covers(disk, index);
      }));
}

/// Hosts that some running agent knows to be members no more: nobody tells them anything.
std::set<HostId> revoked_in(World& world) {
  std::set<HostId> revoked;
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!world.is_running(host)) {
      continue;
    }
    const crdt::HostStore& store = world.node(host).store();
    for (const auto& [id, slot] : store.rows()) {
      const crdt::Field* field = store.field(id, crdt::FieldId::kRoll);
      const auto record = field == nullptr ? std::nullopt : crdt::decode_roll(field->bytes);
      if (record.has_value() && record->revoked) {
        revoked.insert(id);
      }
    }
  }
  return revoked;
}

}  // namespace

std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string where(std::uint32_t host) {
  return "host " + std::to_string(host);
}

void OneLeaderATerm::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "leader_elected") {
    return;
  }
  const auto [known, is_new] = leaders_.emplace(std::string(event.field("term")), host);
  if (!is_new && known->second != host) {
    world.violation(name(), "term " + known->first + " has leaders " + where(known->second) +
                                " and " + where(host));
  }
}

void CommitOnDurableMajority::on_event(World& world, std::uint32_t host, const Event& event) {
  voters_change_ = voters_change_ || event.name == "configuration_changed";
  if (event.name != "applied") {
    return;
  }
  const std::uint64_t index = number(event.field("index"));
  const std::uint64_t term = number(event.field("term"));
  const auto [known, is_new] = committed_.emplace(index, term);
  if (!is_new) {
    // Disks may have been lost since, but not so many that others decide again.
    if (known->second != term) {
      world.violation(name(), "index " + std::to_string(index) + " committed twice, in terms " +
                                  std::to_string(known->second) + " and " + std::to_string(term));
    }
    return;
  }
  // A leader commits by its newest configuration, which is that of the entry or a later one.
  std::vector<std::vector<HostId>> electorates = {voters_on(world.disk(host))};
  if (voters_change_) {
    // A follower applies what is committed before its own disk has it, and may be behind there.
    electorates = later_voters_on(world.disk(host), LogIndex(index));
    for (std::uint32_t other = 0; other < world.size(); ++other) {
      const auto more = later_voters_on(world.disk(other), LogIndex(index));
      electorates.insert(electorates.end(), more.begin(), more.end());
      // A leader's newest one counts as soon as it is in its log, on disk or not (thesis 4.1).
      if (world.is_running(other) && world.node(other).seat().has_seat()) {
        electorates.push_back(world.node(other).seat().raft()->configuration().voter_hosts());
      }
    }
  }
  std::erase_if(electorates, [](const auto& voters) { return voters.empty(); });
  std::string found;
  for (const std::vector<HostId>& voters : electorates) {
    const std::size_t copies = copies_on(world, voters, index, term);
    if (copies * 2 > voters.size()) {
      return;
    }
    found += " " + std::to_string(copies) + " of " + std::to_string(voters.size());
  }
  if (!found.empty()) {
    world.violation(name(),
                    where(host) + " applied index " + std::to_string(index) + " held by" + found);
  }
}

void NoGpuInTwoAttempts::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  for (const scheduler::GpuSlot& gpu : fact.member.gpus) {
    const std::string place = gpu.uuid.text() + "/" + std::to_string(gpu.slot);
    const auto found = occupied_.find(place);
    if (fact.kind == FarmFact::Kind::kLaunched) {
      ++launches_;
      if (found != occupied_.end()) {
        world.violation(name(), where(host) + " " + place + " held by " + found->second.text() +
                                    " when " + fact.token.text() + " started");
      }
      occupied_[place] = fact.token;
    } else if (fact.kind == FarmFact::Kind::kGone && found != occupied_.end() &&
               found->second == fact.token) {
      occupied_.erase(found);
    }
  }
}

void TokenMonotonic::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  if (fact.kind != FarmFact::Kind::kLaunched) {
    return;
  }
  for (const scheduler::GpuSlot& gpu : fact.member.gpus) {
    Token& highest = highest_[gpu.uuid.text()];
    if (fact.token <= highest) {
      world.violation(name(), where(host) + " " + gpu.uuid.text() + " started " +
                                  fact.token.text() + " after " + highest.text());
    }
    highest = fact.token;
  }
}

void CompletesOnce::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "job_ended" || event.field("state") != "completed") {
    return;
  }
  const std::string job(event.field("job"));
  const std::string token(event.field("token"));
  const auto [known, is_new] = completed_.emplace(job, token);
  if (known->second != token) {
    world.violation(name(), "job " + job + " completed under " + known->second + " and " + token);
  }
  const Successes& attempt = attempts_[token];
  if (is_new && (attempt.wanted == 0 || attempt.ranks.size() < attempt.wanted)) {
    world.violation(name(), where(host) + " says job " + job + " completed, but " +
                                std::to_string(attempt.ranks.size()) + " of " +
                                std::to_string(attempt.wanted) + " ranks did");
  }
}

void CompletesOnce::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  // One that was frozen first reads what lay in its sockets: a Start, and the Stop behind it.
  const Instant thawed = world.thawed_at(host);
  const bool is_waking = thawed != Instant() && world.now() - thawed < kReadsWhatLayWithin;
  if (fact.kind == FarmFact::Kind::kLaunched && !is_waking &&
      completed_.contains(std::to_string(fact.job.value()))) {
    world.violation(name(), where(host) + " starts " + fact.token.text() + " of job " +
                                std::to_string(fact.job.value()) + ", which has completed");
  }
  if (fact.kind == FarmFact::Kind::kRankEnded && fact.result.is_success()) {
    Successes& attempt = attempts_[fact.token.text()];
    attempt.wanted = fact.ranks_of_job;
    attempt.ranks.insert(fact.result.rank);
  }
}

void GangAllOrNothing::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  if (fact.kind != FarmFact::Kind::kLaunched) {
    return;
  }
  const auto& own = world.disk(host).sealed(crdt::Environment::kId);
  const std::string key = agent::key_of_grant(fact.token);
  const auto mine = own.find(key);
  if (mine == own.end()) {
    world.violation(name(), where(host) + " started " + fact.token.text() + " without a record");
    return;
  }
  const auto record = agent::decode_grant(crdt::unseal(key, mine->second).value_or(""));
  if (!record.has_value()) {
    world.violation(name(), where(host) + " holds an unreadable grant");
    return;
  }
  for (const scheduler::Member& member : record->members) {
    const auto position = world.find(member.host);
    // The record may be gone again (it was aborted there since); the fence never goes.
    const agent::Fence fence(position.has_value()
                                 ? world.disk(*position).read(crdt::Environment::kId)
                                 : crdt::Records());
    const bool forgot = position.has_value() && world.was_put_back(*position);
    for (const scheduler::GpuSlot& gpu : member.gpus) {
      if (!forgot && fence.highest(gpu) < fact.token) {
        world.violation(name(), fact.token.text() + " started on " + where(host) + " though " +
                                    gpu.uuid.text() + " was never reserved for it");
      }
    }
  }
}

// ---- submits ----

void SubmitsKept::submit(World& world, std::uint32_t host, const scheduler::JobSpec& spec) {
  Submit submit;
  submit.key = std::string(kKeyBefore) + std::to_string(submits_.size());
  submit.spec = spec;
  submit.sent_at = world.now();
  submits_.push_back(std::move(submit));
  attempt(world, submits_.size() - 1, host);
}

const SubmitsKept::Submit* SubmitsKept::find(std::string_view key) const {
  const bool is_ours = key.substr(0, kKeyBefore.size()) == kKeyBefore;
  const std::uint64_t index = is_ours ? number(key.substr(kKeyBefore.size())) : submits_.size();
  return index < submits_.size() && submits_[index].key == key ? &submits_[index] : nullptr;
}

agent::Request SubmitsKept::request_of(const Submit& submit) {
  agent::Request request;
  request.verb = agent::Verb::kSubmit;
  request.arguments = agent::encode_payload(agent::SubmitArgs{submit.key, submit.spec});
  return request;
}

void SubmitsKept::repeat(World& world, std::uint32_t host, std::size_t index) {
  const std::uint64_t client = world.ask(host, request_of(submits_[index]));
  world.at(world.now() + kRetrySubmit, [this, &world, index, client] {
    const ClientReply* reply = world.reply_to(client);
    if (reply == nullptr || reply->response.status != agent::ResponseStatus::kOk) {
      return;
    }
    const auto job = agent::decode_payload<agent::JobRef>(reply->response.payload);
    const Submit& submit = submits_[index];
    if (submit.job != JobId() && job->job != submit.job) {
      world.violation(name(), submit.key + " was job " + std::to_string(submit.job.value()) +
                                  " and is now job " + std::to_string(job->job.value()));
    }
  });
}

void SubmitsKept::attempt(World& world, std::size_t index, std::uint32_t host) {
  Submit& submit = submits_[index];
  ++submit.tries;
  submit.client = world.ask(host, request_of(submit));
  world.at(world.now() + kRetrySubmit, [this, &world, index] { look(world, index); });
}

void SubmitsKept::look(World& world, std::size_t index) {
  Submit& submit = submits_[index];
  const ClientReply* reply = world.reply_to(submit.client);
  if (reply != nullptr && reply->response.status == agent::ResponseStatus::kOk) {
    const auto job = agent::decode_payload<agent::JobRef>(reply->response.payload);
    submit.job = job->job;
    return;
  }
  if (submit.tries < kTriesMax) {
    attempt(world, index, static_cast<std::uint32_t>(world.rng().below(world.size())));
  }
}

std::size_t SubmitsKept::acknowledged() const {
  return static_cast<std::size_t>(std::count_if(submits_.begin(), submits_.end(),
                                                [](const Submit& s) { return s.job != JobId(); }));
}

/// A member of the newest quorum, one that was replaced is told nothing any more.
bool SubmitsKept::must_know(World& world, std::uint32_t host) {
  if (!world.is_running(host) || !world.node(host).seat().has_seat()) {
    return false;
  }
  const scheduler::Configuration* newest = nullptr;
  LogIndex newest_index;
  for (std::uint32_t each = 0; each < world.size(); ++each) {
    if (world.is_running(each) && world.node(each).seat().leads()) {
      const scheduler::Raft& raft = *world.node(each).seat().raft();
      if (newest == nullptr || raft.commit() > newest_index) {
        newest = &raft.configuration();
        newest_index = raft.commit();
      }
    }
  }
  const HostId id = world.id(host);
  return newest == nullptr || newest->voter(id) != nullptr || newest->learner(id) != nullptr;
}

/// A job, or an array with all of its tasks.
bool SubmitsKept::has_ended(const scheduler::State& state, JobId id) {
  const scheduler::Job* job = state.job(id);
  const scheduler::TaskArray* array = state.array(id);
  return (job != nullptr && job->has_ended()) || (array != nullptr && array->has_ended());
}

/// Each of its tasks was one job, which ended, or was cancelled before it was one.
void SubmitsKept::check_tasks(World& world, std::uint32_t host, const scheduler::State& state) {
  std::size_t jobs = 0;
  for (const auto& [id, array] : state.arrays()) {
    std::uint32_t ended = 0;
    for (std::uint32_t index = array.spec.array->first; index <= array.spec.array->last; ++index) {
      const scheduler::Job* task = state.job(task_id(id, index));
      jobs += task == nullptr ? 0 : 1;
      ended += task != nullptr && task->has_ended() ? 1 : 0;
    }
    const std::uint32_t counted = array.completed + array.failed + array.cancelled;
    if (ended > counted || counted != array.length() ||
        (ended < counted && counted - ended > array.cancelled)) {
      world.violation(name(), where(host) + ": of array " + text_of(id) + " " +
                                  std::to_string(ended) + " tasks ended, counted are " +
                                  std::to_string(counted) + " of " +
                                  std::to_string(array.length()));
    }
  }
  const auto tasks = static_cast<std::size_t>(
      std::distance(state.jobs().lower_bound(kFirstTask), state.jobs().end()));
  if (tasks != jobs) {
    world.violation(name(), where(host) + " knows " + std::to_string(tasks) +
                                " tasks, arrays have " + std::to_string(jobs));
  }
}

bool SubmitsKept::drained(World& world) const {
  if (acknowledged() < submits_.size()) {
    return false;
  }
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!must_know(world, host)) {
      continue;
    }
    for (const Submit& submit : submits_) {
      if (!has_ended(world.node(host).seat().state(), submit.job)) {
        return false;
      }
    }
  }
  return true;
}

void SubmitsKept::at_end(World& world) {
  std::set<JobId> seen;
  for (const Submit& submit : submits_) {
    if (submit.job == JobId()) {
      world.violation(name(), submit.key + " was never acknowledged");
    } else if (!seen.insert(submit.job).second) {
      world.violation(name(), "two keys got job " + std::to_string(submit.job.value()));
    }
  }
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!must_know(world, host)) {
      continue;
    }
    const scheduler::State& state = world.node(host).seat().state();
    check_tasks(world, host, state);
    const std::size_t known =
        state.arrays().size() + static_cast<std::size_t>(std::distance(
                                    state.jobs().begin(), state.jobs().lower_bound(kFirstTask)));
    if (known != seen.size()) {
      world.violation(name(), where(host) + " knows " + std::to_string(known) +
                                  " jobs, acknowledged were " + std::to_string(seen.size()));
    }
    for (const Submit& submit : submits_) {
      const scheduler::Job* job = state.job(submit.job);
      if (submit.job == JobId() || has_ended(state, submit.job)) {
        continue;
      }
      world.violation(name(),
                      where(host) + ": job " + std::to_string(submit.job.value()) + " is " +
                          (job == nullptr ? std::string("lost")
                                          : std::string(scheduler::text_of(job->life.state))));
    }
  }
}

void RowsConverge::at_end(World& world) {
  for (const std::string& what : amiss(world)) {
    world.violation(name(), what);
  }
}

std::vector<std::string> RowsConverge::amiss(World& world) {
  std::vector<std::string> amiss;
  const std::set<HostId> revoked = revoked_in(world);
  std::optional<std::uint64_t> digest;
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!world.is_running(host) || revoked.contains(world.id(host))) {
      continue;
    }
    const agent::Node& node = world.node(host);
    if (digest.has_value() && *digest != node.store().digest()) {
      amiss.push_back(where(host) + " holds other rows than the hosts before it");
    }
    digest = node.store().digest();
    for (const auto& [id, member] : node.membership().members()) {
      const auto position = world.find(id);
      if (position.has_value() && world.is_running(*position) && !revoked.contains(id) &&
          member.state != membership::MemberState::kAlive) {
        amiss.push_back(where(host) + " sees " + where(*position) + " " +
                        std::string(membership::name_of(member.state)));
      }
    }
  }
  return amiss;
}

void NoFalseVerdict::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name == "unreachable") {
    world.violation(name(), where(host) + " says " + event.text());
  }
}

void NobodyDiverges::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name == "state_diverged" || event.name == "member_differs" ||
      event.name == "states_differ") {
    world.violation(name(), where(host) + " says " + std::string(event.name) + " at index " +
                                std::string(event.field("index")));
  }
}

void AmountsHold::on_event(World& world, std::uint32_t host, const Event& event) {
  if (event.name != "job_scheduled" || !world.is_running(host)) {
    return;
  }
  const scheduler::State& state = world.node(host).seat().state();
  std::map<HostId, std::pair<std::uint64_t, std::uint64_t>> held;
  for (const Token& token : state.live()) {
    for (const scheduler::MemberRecord& record : state.attempt(token)->members) {
      if (record.end == scheduler::MemberEnd::kNone) {
        held[record.member.host].first += record.member.cpus;
        held[record.member.host].second += record.member.memory_mb;
      }
    }
  }
  for (const auto& [id, amounts] : held) {
    const scheduler::HostRecord& record = *state.host(id);
    if (amounts.first > std::uint64_t{record.cpus} * scheduler::kOneCpu ||
        amounts.second > record.memory_mb) {
      world.violation(name(), where(host) + "'s log gives " + std::to_string(amounts.first) +
                                  " thousandths of a CPU of " + id.short_hex());
    }
  }
}

void DrainHolds::on_event(World&, std::uint32_t, const Event& event) {
  const bool is_drained = event.name == "host_drained";
  if (is_drained || event.name == "host_undrained" || event.name == "host_removed") {
    words_[std::string(event.field("host"))][number(event.field("index"))] = is_drained;
  }
}

void DrainHolds::on_fact(World& world, std::uint32_t host, const FarmFact& fact) {
  const auto words = words_.find(world.id(host).short_hex());
  if (fact.kind != FarmFact::Kind::kLaunched || words == words_.end() || fact.token.epoch != 1) {
    return;
  }
  auto after = words->second.upper_bound(fact.token.index);
  if (after != words->second.begin() && std::prev(after)->second) {
    world.violation(name(), where(host) + " launches " + fact.token.text() +
                                ", decided after it was drained at index " +
                                std::to_string(std::prev(after)->first));
  }
}

void OneSignatureAPublish::at_end(World& world) {
  for (std::uint32_t host = 0; host < world.size(); ++host) {
    if (!world.is_running(host)) {
      continue;
    }
    const crdt::HostStore::Stats& bill = world.node(host).store().stats();
    if (bill.signed_times != bill.publishes) {
      world.violation(name(), where(host) + " signed " + std::to_string(bill.signed_times) +
                                  " times for " + std::to_string(bill.publishes) + " publishes");
    }
  }
}

Checkers add_checkers(World& world) {
  auto submits = std::make_unique<SubmitsKept>();
  auto gpus = std::make_unique<NoGpuInTwoAttempts>();
  const Checkers checkers{submits.get(), gpus.get()};
  world.add_checker(std::make_unique<EligibleOnly>(*submits));
  world.add_checker(std::move(submits));
  world.add_checker(std::move(gpus));
  world.add_checker(std::make_unique<OneSignatureAPublish>());
  world.add_checker(std::make_unique<OneLeaderATerm>());
  world.add_checker(std::make_unique<CommitOnDurableMajority>());
  world.add_checker(std::make_unique<TokenMonotonic>());
  world.add_checker(std::make_unique<CompletesOnce>());
  world.add_checker(std::make_unique<GangAllOrNothing>());
  world.add_checker(std::make_unique<RowsConverge>());
  world.add_checker(std::make_unique<NobodyDiverges>());
  world.add_checker(std::make_unique<DrainHolds>());
  world.add_checker(std::make_unique<AmountsHold>());
  add_log_checkers(world);
  add_share_checkers(world);
  return checkers;
}

}  // namespace muster::sim
