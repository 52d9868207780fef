#pragma once
// One function for each alternative of a variant, for std::visit: a new alternative must be given
// one, or the caller does not compile.

namespace muster {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace muster
