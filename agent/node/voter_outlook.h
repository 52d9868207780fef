#pragma once
// The future of a voter that does not answer: the electorate's rule as a sentence
// for people. Reads only; the leader decides by itself and by its own view.

#include <string>
#include <vector>

#include "agent/node/node_view.h"
#include "gossip/base/ids.h"
#include "scheduler/seat/electorate.h"

namespace muster::agent {

/// The replacement of a voter that is away, and its time: "e replaces it in 4m". `silent_for` is
/// the time for which it has been silent.
std::string replacement_text(const scheduler::ElectorateView& view, HostId voter,
                             Duration silent_for, const crdt::AddressBook& names);
/// "" for a voter that answers, and for a host that does not vote.
std::string voter_outlook(const NodeView& node, HostId voter);
/// "host c does not answer: e replaces it as voter in 4m", for each voter that does not answer.
std::vector<std::string> voter_notes(const NodeView& node);

}  // namespace muster::agent
