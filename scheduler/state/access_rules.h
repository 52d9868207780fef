#pragma once
// The gate of the log: every voter asks it before it applies an entry that a person ordered. And
// the rules for entries about the directory and its access tokens.
//
// Before the directory is founded the gate lets all through: no node takes a request of a person
// then (agent/node/client_front).

#include <string>
#include <vector>

#include "scheduler/protocol/entry.h"
#include "scheduler/state/step.h"

namespace muster::scheduler {

/// Why the person that ordered the entry may not, for people; "" = the person may, or the entry is
/// one that a leader makes by itself. `voters`: the hosts that vote at that place of the log. Root
/// of one of them may reset the administrators, and no other person may. No signature proves that
/// root: it could lead, and write the entry in any form.
std::string why_denied(const Books& books, const Entry& entry, const std::vector<HostId>& voters);

/// Whether the first administrator may have that name. A longer one makes an entry that no voter
/// can read: it must not come into the log.
bool is_admin_name(const std::string& name);
/// Whether an access token may be named so, for people.
bool is_token_label(const std::string& label);

void on_found_directory(Step& step, const entry::FoundDirectory& fact);
void on_change_directory(Step& step, const entry::ChangeDirectory& fact);
void on_make_access_token(Step& step, const entry::MakeAccessToken& fact);
void on_end_access_token(Step& step, const entry::EndAccessToken& fact);
void on_reset_admin(Step& step, const entry::ResetAdmin& fact);

}  // namespace muster::scheduler
