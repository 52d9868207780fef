#include "membership/storm.h"

#include <algorithm>

#include "gossip/base/check.h"
#include "membership/mutants.h"

namespace muster::membership {
namespace {

/// Shares of the fleet, in percent.
constexpr std::size_t kPartitionStriking = 20;
constexpr std::size_t kPartitionIsolated = 5;
constexpr std::size_t kPartitionBand = 2;
constexpr std::size_t kPartialStriking = 5;
/// ... and of the own subjects.
constexpr std::size_t kPartitionOwn = 30;

constexpr auto kPartition = static_cast<std::size_t>(StormMode::kPartitionSuspected);

bool is_share(std::size_t part, std::size_t percent, std::size_t whole) {
  return part > 0 && part * 100 >= percent * whole;
}

std::string text(std::size_t part, std::size_t whole, const char* what) {
  return std::to_string(part) + " of " + std::to_string(whole) + " " + what;
}

bool is_one_rack(const StormFacts& facts) {
  const bool is_one = facts.only_rack.has_value() || mutant(MembershipMutant::kRackModeForTheFleet);
  return is_one && facts.lost_racks <= 1 && facts.striking * 2 < facts.fleet;
}

/// A suspect alone is no loss: the first suspects of any cut may all be of one rack.
bool is_any_lost(const StormFacts& facts) {
  return facts.striking > facts.in_band;
}

struct Row {
  StormMode mode;
  bool (*holds)(const StormFacts& facts);
  std::string (*reason)(const StormFacts& facts);
};

const Row kTable[] = {
    {StormMode::kPartitionSuspected, [](const StormFacts& facts) { return facts.is_isolated; },
     [](const StormFacts& facts) {
       return "this host misses " + text(facts.own_missing, facts.own_total, "that it watches");
     }},
    {StormMode::kNormal, [](const StormFacts& facts) { return facts.striking < kStormLostMin; },
     [](const StormFacts&) { return std::string(); }},
    {StormMode::kNormal,
     [](const StormFacts& facts) {
       return is_one_rack(facts) && !is_any_lost(facts) && !facts.is_band_lasting;
     },
     [](const StormFacts&) { return std::string(); }},
    {StormMode::kDomain,
     [](const StormFacts& facts) { return is_one_rack(facts) && is_any_lost(facts); },
     [](const StormFacts& facts) {
       return text(facts.striking, facts.fleet, "hosts silent, all of rack ") +
              facts.only_rack.value_or("");
     }},
    {StormMode::kPartitionSuspected,
     [](const StormFacts& facts) {
       return is_share(facts.striking, kPartitionStriking, facts.fleet);
     },
     [](const StormFacts& facts) {
       return text(facts.striking, facts.fleet, "hosts newly silent");
     }},
    {StormMode::kPartitionSuspected,
     [](const StormFacts& facts) {
       return is_share(facts.isolated, kPartitionIsolated, facts.fleet);
     },
     [](const StormFacts& facts) {
       return text(facts.isolated, facts.fleet, "hosts miss most of what they watch");
     }},
    {StormMode::kPartitionSuspected, [](const StormFacts& facts) { return facts.is_band_lasting; },
     [](const StormFacts& facts) { return text(facts.in_band, facts.fleet, "hosts suspect"); }},
    {StormMode::kPartitionSuspected,
     [](const StormFacts& facts) {
       return facts.own_missing >= kStormLostMin &&
              is_share(facts.own_missing, kPartitionOwn, facts.own_total);
     },
     [](const StormFacts& facts) {
       return "this host misses " + text(facts.own_missing, facts.own_total, "that it watches");
     }},
    {StormMode::kPartial,
     [](const StormFacts& facts) {
       return is_share(facts.striking, kPartialStriking, facts.fleet);
     },
     [](const StormFacts& facts) {
       return text(facts.striking, facts.fleet, "hosts newly silent");
     }},
};

}  // namespace

StormSign look_up(const StormFacts& facts) {
  for (const Row& row : kTable) {
    if (row.holds(facts)) {
      return {row.mode, row.reason(facts)};
    }
  }
  return {};
}

bool is_wide_band(std::size_t in_band, std::size_t fleet) {
  return in_band >= kStormLostMin && is_share(in_band, kPartitionBand, fleet);
}

void Storm::on_silence(Instant now, HostId host, const std::string& rack, Silence silence) {
  hosts_.on_silence(now, host, rack, silence);
  is_quiet_ = is_quiet_ && !hosts_.is_any_silent();
}

void Storm::on_sudden_silence(Instant now, HostId host) {
  const bool is_pair = host != last_silent_ && now - last_silent_at_ <= kPairWindow;
  if (is_pair && hosts_.fleet() < kStormHostsMin) {
    modes_[kPartition] = {now + kStormQuiet, "two hosts fell silent within 5 s"};
    is_quiet_ = false;
  }
  last_silent_ = host;
  last_silent_at_ = now;
}

void Storm::on_isolated(HostId observer, bool isolated) {
  if (isolated) {
    isolated_.insert(observer);
  } else {
    isolated_.erase(observer);
  }
}

void Storm::on_own_subjects(std::size_t missing, std::size_t total, bool isolated) {
  own_.own_missing = missing;
  own_.own_total = total;
  own_.is_isolated = isolated;
}

StormFacts Storm::facts(Instant now) const {
  StormFacts facts = own_;
  facts.fleet = hosts_.fleet();
  facts.striking = hosts_.striking();
  facts.in_band = hosts_.in_band();
  facts.is_band_lasting = band_since_ != kNever && now - band_since_ >= kBandPatience;
  facts.isolated = static_cast<std::size_t>(std::count_if(
      isolated_.begin(), isolated_.end(), [&](HostId host) { return !hosts_.is_silent(host); }));
  facts.only_rack = hosts_.only_rack();
  facts.lost_racks = hosts_.lost_racks();
  return facts;
}

StormSign Storm::sign(Instant now) const {
  return hosts_.fleet() >= kStormHostsMin ? look_up(facts(now)) : StormSign();
}

/// Extends the modes of the sign until now and of the present sign.
void Storm::keep_modes(Instant now) {
  StormSign sign = this->sign(now);
  for (const StormSign& each : {last_sign_, sign}) {
    // The last hosts of a healed cut may all be of one rack: that is no news.
    const bool is_news = each.mode != StormMode::kDomain || mode() <= StormMode::kDomain;
    if (each.mode != StormMode::kNormal && is_news) {
      modes_[static_cast<std::size_t>(each.mode)] = {now + kStormQuiet, each.reason};
    }
  }
  last_sign_ = std::move(sign);
}

bool Storm::update(Instant now) {
  hosts_.age(now);
  const bool is_wide = is_wide_band(hosts_.in_band(), hosts_.fleet());
  band_since_ = !is_wide ? kNever : std::min(band_since_, now);
  keep_modes(now);
  StormStatus next{StormMode::kNormal, now, "", 0, 0};
  next_deadline_ = hosts_.next_deadline();
  for (std::size_t i = 1; i < modes_.size(); ++i) {
    // A lesser mode that a heal passed through does not show again at its end.
    const bool is_rest = i < static_cast<std::size_t>(mode()) &&
                         last_sign_.mode == StormMode::kNormal &&
                         modes_[i].until - now < kStormRest;
    if (is_rest) {
      modes_[i].until = kLongAgo;
    }
    if (modes_[i].until > now ||
        (mutant(MembershipMutant::kModeNeverLeft) && modes_[i].until != kLongAgo)) {
      next.mode = static_cast<StormMode>(i);
      next.reason = modes_[i].reason;
      next_deadline_ = std::min(next_deadline_, modes_[i].until);
    }
  }
  if (own_.is_isolated) {
    next.mode = StormMode::kPartitionSuspected;
    next.reason = text(own_.own_missing, own_.own_total, "hosts that this one watches are missing");
  }
  if (band_since_ != kNever && now - band_since_ < kBandPatience) {
    next_deadline_ = std::min(next_deadline_, band_since_ + kBandPatience);
  }
  const bool is_change = next.mode != status_.mode;
  next.since = is_change ? now : status_.since;
  status_ = next;
  is_quiet_ = next.mode == StormMode::kNormal && !hosts_.is_any_silent();
  return is_change;
}

StormStatus Storm::status() const {
  StormStatus status = status_;
  status.silent = hosts_.silent();
  status.fleet = hosts_.fleet();
  return status;
}

void Storm::check_invariants() const {
  hosts_.check_invariants();
  CHECK((status_.mode == StormMode::kNormal) == status_.reason.empty());
}

}  // namespace muster::membership
