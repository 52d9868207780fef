#pragma once
// Values whose fields all differ from what they are at first, made without naming them: a field
// that is added later is filled as well. Of aggregates, to any depth.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "gossip/base/ids.h"
#include "scheduler/protocol/job.h"
#include "scheduler/protocol/queues.h"

namespace muster::agent::testing {

/// Counts on, so that no two fields of a number or a text are equal.
template <class T>
T filled(std::uint64_t& count);

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Becomes whatever it is to initialise.
struct Filling {
  std::uint64_t& count;
  /// An optional is made of a filled value.
  template <class T>
  requires(!IsOptional<T>::value) operator T()
      const {  // NOLINT: implicit, so that braces around it take it for any field.
    return filled<T>(count);
  }
};

template <class T, std::size_t... I>
constexpr bool has_fields(std::index_sequence<I...>) {
  return requires {
    T{(static_cast<void>(I), std::declval<Filling>())...};
  };
}
template <class T, std::size_t kFields = 0>
constexpr std::size_t field_count() {
  if constexpr (has_fields<T>(std::make_index_sequence<kFields + 1>())) {
    return field_count<T, kFields + 1>();
  } else {
    return kFields;
  }
}
template <class T, std::size_t... I>
T filled_fields(std::uint64_t& count, std::index_sequence<I...>) {
  return T{(static_cast<void>(I), Filling{count})...};
}

template <class T>
struct IsVector : std::false_type {};
template <class T>
struct IsVector<std::vector<T>> : std::true_type {};

template <class T>
T filled(std::uint64_t& count) {
  ++count;
  if constexpr (std::is_same_v<T, bool>) {
    return true;
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(1);
  } else if constexpr (std::signed_integral<T>) {
    return -static_cast<T>(count);
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(count);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return "text " + std::to_string(count);
  } else if constexpr (IsVector<T>::value) {
    T values;
    for (int i = 0; i < 2; ++i) {
      values.push_back(filled<typename T::value_type>(count));
    }
    return values;
  } else if constexpr (std::is_same_v<T, scheduler::JobSpec>) {
    T spec;  // Its own codec has limits, and tests.
    spec.name = filled<std::string>(count);
    spec.request.gpus = 2;
    spec.command.argv = {filled<std::string>(count)};
    return spec;
  } else if constexpr (std::is_same_v<T, scheduler::QueueTree>) {
    T tree;  // Likewise.
    tree.half_life = std::chrono::hours(48);
    tree.nodes.resize(1);
    tree.nodes[0].path = "queue" + std::to_string(count);
    tree.nodes[0].max = {{"h100", filled<std::uint64_t>(count)}};
    return tree;
  } else if constexpr (std::is_same_v<T, scheduler::QueueMove>) {
    const std::string number = std::to_string(count);
    return T{"old" + number, "new" + number};
  } else if constexpr (std::is_same_v<T, scheduler::QueueAmounts>) {
    const std::uint64_t amount = filled<std::uint64_t>(count);
    return T{{"a100", amount}, {"h100", amount + 1}};
  } else if constexpr (std::is_aggregate_v<T>) {
    return filled_fields<T>(count, std::make_index_sequence<field_count<T>()>());
  } else if constexpr (std::is_constructible_v<T, std::uint64_t>) {
    return T(count);
  } else {
    std::string bytes(T::kSizeBytes, 'i');
    bytes[0] = static_cast<char>(count);
    bytes[1] = static_cast<char>(count >> 8);
    return T::from_bytes(bytes);
  }
}
template <class T>
T filled() {
  std::uint64_t count = 0;
  return filled<T>(count);
}

}  // namespace muster::agent::testing
