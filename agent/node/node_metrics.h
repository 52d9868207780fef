#pragma once
// The metrics of a node, read from its parts. Pure.

#include <vector>

#include "agent/api/rest/metrics_text.h"
#include "agent/front/request_notes.h"
#include "agent/node/node_view.h"

namespace muster::agent {

/// The metrics of the node, and behind them those of the fleet if it leads: one walk over the
/// members, and one over the hosts and jobs of the log. `notes`: of this node.
std::vector<MetricFamily> metrics_of(const NodeView& node, const RequestNotes& notes);

}  // namespace muster::agent
