#include "tests/sim/scenario/json_text.h"

#include <nlohmann/json.hpp>

#include "tests/sim/scenario/verbs.h"

namespace muster::sim::scenario {
namespace {

using nlohmann::json;

const char* name_of(SetTerm::Kind kind) {
  switch (kind) {
    case SetTerm::Kind::kAll:
      return "all";
    case SetTerm::Kind::kRest:
      return "rest";
    case SetTerm::Kind::kHost:
      return "host";
    case SetTerm::Kind::kRack:
      return "rack";
    case SetTerm::Kind::kFirst:
      return "first";
    case SetTerm::Kind::kLast:
      return "last";
    case SetTerm::Kind::kLeader:
      return "leader";
    case SetTerm::Kind::kVoters:
      return "voters";
    case SetTerm::Kind::kGang:
      return "gang";
    case SetTerm::Kind::kGangOne:
      return "gang_one";
  }
  return "";
}

double in_seconds(Duration time) {
  return static_cast<double>(time.count()) / 1e9;
}

json terms(const HostSet& set) {
  json list = json::array();
  for (const SetTerm& term : set.terms) {
    list.push_back({{"kind", name_of(term.kind)},
                    {"number", term.number},
                    {"percent", term.is_percent},
                    {"job", term.job},
                    {"but", term.is_taken_away}});
  }
  return list;
}

}  // namespace

std::string to_json(const Scenario& scenario) {
  json acts = json::array();
  for (const Act& act : scenario.acts) {
    acts.push_back({{"at", in_seconds(act.at)},
                    {"line", act.line},
                    {"verb", row_of(act.verb).words},
                    {"who", terms(act.who)},
                    {"other", terms(act.other)},
                    {"one_way", act.is_one_way},
                    {"loss", act.loss},
                    {"time", in_seconds(act.time)},
                    {"length", in_seconds(act.length)},
                    {"number", act.number},
                    {"name", act.name}});
  }
  return json({{"path", scenario.path},
               {"story", scenario.story},
               {"hosts", scenario.hosts},
               {"gpus", scenario.gpus},
               {"racks", scenario.racks},
               {"length", in_seconds(scenario.length)},
               {"acts", std::move(acts)}})
      .dump();
}

std::string verbs_as_json() {
  json list = json::array();
  for (const VerbRow& row : verb_table()) {
    list.push_back({{"verb", row.words},
                    {"arguments", row.arguments},
                    {"meaning", row.meaning},
                    {"not_simulated", row.not_simulated},
                    {"not_real", row.not_real}});
  }
  return list.dump();
}

}  // namespace muster::sim::scenario
