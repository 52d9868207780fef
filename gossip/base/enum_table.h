#pragma once
// Tables with exactly one row for each enumerator, or for each enumerator of a kind. The compiler
// checks them: an enumerator without a row does not compile. For enumerations of 8 bits.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace muster {

/// How many values an enumeration of 8 bits has, named or not.
inline constexpr std::size_t kByteValues = 256;

/// Whether an enumerator has this value. The compiler prints the name of such an enumerator, and a
/// cast of the number if there is no enumerator.
template <auto kValue>
consteval bool is_enumerator() {
  constexpr std::string_view kPrinted = __PRETTY_FUNCTION__;
  constexpr std::string_view kKey = "kValue = ";
  constexpr char kFirst = kPrinted[kPrinted.find(kKey) + kKey.size()];
  return kFirst != '(';
}

template <class Table, class Row, class Enum>
constexpr std::size_t rows_of(const Table& table, Enum Row::*key, Enum value) {
  std::size_t rows = 0;
  for (const Row& row : table) {
    rows += row.*key == value ? 1 : 0;
  }
  return rows;
}

/// Whether the table has one row for each enumerator.
template <class Row, class Enum, class Table>
consteval bool has_row_for_each(const Table& table, Enum Row::*key) {
  return [&]<std::size_t... kNumbers>(std::index_sequence<kNumbers...>) {
    return ((rows_of(table, key, static_cast<Enum>(kNumbers)) ==
             (is_enumerator<static_cast<Enum>(kNumbers)>() ? 1U : 0U)) &&
            ...);
  }
  (std::make_index_sequence<kByteValues>());
}

/// Whether the table has one row for each value that `is_wanted` accepts, and no other row.
template <class Row, class Enum, class Table, class IsWanted>
consteval bool has_row_for_those(const Table& table, Enum Row::*key, IsWanted is_wanted) {
  for (std::size_t number = 0; number < kByteValues; ++number) {
    const auto value = static_cast<Enum>(number);
    if (rows_of(table, key, value) != (is_wanted(value) ? 1U : 0U)) {
      return false;
    }
  }
  return true;
}

/// The row of that value; null if there is no such row.
template <class Row, class Enum, class Table>
constexpr const Row* find_row(const Table& table, Enum Row::*key, Enum value) {
  for (const Row& row : table) {
    if (row.*key == value) {
      return &row;
    }
  }
  return nullptr;
}

/// Whether the row of that value has this in that column.
template <class Row, class Enum, class Table, class Column>
constexpr bool has_row_with(const Table& table, Enum Row::*key, Enum value, Column Row::*column,
                            Column wanted) {
  for (const Row& row : table) {
    if (row.*key == value && row.*column == wanted) {
      return true;
    }
  }
  return false;
}

}  // namespace muster
