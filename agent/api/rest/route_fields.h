#pragma once
// The parameters and the members of the body that each route takes, with the words of people about
// them. The document of OpenAPI is made of them. A test drives the rule of each route and compares
// the names, kinds, choices and ends that it asks for with these lists.

#include <cstdint>
#include <span>
#include <string_view>

#include "agent/api/rest/field_log.h"
#include "agent/api/rest/route.h"

namespace muster::agent {

struct RouteField {
  std::string_view name;
  FieldKind kind{};
  std::string_view meaning{};  ///< For people. "": as that of the field of --json.
  std::uint64_t min = 0;       ///< Of a number.
  std::uint64_t max = UINT64_MAX;
  std::string_view choices{};           ///< "user|type|name"
  std::span<const RouteField> parts{};  ///< Of kObject, or of each of kObjects.
  bool is_needed = false;
};

struct RouteFields {
  RouteId id{};
  std::span<const RouteField> query{};
  std::span<const RouteField> body{};
  std::string_view body_name{};  ///< Of the schema of the body: "Submit"; "" without a body.
};

/// `consistent`, which each route with GET takes beside its own.
const RouteField& consistent_field();
/// The lists of a route; both are empty if it takes nothing.
const RouteFields& fields_of(RouteId id);
/// Null is as good as absent; the version of queues that nobody has set is null, and needed.
bool may_be_null(const RouteField& field);

}  // namespace muster::agent
