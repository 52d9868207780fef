#pragma once
// Overloaded is a visitor with one function for each alternative of a variant, for std::visit. A
// caller that lacks the function of a new alternative does not compile.

namespace muster {

template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace muster
