// muster help, which lists the verbs, and muster help terms, which explains the words. Neither
// needs an agent.

#include "cli/verbs/terms.h"

#include <array>

#include "cli/kit/text.h"
#include "cli/verbs/app.h"
#include "cli/verbs/verb.h"

namespace muster::cli {
namespace {

constexpr std::size_t kMeaningColumn = 19;
/// As in `muster help hosts drain`.
constexpr std::size_t kHelpWordsMax = 2;

/// At most 25, in a line each at 100 columns: a list that is read once.
constexpr std::array<Term, 25> kTerms = {{
    {"host", "A machine that runs an agent and is a member of the cluster."},
    {"agent", "The Muster process on a host: it starts ranks there and answers the command line."},
    {"voter", "A host that keeps a copy of the cluster's log and takes part in decisions."},
    {"quorum", "The voters together. Every decision needs a majority of them."},
    {"leader", "The voter that decides what runs where, while a majority follows it."},
    {"epoch", "Generation of the quorum: 1 at first, raised by each `muster quorum recover`."},
    {"ticket", "A secret line that lets hosts join, for some uses and some time."},
    {"membership list",
     "The hosts of the cluster with their keys and rights, signed by the authority."},
    {"authority", "The key that signs the membership list. Hosts that may vote hold its secret."},
    {"link key", "The key with which a host proves its identity to other hosts."},
    {"vouch", "Right of a host that lets its logins submit, cancel and administer: --may-vouch."},
    {"revoke", "End a membership or a ticket for good: it is refused from then on."},
    {"gang", "All ranks of a job. They start together and stop together."},
    {"rank", "One process of a job, by default with one GPU. The first is rank 0."},
    {"attempt", "One run of a job. Retries, requeues and lost hosts lead to further attempts."},
    {"token", "Number of an attempt, higher for later ones. Hosts refuse orders with lower ones."},
    {"lease", "Right of an attempt to use GPUs of a host. The leader keeps renewing it."},
    {"hold", "How long a lease lasts without contact to the quorum: submit --isolation."},
    {"fence", "Declare a host dead: its leases end, and its jobs run elsewhere."},
    {"drain", "Place no new job on a host. Its jobs go on until they end, or until --deadline."},
    {"array", "A job of many numbered tasks: submit --array."},
    {"task", "One numbered part of an array, named JOB.NUMBER. It runs like a job of its own."},
    {"rack", "Group of hosts, set with agent --rack, for --pack and the choice of voters."},
    {"island", "GPUs of one host that share a switch, for submit --pack island."},
    {"alarm", "Highest level of events: a person should act on it."},
}};

class Help final : public Verb {
 public:
  void describe(Options& options) override {
    options.words(
        "VERB", [](const std::string&) { return ok(); },
        "Verb to explain; without it, all verbs are listed", kHelpWordsMax);
    options.example("muster help hosts drain");
  }

  int run(Session& session) override {
    session.out() << overview(session.screen());
    return 0;
  }
};

class HelpTerms final : public Verb {
 public:
  void describe(Options& options) override { options.example("muster help terms"); }

  int run(Session& session) override {
    const Screen screen = for_reading(session.screen());
    for (const Term& term : terms()) {
      const std::string head = "  " + std::string(term.word);
      session.out() << fitted(
          head + std::string(kMeaningColumn - head.size(), ' ') + std::string(term.meaning) + "\n",
          kMeaningColumn, screen);
    }
    return 0;
  }
};

}  // namespace

std::span<const Term> terms() {
  return kTerms;
}

std::unique_ptr<Verb> make_help() {
  return std::make_unique<Help>();
}
std::unique_ptr<Verb> make_help_terms() {
  return std::make_unique<HelpTerms>();
}

}  // namespace muster::cli
