#pragma once
// The oracle of access: who may ask for what, written down from the table that users read in
// GUIDE.md, cell by cell. It shares no code with the gate that it judges
// (scheduler/access, agent/front/access).

#include <cstdint>
#include <string>
#include <vector>

#include "agent/api/request.h"
#include "agent/api/verbs.h"

namespace muster::sim {

/// The users of the trial, by their role; an officer is an operator. A stranger has no record, and
/// the rule says that logins without one have no role.
enum class Person : std::uint8_t { kStranger, kViewer, kUser, kLead, kOfficer, kAdmin };
inline constexpr Person kPersons[] = {Person::kStranger, Person::kViewer,  Person::kUser,
                                      Person::kLead,     Person::kOfficer, Person::kAdmin};
std::string name_of(Person person);

/// The relation of the person to the job or team that the request is about.
enum class Relation : std::uint8_t {
  kOwn,    ///< The person's own job; of a submission: the person's own team.
  kTeam,   ///< A job of another user of the same team.
  kOther,  ///< A job of another team.
};
inline constexpr Relation kRelations[] = {Relation::kOwn, Relation::kTeam, Relation::kOther};
std::string text_of(Relation relation);

/// The way of the request.
enum class Way : std::uint8_t {
  kVouching,      ///< The socket of a host that may vouch for its logins.
  kAnother,       ///< The socket of a host that may not.
  kThrough,       ///< The first one, with --node of a host that may vouch.
  kThroughOther,  ///< The first one, with --node of a host that may not.
  kFromAnother,   ///< The second one, with --node of a host that may vouch.
  kToken,         ///< An access token of the person, which may read and submit, at the second one.
  kReadToken,     ///< One that may only read, at the first one, whose login is another person.
  kTeamToken,     ///< One that may submit for the person's team alone, at the first one.
  kNobody,        ///< A connection that proves no identity.
  // With a signature, where persons have keys:
  kSigned,          ///< As kVouching, with the signature of the person.
  kSignedThrough,   ///< As kThrough, likewise.
  kSignedAtOther,   ///< As kAnother, likewise.
  kSignedToken,     ///< As kToken, likewise.
  kSignedByOther,   ///< As kVouching; another person signed, an administrator.
  kSignedForOther,  ///< As kVouching; the person signed in the name of another one.
  kSignedBefore,    ///< As kVouching; under a number of the key that is over.
};
inline constexpr Way kWays[] = {Way::kVouching,     Way::kAnother,     Way::kThrough,
                                Way::kThroughOther, Way::kFromAnother, Way::kToken,
                                Way::kReadToken,    Way::kTeamToken,   Way::kNobody};
inline constexpr Way kSignedWays[] = {Way::kSigned,      Way::kSignedThrough, Way::kSignedAtOther,
                                      Way::kSignedToken, Way::kSignedByOther, Way::kSignedForOther,
                                      Way::kSignedBefore};
std::string text_of(Way way);

/// A variant of a request that has its own row in the table.
enum class Variant : std::uint8_t {
  kPlain,
  kHighPriority,  ///< Above the ceiling of the team.
  kWithRights,    ///< A ticket that lets its host vote; a recovery that is an order.
  kGivesRole,     ///< A change of users that gives a role.
  kOtherTeam,     ///< A change of users that adds one to a team of others.
  kRules,         ///< A change of the rules of access.
};

/// The variants of a verb that the table tells apart.
std::vector<Variant> variants_of(agent::Verb verb);

struct AccessCell {
  agent::Verb verb{};
  Variant variant = Variant::kPlain;
  Person person{};
  Relation relation{};
  Way way{};
  bool hides_other_teams = false;  ///< The rule jobs=team.
  bool has_keys = false;           ///< All persons have keys: administrators have to sign.
};
std::string text_of(const AccessCell& cell);

enum class Expected : std::uint8_t {
  kAllowed,    ///< Any answer but a denial.
  kDenied,     ///< A denial.
  kNoAnswer,   ///< Silence: the gate does not talk to nobody.
  kSignAgain,  ///< The person is asked for another signature.
};
Expected expected(const AccessCell& cell);

}  // namespace muster::sim
