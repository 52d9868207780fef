// muster quorum: who votes, who leads, how far the log is, how many failures it stands.

#include <algorithm>

#include "agent/api/json/view.h"
#include "agent/api/quorum.h"
#include "cli/kit/duration.h"
#include "cli/kit/table.h"
#include "cli/kit/text.h"
#include "cli/verbs/storm_banner.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

/// How many more voters may fail; of a quorum that lost its majority, what is left of it.
std::string tolerates_text(const agent::QuorumInfo& quorum) {
  std::size_t live = 0;
  std::size_t all = 0;
  for (const agent::VoterInfo& voter : quorum.voters) {
    all += voter.is_learner ? 0 : 1;
    const bool is_gone =
        voter.state == "suspect" || voter.state == "unreachable" || voter.state == "left";
    live += voter.is_learner || is_gone ? 0 : 1;
  }
  if (all > 0 && live < all / 2 + 1) {
    return "nothing: " + std::to_string(live) + " of " + std::to_string(all) +
           " voters answer, a majority is " + std::to_string(all / 2 + 1) + "\n";
  }
  const std::string warning =
      quorum.tolerates == 0 ? ": after the next one nothing more is placed" : "";
  return std::to_string(quorum.tolerates) +
         (quorum.tolerates == 1 ? " failed voter" : " failed voters") + warning + "\n";
}

std::string summary(const agent::QuorumInfo& quorum, const std::string& answered_by) {
  const std::string leader = quorum.leader.is_zero()
                                 ? "none known: nothing is accepted or placed until a majority of "
                                   "voters is\n           back; if they are lost for good: muster "
                                   "quorum recover"
                                 : quorum.leader_name + " (" + quorum.leader.short_hex() + ")";
  return "cluster    " + quorum.cluster.short_hex() + "\n" +  //
         "leader     " + leader + "\n" + "answered   " + answered_by + " (" + quorum.role + ")\n" +
         (quorum.epoch > 1 ? "epoch      " + std::to_string(quorum.epoch) + " (recovered)\n" : "") +
         "term       " + std::to_string(quorum.term.value()) + "\n" + "log        commit " +
         std::to_string(quorum.commit.value()) + ", applied " +
         std::to_string(quorum.applied.value()) + "\n" + "tolerates  " + tolerates_text(quorum);
}

/// How far each voter is, and when it was heard, only the leader knows.
std::string voters_table(const agent::QuorumInfo& quorum, const Screen& screen) {
  const bool is_leader = quorum.role == "leader";
  Table table({{.title = "NAME"},
               {.title = "ID", .left_out = 4},
               {.title = "STATE", .is_state = true},
               {.title = "VOTES"},
               {.title = "RACK", .left_out = 3},
               {.title = "MATCH", .is_number = true, .left_out = 2},
               {.title = "BEHIND", .is_number = true},
               {.title = "CONTACT", .is_number = true, .left_out = 1},
               {.title = "WHY"}});
  for (const agent::VoterInfo& voter : quorum.voters) {
    table.add({voter.name, voter.id.short_hex(), voter.state, voter.is_learner ? "no" : "yes",
               voter.rack.empty() ? "-" : voter.rack,
               is_leader ? std::to_string(voter.match_index) : "-",
               is_leader ? std::to_string(voter.behind) : "-",
               is_leader && !voter.is_unheard ? format_age(voter.contact_ms) : "-",
               voter.why.empty() ? "-" : voter.why});
  }
  return table.text(screen);
}

/// Before there is a quorum: what is waited for.
std::string birth_text(const agent::QuorumInfo& quorum) {
  if (quorum.founders_wanted > 0) {
    const std::uint64_t met = std::min(quorum.founders_met, quorum.founders_wanted);
    return "the cluster is being founded: " + std::to_string(met) + " of " +
           std::to_string(quorum.founders_wanted) +
           " founders are here: give the others\nthe ticket that `muster init` printed (muster "
           "join)\n";
  }
  if (!quorum.seeds_unmet.empty()) {
    return "no quorum found yet: this host joins through its seeds\n";
  }
  return "no quorum found yet\n";
}

class Quorum final : public Verb {
 public:
  void describe(Options& options) override {
    common_.describe(options);
    common_.describe_consistent(options);
    options.example("muster quorum");
  }

  int run(Session& session) override {
    auto quorum = session.read<agent::QuorumInfo>(agent::Verb::kQuorum);
    if (!quorum.has_value()) {
      return session.failed();
    }
    std::stable_sort(quorum->voters.begin(), quorum->voters.end(),
                     [](const auto& left, const auto& right) { return left.name < right.name; });
    if (session.common().is_json) {
      session.out() << to_json(*quorum, session.last()) << "\n";
      return 0;
    }
    if (quorum->cluster.is_zero()) {
      session.out() << birth_text(*quorum) << seeds_banner(quorum->seeds_unmet);
      return 0;
    }
    session.out() << printable_lines(summary(*quorum, session.last().answered_by)) << "\n"
                  << voters_table(*quorum, session.screen());
    return 0;
  }
};

}  // namespace

std::unique_ptr<Verb> make_quorum() {
  return std::make_unique<Quorum>();
}

}  // namespace muster::cli
