#include "agent/api/json/enrolment.h"

#include "agent/api/json/bytes_text.h"
#include "agent/api/json/dump.h"

namespace muster::agent {

std::string to_json(const TicketList& list, const Response& answer) {
  Json tickets = Json::array();
  for (const TicketInfo& ticket : list.tickets) {
    tickets.push_back({{"ticket", hex(ticket.key).substr(0, 12)},
                       {"uses", ticket.uses},
                       {"used", ticket.used},
                       {"ends_in_ms", ticket.ends_in_ms},
                       {"may_vote", ticket.may_vote},
                       {"may_vouch", ticket.may_vouch},
                       {"host", text_or_null(ticket.host_name)},
                       {"by", ticket.by},
                       {"age_ms", ticket.age_ms},
                       {"why_not", text_or_null(ticket.why_not)}});
  }
  return dump_answer({{"tickets", tickets}}, answer);
}

std::string to_json(const KeysInfo& keys, const Response& answer) {
  Json hosts = Json::array();
  for (const HostKeys& host : keys.hosts) {
    hosts.push_back({{"host", host.name},
                     {"host_id", host.host.hex()},
                     {"authority_number", host.authority},
                     {"serial", host.serial},
                     {"round", host.round},
                     {"round_wanted", host.round_wanted},
                     {"is_changing", host.is_changing},
                     {"is_reachable", host.is_reachable}});
  }
  return dump_answer({{"authority_number", keys.authority},
                      {"oldest_authority_number", keys.authority_from},
                      {"member_count", keys.members},
                      {"members_behind", keys.behind},
                      {"hosts", hosts}},
                     answer);
}

std::string rotated_json(const std::string& what, bool is_over) {
  return dump({{"rotated", what}, {"is_done", is_over}});
}

std::string ticket_json(const std::string& name, const std::string& line, const std::string& path) {
  return dump({{"ticket", name}, {"line", text_or_null(line)}, {"file", text_or_null(path)}});
}

std::string founding_json(std::uint64_t founders, const std::string& line,
                          const std::string& path) {
  return dump({{"founders", founders}, {"line", text_or_null(line)}, {"file", text_or_null(path)}});
}

std::string joined_json(const std::string& host_name, HostId host, const ClusterId& cluster) {
  return dump({{"joined", host_name}, {"host_id", host.hex()}, {"cluster", id_or_null(cluster)}});
}

}  // namespace muster::agent
