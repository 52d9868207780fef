#pragma once
// The fields of the structs in users.h, queues.h and certify.h, of WaitInfo, and of the part of
// WhyInfo about queues, in the order of the wire. Part of payload.cc, which has those of all
// others: each struct has one list of fields for both directions, and `a` is a Writer or a Loader.

#include "agent/api/certify.h"
#include "agent/api/jobs.h"
#include "agent/api/queues.h"
#include "agent/api/users.h"

namespace muster::agent {

/// An element that older versions do not send. If it is absent, it keeps its default.
template <class T>
struct Trailing {
  T& value;
};
template <class T>
Trailing<T> trailing(T& value) {
  return {value};
}

template <class A>
void fields(A& a, CertifyArgs& v) {
  a(v.public_key, v.dns, v.addresses);
}
template <class A>
void fields(A& a, CertifiedInfo& v) {
  a(v.certificates, v.root, v.authority);
}
template <class A>
void fields(A& a, HttpRootInfo& v) {
  a(v.root, v.fingerprint);
}
template <class A>
void fields(A& a, TokenInfo& v) {
  a(v.id, v.user, v.label, v.may_read, v.may_submit, v.team, v.ends_in_ms);
}
template <class A>
void fields(A& a, TokenArgs& v) {
  a(v.id, v.hash, v.label, v.may_read, v.may_submit, v.team, v.ttl_ms);
}
template <class A>
void fields(A& a, TokenRef& v) {
  a(v.id);
}
template <class A>
void fields(A& a, TokensQuery& v) {
  a(v.is_all, v.after);
}
template <class A>
void fields(A& a, TokenList& v) {
  a(v.tokens, v.has_more);
}
template <class A>
void fields(A& a, TokenCopy& v) {
  a(v.id, v.hash, v.user, v.label, v.may_read, v.may_submit, v.team, v.ends_at_ms);
}
template <class A>
void fields(A& a, UserKeyInfo& v) {
  a(v.line, v.fingerprint, v.next);
}
template <class A>
void fields(A& a, SignatureWanted& v) {
  a(v.keys);
}
template <class A>
void fields(A& a, WhoamiInfo& v) {
  a(v.user, v.host_name, v.is_vouched, v.is_known, v.has_record, v.role, v.teams, v.version,
    trailing(v.token), trailing(v.cluster), trailing(v.keys));
}
template <class A>
void fields(A& a, UsersQuery& v) {
  a(v.after, trailing(v.wants_tokens), trailing(v.after_token));
}
template <class A>
void fields(A& a, UserInfo& v) {
  a(v.name, v.role, v.teams, trailing(v.keys));
}
template <class A>
void fields(A& a, TeamInfo& v) {
  a(v.name, v.priority_max, v.users);
}
template <class A>
void fields(A& a, UserList& v) {
  a(v.version, v.are_logins_users, v.hides_other_teams, v.teams, v.users, v.next,
    trailing(v.tokens), trailing(v.has_more_tokens), trailing(v.cluster_ms), trailing(v.cluster),
    trailing(v.reset_epoch), trailing(v.reset_at), trailing(v.reset_admin), trailing(v.reset_by));
}
template <class A>
void fields(A& a, DirectoryArgs& v) {
  a(v.change);
}
template <class A>
void fields(A& a, ResetAdminArgs& v) {
  a(v.admin, v.key);
}
template <class A>
void fields(A& a, PoolUse& v) {
  a(v.pool, v.held, v.is_owed, trailing(v.owed_wait_ms), trailing(v.owed_job));
}
template <class A>
void fields(A& a, TierWaits& v) {
  a(v.tier, v.count, v.over_10_min, v.over_30_min, v.longest_ms, v.longest);
}
template <class A>
void fields(A& a, QueueUse& v) {
  a(v.path, v.is_leaf, v.pools, v.pending, v.running, v.longest_wait_ms, trailing(v.waits));
}
template <class A>
void fields(A& a, QueueList& v) {
  a(v.version, v.tree, v.uses, v.fleet);
}
template <class A>
void fields(A& a, SetQueuesArgs& v) {
  a(v.expected, v.tree, v.moves);
}
template <class A>
void fields(A& a, SharesQuery& v) {
  a(v.path);
}
template <class A>
void fields(A& a, ShareInfo& v) {
  a(v.path, v.user, v.pool, v.pool_name, v.held, v.pool_held, v.pool_size, v.part, v.weight,
    v.weights, v.mean_permille, v.credit_permille, v.pending, v.is_owed, v.is_next, v.at_max,
    v.borrowed);
}
template <class A>
void fields(A& a, ShareList& v) {
  a(v.half_life_ms, v.shares);
}
template <class A>
void fields(A& a, RetryAfter& v) {
  a(v.ms);
}
template <class A>
void fields(A& a, WhySide& v) {
  a(v.queue, v.is_user, v.held, v.weight, v.credit_permille);
}
template <class A>
void fields(A& a, WhyTurn& v) {
  a(v.pool, v.first, v.rule, v.text, v.next_with, v.own, v.other, trailing(v.starts_in_ms),
    trailing(v.planned_hosts));
}
template <class A>
void fields(A& a, WaitItem& v) {
  a(v.item, v.state);
}
template <class A>
void fields(A& a, WaitInfo& v) {
  a(v.after, v.begin_unix_ms, v.deadline_unix_ms, v.is_before_begin);
}

}  // namespace muster::agent
