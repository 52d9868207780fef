#pragma once
// Result is a value or an expected failure. Its members have the names of C++23's std::expected,
// which g++ 12 lacks. A broken invariant is a CHECK instead; hostile input is dropped and counted.

#include <string>
#include <utility>
#include <variant>

#include "gossip/base/check.h"

namespace muster {

/// The kind of a failure, as far as an edge or a CLI verb needs it to choose an exit code. A domain
/// whose callers branch on more defines its own code beside this one.
enum class ErrorCode {
  kInvalid,      ///< The input is wrong; nothing was changed.
  kNotFound,     ///< There is no such thing; nothing was changed.
  kConflict,     ///< Another holds it (port, directory, name); nothing was changed.
  kCorrupt,      ///< Bytes on disk do not match their checksum; nothing was changed.
  kIo,           ///< The system refused; the state of the touched file or socket is unknown.
  kUnavailable,  ///< There is no quorum or no peer; surely not done.
  kUnknown,      ///< It may or may not have been done.
  kImpossible,   ///< Can never succeed as asked; nothing was changed.
  kDenied,       ///< Only others may do it, as the text says; nothing was changed.
};

struct Error {
  ErrorCode code = ErrorCode::kInvalid;
  std::string text;  ///< One line for a person: what happened, why, and what to do next.
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT: implicit by design
  Result(Error error) : state_(std::move(error)) {}  // NOLINT: implicit by design
  bool has_value() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return has_value(); }
  T& value() & {
    CHECK(has_value());
    return std::get<T>(state_);
  }
  const T& value() const& {
    CHECK(has_value());
    return std::get<T>(state_);
  }
  T&& value() && {
    CHECK(has_value());
    return std::get<T>(std::move(state_));
  }
  const Error& error() const {
    CHECK(!has_value());
    return std::get<Error>(state_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> state_;
};

struct Unit {};
using Status = Result<Unit>;
inline Status ok() {
  return Unit{};
}

}  // namespace muster
