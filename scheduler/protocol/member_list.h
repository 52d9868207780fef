#pragma once
// The members of an attempt as one immutable list that its messages share. The leader tells each
// host of a gang about all members: a copy for each host would take the square of the gang.

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "scheduler/protocol/member.h"

namespace muster::scheduler {

class MemberList {
 public:
  MemberList() = default;
  MemberList(std::vector<Member> members)  // NOLINT: it is one, only shared.
      : members_(std::make_shared<const std::vector<Member>>(std::move(members))) {}
  MemberList(std::initializer_list<Member> members) : MemberList(std::vector<Member>(members)) {}

  const std::vector<Member>& list() const {
    static const std::vector<Member> kNone;
    return members_ == nullptr ? kNone : *members_;
  }
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  std::size_t size() const { return list().size(); }
  bool operator==(const MemberList& other) const { return list() == other.list(); }

 private:
  std::shared_ptr<const std::vector<Member>> members_;
};

}  // namespace muster::scheduler
