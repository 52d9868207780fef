#include "scheduler/raft/configuration.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "gossip/wire/wire.h"

namespace muster::scheduler {
namespace {

constexpr std::uint64_t kConfigurationVersion = 1;

const Seat* find(const std::vector<Seat>& seats, HostId host) {
  const auto found = std::lower_bound(seats.begin(), seats.end(), host,
                                      [](const Seat& seat, HostId id) { return seat.host < id; });
  return found != seats.end() && found->host == host ? &*found : nullptr;
}

void insert(std::vector<Seat>& seats, const Seat& seat) {
  const auto place =
      std::upper_bound(seats.begin(), seats.end(), seat,
                       [](const Seat& one, const Seat& other) { return one.host < other.host; });
  seats.insert(place, seat);
}

std::size_t missing_in(const std::vector<Seat>& seats, const std::vector<Seat>& others) {
  return static_cast<std::size_t>(std::count_if(seats.begin(), seats.end(), [&](const Seat& seat) {
    return std::find(others.begin(), others.end(), seat) == others.end();
  }));
}

void write(gossip::Encoder& out, const std::vector<Seat>& seats) {
  out.array(seats.size());
  for (const Seat& seat : seats) {
    out.array(2).id(seat.host).num(seat.id);
  }
}

std::vector<Seat> read(gossip::Reader in, std::size_t count_max) {
  std::vector<Seat> seats;
  if (in.left() > count_max) {
    in.fail();
  }
  while (in.ok() && in.left() > 0) {
    gossip::Reader element = in.array();
    Seat seat{element.id<HostId>(), SeatId()};
    seat.id = element.num<SeatId>();
    if (seat.host.is_zero() || (!seats.empty() && seat.host <= seats.back().host)) {
      in.fail();
    }
    seats.push_back(seat);
  }
  return seats;
}

bool is_disjoint(const Configuration& configuration) {
  return std::none_of(configuration.learners.begin(), configuration.learners.end(),
                      [&](const Seat& seat) { return configuration.voter(seat.host) != nullptr; });
}

}  // namespace

const Seat* Configuration::voter(HostId host) const {
  return find(voters, host);
}

const Seat* Configuration::learner(HostId host) const {
  return find(learners, host);
}

bool Configuration::has_voter(const Seat& seat) const {
  const Seat* found = voter(seat.host);
  return found != nullptr && *found == seat;
}

std::vector<HostId> Configuration::voter_hosts() const {
  std::vector<HostId> hosts;
  for (const Seat& seat : voters) {
    hosts.push_back(seat.host);
  }
  return hosts;
}

Configuration Configuration::with_learner(const Seat& seat) const {
  CHECK(voter(seat.host) == nullptr);
  Configuration next = *this;
  std::erase_if(next.learners, [&](const Seat& each) { return each.host == seat.host; });
  insert(next.learners, seat);
  return next;
}

Configuration Configuration::with_promoted(HostId host) const {
  const Seat* seat = learner(host);
  CHECK(seat != nullptr);
  Configuration next = without(host);
  insert(next.voters, *seat);
  return next;
}

Configuration Configuration::without(HostId member) const {
  const auto is_it = [member](const Seat& seat) { return seat.host == member; };
  Configuration next = *this;
  std::erase_if(next.voters, is_it);
  std::erase_if(next.learners, is_it);
  return next;
}

Configuration founding(const std::vector<HostId>& voters) {
  Configuration configuration;
  configuration.target = voters.size();
  for (const HostId& host : voters) {
    configuration.voters.push_back({host, SeatId()});
  }
  return configuration;
}

std::string why_not_next(const Configuration& now, const Configuration& next) {
  if (next.voters.empty()) {
    return "a quorum needs a voter";
  }
  if (next.target == 0 || next.target > kVotersMax) {
    return "between 1 and " + std::to_string(kVotersMax) + " voters can be wanted";
  }
  if (next.voters.size() > kVotersMax || next.learners.size() > kLearnersMax) {
    return "at most " + std::to_string(kVotersMax) + " voters and " + std::to_string(kLearnersMax) +
           " learners";
  }
  if (!is_disjoint(next)) {
    return "a host cannot be voter and learner at once";
  }
  if (missing_in(now.voters, next.voters) + missing_in(next.voters, now.voters) > 1) {
    return "one voter at a time comes or goes";
  }
  for (const Seat& seat : next.voters) {
    const Seat* learner = now.learner(seat.host);
    if (!now.has_voter(seat) && (learner == nullptr || *learner != seat)) {
      return "a host must be a learner before it becomes a voter";
    }
  }
  return "";
}

std::string encode(const Configuration& configuration) {
  gossip::Encoder out;
  out.array(4).u64(kConfigurationVersion);
  write(out, configuration.voters);
  write(out, configuration.learners);
  return out.u64(configuration.target).take();
}

std::optional<Configuration> decode_configuration(std::string_view bytes) {
  const Result<gossip::Document> document = gossip::Document::parse(std::string(bytes));
  if (!document) {
    return std::nullopt;
  }
  gossip::Reader in = document->root();
  if (in.u64() != kConfigurationVersion) {
    return std::nullopt;
  }
  Configuration configuration;
  configuration.voters = read(in.array(), kVotersMax);
  configuration.learners = read(in.array(), kLearnersMax);
  configuration.target = in.u64_at_most(kVotersMax);
  return in.ok() && is_disjoint(configuration) ? std::optional(std::move(configuration))
                                               : std::nullopt;
}

const Configuration& ConfigurationHistory::at(LogIndex index) const {
  const Configuration* found = &base_;
  for (const auto& [changed_at, configuration] : changes_) {
    if (changed_at > index) {
      break;
    }
    found = &configuration;
  }
  return *found;
}

void ConfigurationHistory::append(LogIndex index, Configuration configuration) {
  CHECK(index > newest_index());
  changes_.emplace_back(index, std::move(configuration));
}

void ConfigurationHistory::truncate_from(LogIndex first) {
  while (!changes_.empty() && changes_.back().first >= first) {
    changes_.pop_back();
  }
}

void ConfigurationHistory::compact(LogIndex index) {
  base_ = at(index);
  while (!changes_.empty() && changes_.front().first <= index) {
    changes_.pop_front();
  }
}

void ConfigurationHistory::install(LogIndex index, Configuration base, bool keep_rest) {
  if (!keep_rest) {
    changes_.clear();
  }
  base_ = std::move(base);
  while (!changes_.empty() && changes_.front().first <= index) {
    changes_.pop_front();
  }
}

}  // namespace muster::scheduler
