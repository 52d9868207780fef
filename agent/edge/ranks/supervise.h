#pragma once
// `muster supervise`: the process that owns the ranks of one grant. It outlives the
// agent and is adopted again over a unix socket. It is PID 1 of the ranks' PID namespace: when it
// dies the kernel ends them, and when it has no child left the namespace is empty. It mounts that
// namespace's own /proc for itself and its ranks.
//
// Its directory, DATA/grants/<epoch>.<index>/:
//   lock        flock()ed by the supervisor for its life: one supervisor a token
//   pid         "PID STARTTIME" in the agent's namespace: how a dying one is recognised
//   sock        the unix socket
//   spec        what was launched; durable before the first rank is exec'd: no spec, no rank
//   signalled   exists, durably, before the first TERM was sent by us; without it ranks are
//               killed and told as lost
//   evidence    the results of every rank; complete or absent
//   rank-N.log  stdout and stderr of rank N as it wrote them, up to kRankOutputBytesMax
//   rank-N.marks  which bytes of it came from which stream, and when; absent when it wrote nothing
//   supervisor.log  complaints of the supervisor itself
//
// The supervisor does not touch zmq, lmdb or spdlog: a gang starts as fast as its slowest one.

namespace muster::agent {

/// The main of `muster supervise DIRECTORY SOCKET_FD HOLD_NS LISTEN_ADDRESS KIND USER`: argv[0] is
/// the executable, argv[1] "supervise". LISTEN_ADDRESS is the address MASTER_PORT is held on, "-"
/// when rank 0 is elsewhere. KIND and USER are those of a RankUser. It resolves USER before its
/// first word to the agent, which tells whether ranks may become that user. Started by
/// rank_supervisor only. Returns an exit status when it could not start; otherwise it leaves by
/// _exit.
int supervise_main(int argc, char** argv);

/// Whether a supervisor started now would get a PID namespace. Where it is denied, ranks die with
/// their supervisor, but what they forked away may live on: such a host takes only jobs that
/// silence never ends. `become_users`: ranks become other users, which a namespace that maps one
/// user does not allow.
bool can_make_pid_namespace(bool become_users);

}  // namespace muster::agent
